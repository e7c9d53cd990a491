/** The records of a listings file: their schemas, their ids, and the merge of a patch into a stored record. Pure. */

import { parse, v5 } from 'uuid';
import * as z from 'zod';
import { amenity, location } from '../../src/properties/resource.ts';
import { slug } from '../../src/properties/slug.ts';
import type { Source } from '../../src/properties/source.ts';
import { localized, MAX_LIST_ENTRIES } from '../../src/properties/text.ts';
import { uuid } from '../../src/schema.ts';
import { isMap, ownFields, photo, url, video } from './listing-schemas.ts';

/** Published in docs/guides/listings-file.md: another namespace would give every record another id. */
const ID_NAMESPACE = parse('dab30d73-9ba7-4be9-995d-d83048c8cdd4');

/** A listing in the form of a file: it names its location by id or slug, and its amenities by slug. */
export const writtenListing = z.strictObject({
  ...ownFields,
  location_id: uuid.nullable().default(null),
  location: slug.nullable().exactOptional(),
  hero_photo: url.nullable().exactOptional(),
  amenities: z.array(slug).max(MAX_LIST_ENTRIES).default([]),
});

export type FileListing = z.infer<typeof writtenListing>;

/** A location of a file. Its id may be in upper case. */
export const writtenLocation = location.extend({
  id: uuid,
  slug: location.shape.slug.default(null),
});

/** Returns a stored listing in the form of a file. */
export function fileListingOf({ location, amenities, ...own }: Source): FileListing {
  return {
    ...own,
    location_id: location?.id ?? null,
    amenities: amenities.map((each) => each.slug),
  };
}

/** A record as a patch gives it: the fields that it changes, and null for an emptied field or language. */
export type Patch = Record<string, unknown>;

function patchOf(record: z.ZodObject) {
  const fields = Object.entries(record.shape).map(([name, schema]) => [
    name,
    z.exactOptional(emptiable(schema)),
  ]);
  return z.strictObject(Object.fromEntries(fields));
}

/** Accepts null for a field with a default, and for a language, which it removes. Other fields do not accept null. */
function emptiable(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  if (inner instanceof z.ZodObject) {
    return z.nullable(localized(z.nullable(inner.shape.en.unwrap())));
  }
  if (!(schema instanceof z.ZodDefault)) return schema;
  const empty = schema.def.defaultValue;
  return z.pipe(
    z.nullable(inner),
    z.transform((value) => value ?? empty),
  );
}

export const locationPatch: z.ZodType<Patch> = patchOf(writtenLocation);
export const amenityPatch: z.ZodType<Patch> = patchOf(amenity);
/** Photos and videos may leave fields out too: see `mergedEntries`. */
export const listingPatch: z.ZodType<Patch> = patchOf(
  writtenListing.extend({
    photos: z.array(patchOf(photo)).max(MAX_LIST_ENTRIES).default([]),
    videos: z.array(patchOf(video)).max(MAX_LIST_ENTRIES).default([]),
  }),
);

/** Merges a patch into a record of a file, `{}` for a new one. Languages are merged one by one. The result is unparsed. */
export function merged(record: Patch, patch: Patch): Patch {
  const isNew = Object.keys(record).length === 0;
  const changes = Object.entries(patch).flatMap(([name, value]) => {
    const old = record[name];
    if (!isMap(old ?? value)) return isNew && value === null ? [] : [[name, value]];
    const languages = Object.entries({ ...(isMap(old) && old), ...(isMap(value) && value) });
    const left = value === null ? [] : languages.filter(([, text]) => text !== null);
    return [[name, Object.fromEntries(left)]];
  });
  return { ...record, ...Object.fromEntries(changes) };
}

