/** Merges patches into stored records. The caller parses the results. */

import * as z from 'zod';
import { LOCALES } from '../../../src/properties/locale-map.ts';
import { uuid } from '../../../src/schema/uuid.ts';
import { isMap, photo, url, video } from './listing-schemas.ts';
import { type Fields, listingRecord, type Patch, toList } from './records.ts';

/** Merges field by field, and translated texts by language. `record` is `{}` for a new record. */
export function mergeRecord(record: Fields, patch: Patch, { shape }: z.ZodObject): Fields {
  const changes = Object.entries(patch).map(([name, value]) => {
    const old = isMap(record[name]) ? record[name] : {};
    // The schema replaces undefined by the default.
    if (value === null && shape[name] instanceof z.ZodDefault) return [name, undefined];
    // A location's name and an amenity's label have no default.
    if (value === null && isMap(record[name])) return [name, {}];
    if (!isMap(value)) return [name, value];
    const languages = Object.entries({ ...old, ...value });
    return [name, Object.fromEntries(languages.filter(isKept))];
  });
  return { ...record, ...Object.fromEntries(changes) };
}

/** Drops a language whose text is null. Any other null stays, so that the schema rejects it. */
function isKept([name, text]: [string, unknown]): boolean {
  return text !== null || !LOCALES.some((locale) => locale === name);
}

/**
 * The lists that a patch replaces. A stored entry keeps the fields that the patch omits. A new entry
 * gets `defaults`.
 */
const LISTS = [
  {
    list: 'photos',
    schema: photo,
    order: 'web_sort_order',
    defaults: { alt: {}, section: 'gallery', web_visible: true },
  },
  { list: 'videos', schema: video, order: 'sort_order', defaults: { web_visible: true } },
] as const;

export function mergeListing(listing: Fields, patch: Patch): Fields {
  const record = mergeRecord(listing, patch, listingRecord);
  for (const { list, schema, order, defaults } of LISTS) {
    const patched = patch[list];
    if (!Array.isArray(patched) || !patched.every(isMap)) continue;
    const stored = toList(listing[list]).filter(isMap);
    const entries = patched.map((entry) => ({
      ...defaults,
      ...mergeRecord(findEntry(stored, entry) ?? {}, entry, schema),
    }));
    // If the patch numbers every entry, its numbers stay as they are.
    if (patched.some((entry) => entry[order] === undefined)) numberInOrder(entries, order);
    record[list] = entries;
  }
  const isHero = (entry: unknown) =>
    isMap(entry) && uuid.safeParse(entry.id).data === record.hero_photo_id;
  if (!('hero_photo_id' in patch) && !toList(record.photos).some(isHero)) {
    record.hero_photo_id = null;
  }
  return record;
}

function findEntry(stored: readonly Fields[], entry: Patch): Fields | undefined {
  const id = uuid.safeParse(entry.id).data;
  const address = url.safeParse(entry.url).data;
  return (
    stored.find((record) => record.id === id) ?? stored.find((record) => record.url === address)
  );
}

const MAX_ORDER = 2 ** 31 - 1;

/**
 * Numbers the entries in ascending order. A number stays if it is greater than the number before it:
 *
 *     10, none, 20 → 10, 11, 20
 *     20, none, 10 → 20, 21, 22
 */
export function numberInOrder(entries: readonly Fields[], field: string): void {
  let next = Number(entries[0]?.[field] ?? 1);
  for (const [index, entry] of entries.entries()) {
    const highest = MAX_ORDER - (entries.length - 1 - index);
    next = Math.max(next, Number(entry[field] ?? next));
    entry[field] = Math.min(next, highest);
    next += 1;
  }
}
