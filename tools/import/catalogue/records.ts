/** The schemas, keys and ids of the records in a listings file. */

import { parse, v5 } from 'uuid';
import * as z from 'zod';
import { location, MAX_LIST_ENTRIES } from '../../../src/properties/openapi/property.ts';
import { slug } from '../../../src/properties/slug.ts';
import type { Source } from '../../../src/properties/source.ts';
import { uuid } from '../../../src/schema/uuid.ts';
import { isMap, listingFields, url } from './listing-schemas.ts';

/**
 * Namespace of derived ids, published in docs/guides/listings-file.md. Changing it would change the
 * ids.
 */
const ID_NAMESPACE = parse('dab30d73-9ba7-4be9-995d-d83048c8cdd4');

export const listingRecord = z
  .strictObject({
    ...listingFields,
    location_id: uuid.nullable().default(null),
    location: slug.nullable().exactOptional(),
    hero_photo: url.nullable().exactOptional(),
    amenities: z.array(slug).max(MAX_LIST_ENTRIES).default([]),
  })
  .refine(({ hero_photo, photos }) => !hero_photo || photos.some(({ url }) => url === hero_photo), {
    path: ['hero_photo'],
    error: 'must be the address of one of the photos of this listing',
  });

export type FileListing = z.infer<typeof listingRecord>;

/** The schema of a location in a listings file. Its id may be in upper case. */
export const locationRecord = location.extend({
  id: uuid,
  slug: location.shape.slug.default(null),
});

export function toFileListing({ location, amenities, ...fields }: Source): FileListing {
  return {
    ...fields,
    location_id: location?.id ?? null,
    amenities: amenities.map(({ slug }) => slug),
  };
}

/**
 * Returns the slug of an added listing that an undo hides, because a restored listing may need its
 * slug.
 */
export function makeUndoneSlug(id: string): string {
  return `undone-${id}`;
}

export type StoredKeys = { id: string; hid?: string | null; slug: string | null };

/** The keys by which a file refers to a record. A malformed key is undefined. */
type NamingKeys = { [Key in 'id' | 'hid' | 'slug']?: string | undefined };

/**
 * Returns a function that finds a stored record by its id. Without an id, it uses the hid, then the
 * slug.
 */
export function makeFinder<T extends { [Key in keyof StoredKeys]?: unknown }>(
  stored: readonly T[],
) {
  const byId = new Map(stored.map((record) => [record.id, record]));
  const bySlug = new Map(stored.map((record) => [record.slug, record]));
  const byHid = new Map(stored.map((record) => [record.hid ?? undefined, record]));
  byHid.delete(undefined);
  return ({ id, hid, slug = '' }: NamingKeys): T | undefined =>
    id === undefined ? (byHid.get(hid) ?? bySlug.get(slug)) : byId.get(id);
}

/** The fields of a record by name, before a schema has parsed them. */
export type Fields = Record<string, unknown>;

/** The changed fields of a record. Null clears a field: `{ slug: 'casa-marea', price_from: null }`. */
export type Patch = Fields;

/** Returns the keys of a record and of the records that it refers to. A malformed key is undefined. */
export function readKeys(record: unknown) {
  const fields = isMap(record) ? record : {};
  const parseId = (value: unknown) => uuid.safeParse(value).data;
  const parseSlug = (value: unknown) => slug.safeParse(value).data;
  const idsIn = (list: unknown) =>
    toList(list).map((entry) => (isMap(entry) ? parseId(entry.id) : undefined));
  return {
    id: parseId(fields.id),
    hid: typeof fields.hid === 'string' && fields.hid !== '' ? fields.hid : undefined,
    slug: parseSlug(fields.slug),
    location_id: parseId(fields.location_id),
    location: parseSlug(fields.location),
    hero_photo_id: parseId(fields.hero_photo_id),
    photos: idsIn(fields.photos),
    videos: idsIn(fields.videos),
    amenities: toList(fields.amenities).map(parseSlug),
  };
}

export type RecordKeys = ReturnType<typeof readKeys>;

export function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Adds missing ids to a record and to its photos and videos. */
export function deriveIds(record: Fields, { shape }: z.ZodObject): Fields {
  const whole = { ...('id' in shape ? deriveId(record) : record) };
  for (const name of ['photos', 'videos']) {
    const list = whole[name];
    if (!Array.isArray(list)) continue;
    whole[name] = list.map((entry) => (isMap(entry) ? deriveId(entry) : entry));
  }
  return whole;
}

/** Adds a missing id, which is a UUID derived from the hid, the slug or the URL. */
export function deriveId(record: Fields): Fields {
  if (record.id !== undefined) return record;
  const keys = [record.hid, record.slug, url.safeParse(record.url).data];
  const key = keys.find((value) => typeof value === 'string' && value !== '');
  return typeof key === 'string' ? { id: v5(key, ID_NAMESPACE), ...record } : record;
}