/** Merges a patch into a listing of a file, `{}` for a new one. The result is unparsed. */
export function mergedListing(listing: Patch, patch: Patch): Patch {
  const record = merged(listing, patch);
  if ('photos' in patch) {
    const photos = mergedEntries(listing.photos, patch.photos, NEW_PHOTO);
    record.photos = numbered(photos, 'web_sort_order');
  }
  if ('videos' in patch) {
    record.videos = numbered(mergedEntries(listing.videos, patch.videos, {}), 'sort_order');
  }
  const photos = mapsIn(record.photos).map(({ id }) => id);
  if (!('hero_photo_id' in patch) && !photos.includes(record.hero_photo_id)) {
    record.hero_photo_id = null;
  }
  return record;
}

/** The fields of a new photo that a patch gives by its address alone. */
const NEW_PHOTO = { alt: {}, section: 'gallery', web_visible: true };

/** An entry of a list in a patch, and the whole entry that it makes. */
type MergedEntry = { entry: Patch; whole: Patch };

/** Merges each entry of a list into the stored entry that has its id, or else its address. */
function mergedEntries(stored: unknown, patched: unknown, defaults: object): MergedEntry[] {
  const known = mapsIn(stored);
  return mapsIn(patched).map((entry) => {
    const { id, url } = entry;
    const old =
      known.find((each) => id !== undefined && each.id === id) ??
      known.find((each) => each.url === url);
    return { entry, whole: { ...defaults, ...withId(merged(old ?? {}, entry), 'url') } };
  });
}

/**
 * Numbers the entries in ascending order, except where the patch itself has numbers. Stored numbers change only where
 * they must, e.g. 10, none, 20 → 10, 11, 20.
 */
function numbered(entries: readonly MergedEntry[], field: string): Patch[] {
  const open = entries.filter(({ entry }) => entry[field] === undefined);
  const numbers = open.map(({ whole }) => whole[field]);
  const kept = longestAscending(numbers);
  const [first] = kept;
  let next = first === undefined ? 1 : Number(numbers[first]) - first;
  for (const [index, { whole }] of open.entries()) {
    if (kept.includes(index)) next = Number(numbers[index]);
    whole[field] = next;
    next += 1;
  }
  return entries.map(({ whole }) => whole);
}

const [MIN_ORDER, MAX_ORDER] = [-(2 ** 31), 2 ** 31 - 1];

/** Returns the places of the most numbers that can stay in an ascending list of whole numbers. */
function longestAscending(numbers: readonly unknown[]): number[] {
  const chains: number[][] = [];
  for (const [index, number] of numbers.entries()) {
    if (typeof number !== 'number') continue;
    // The entries before it and after it need numbers too.
    const lowest = MIN_ORDER + index;
    const highest = MAX_ORDER - (numbers.length - 1 - index);
    if (number < lowest || number > highest) continue;
    const fitting = chains.filter((chain) => {
      const last = chain.at(-1) ?? 0;
      return number - Number(numbers[last]) >= index - last;
    });
    chains.push([...longestOf(fitting), index]);
  }
  return longestOf(chains);
}

function longestOf(chains: readonly number[][]): number[] {
  return chains.reduce((longest, each) => (each.length > longest.length ? each : longest), []);
}

function mapsIn(list: unknown): Patch[] {
  return Array.isArray(list) ? list.filter(isMap) : [];
}

export function withMediaIds(listing: Patch): Patch {
  const withIds = (list: unknown) =>
    Array.isArray(list) ? list.map((each) => (isMap(each) ? withId(each, 'url') : each)) : list;
  return { ...listing, photos: withIds(listing.photos), videos: withIds(listing.videos) };
}

/** Returns a record with an id: its own, or the UUID that follows from the first of the keys that it has. */
export function withId(record: Patch, ...keys: ('hid' | 'slug' | 'url')[]): Patch {
  if (record.id !== undefined) return record;
  for (const name of keys) {
    const key = name === 'url' ? url.safeParse(record.url).data : record[name];
    if (typeof key === 'string' && key !== '') return { id: v5(key, ID_NAMESPACE), ...record };
  }
  return record;
}
