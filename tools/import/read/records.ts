/** The records of a listings file: their schemas, their ids, and the merge of a patch. Pure. */

import { parse, v5 } from 'uuid';
import * as z from 'zod';
import { LOCALES } from '../../../src/properties/locale-map.ts';
import { location } from '../../../src/properties/resource.ts';
import { slug } from '../../../src/properties/slug.ts';
import type { Source } from '../../../src/properties/source.ts';
import { MAX_LIST_ENTRIES } from '../../../src/properties/text.ts';
import { uuid } from '../../../src/schema.ts';
import { isMap, ownFields, photo, url, video } from './listing-schemas.ts';

/** Published in docs/guides/listings-file.md: another one would change every id. */
const ID_NAMESPACE = parse('dab30d73-9ba7-4be9-995d-d83048c8cdd4');

/** A listing as a file has it: its location by id or slug, its amenities by slug. */
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

export function fileListingOf({ location, amenities, ...own }: Source): FileListing {
  return {
    ...own,
    location_id: location?.id ?? null,
    amenities: amenities.map((each) => each.slug),
  };
}

/** The changed fields, e.g. `{ slug: 'casa-marea', price_from: null }`: null empties. */
export type Patch = Record<string, unknown>;

/** Merges a patch into a record, `{}` for a new one, by language. The result is unparsed. */
export function merged(record: Patch, patch: Patch, { shape }: z.ZodObject): Patch {
  const changes = Object.entries(patch).map(([name, value]) => {
    const old = isMap(record[name]) ? record[name] : {};
    // The schema gives an undefined field its default.
    if (value === null && shape[name] instanceof z.ZodDefault) return [name, undefined];
    if (value === null && isMap(record[name])) return [name, {}];
    if (!isMap(value)) return [name, value];
    const languages = Object.entries({ ...old, ...value });
    return [name, Object.fromEntries(languages.filter(isKept))];
  });
  return { ...record, ...Object.fromEntries(changes) };
}

/** Null removes a language. The schema rejects the null of another name. */
function isKept([name, text]: [string, unknown]): boolean {
  return text !== null || !LOCALES.some((locale) => locale === name);
}

/** As `merged`, for a listing. */
export function mergedListing(listing: Patch, patch: Patch): Patch {
  const record = merged(listing, patch, writtenListing);
  for (const { list, schema, order, defaults } of LISTS) {
    const patched = patch[list];
    if (!Array.isArray(patched) || !patched.every(isMap)) continue;
    record[list] = numbered(mergedEntries(mapsIn(listing[list]), patched, schema, defaults), order);
  }
  const photos = mapsIn(record.photos).map(({ id }) => id);
  if (!('hero_photo_id' in patch) && !photos.includes(record.hero_photo_id)) {
    record.hero_photo_id = null;
  }
  return record;
}

/** The lists whose entries a patch merges, and the defaults of a new photo. */
const LISTS = [
  {
    list: 'photos',
    schema: photo,
    order: 'web_sort_order',
    defaults: { alt: {}, section: 'gallery', web_visible: true },
  },
  { list: 'videos', schema: video, order: 'sort_order', defaults: {} },
] as const;

type MergedEntry = { entry: Patch; whole: Patch };

/** Merges each entry of a list into the stored entry that has its id, or else its address. */
function mergedEntries(
  stored: readonly Patch[],
  patched: readonly Patch[],
  schema: z.ZodObject,
  defaults: object,
): MergedEntry[] {
  return patched.map((entry) => {
    const id = uuid.safeParse(entry.id).data;
    const address = url.safeParse(entry.url).data;
    const old =
      stored.find((each) => id !== undefined && each.id === id) ??
      stored.find((each) => each.url === address);
    const whole = withId(merged(old ?? {}, entry, schema), 'url');
    return { entry, whole: { ...defaults, ...whole } };
  });
}

const [MIN_ORDER, MAX_ORDER] = [-(2 ** 31), 2 ** 31 - 1];

/** Numbers the entries without a number in ascending order, e.g. 10, none, 20 → 10, 11, 20. */
function numbered(entries: readonly MergedEntry[], field: string): Patch[] {
  const open = entries.filter(({ entry }) => entry[field] === undefined);
  // Numbers ascend if these differences never descend. They leave room for a number at each place.
  const starts = open.map(({ whole }, place) => Number(whole[field] ?? Number.NaN) - place);
  const chains: number[][] = [];
  for (const [place, start] of starts.entries()) {
    if (!(start >= MIN_ORDER && start <= MAX_ORDER - open.length + 1)) continue;
    const fitting = chains.filter((chain) => Number(starts[chain.at(-1) ?? 0]) <= start);
    chains.push([...longestOf(fitting), place]);
  }
  const kept = longestOf(chains);
  let start = starts[kept[0] ?? -1] ?? 1;
  for (const [place, { whole }] of open.entries()) {
    if (kept.includes(place)) start = Number(starts[place]);
    whole[field] = start + place;
  }
  return entries.map(({ whole }) => whole);
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

/** Returns a record with its id, or the UUID that follows from its first key. */
export function withId(record: Patch, ...keys: ('hid' | 'slug' | 'url')[]): Patch {
  if (record.id !== undefined) return record;
  for (const name of keys) {
    const key = name === 'url' ? url.safeParse(record.url).data : record[name];
    if (typeof key === 'string' && key !== '') return { id: v5(key, ID_NAMESPACE), ...record };
  }
  return record;
}
