/** Merges a patch into a stored record. The results are parsed afterwards. Pure. */

import * as z from 'zod';
import { LOCALES } from '../../../src/properties/locale-map.ts';
import { uuid } from '../../../src/schema.ts';
import { isMap, photo, url, video } from './listing-schemas.ts';
import { listOf, type Patch, withId, writtenListing } from './records.ts';

/** Merges by field, and texts by language. The record is `{}` for a new one. */
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

/** As `merged`, for a listing. */
export function mergedListing(listing: Patch, patch: Patch): Patch {
  const record = merged(listing, patch, writtenListing);
  for (const { list, schema, order, defaults } of LISTS) {
    const patched = patch[list];
    if (!Array.isArray(patched) || !patched.every(isMap)) continue;
    const entries = patched.map((each) => mergedEntry(listOf(listing[list]), each, schema));
    const whole = entries.map((each) => ({ ...defaults, ...each }));
    // A number in the patch stays as it is.
    numberInOrder(
      whole.filter((_, place) => patched[place]?.[order] === undefined),
      order,
    );
    record[list] = whole;
  }
  const photos = listOf(record.photos).map((each) => isMap(each) && each.id);
  if (!('hero_photo_id' in patch) && !photos.includes(record.hero_photo_id)) {
    record.hero_photo_id = null;
  }
  return record;
}

/** Merges an entry of a list into the stored entry that has its id, or else its address. */
function mergedEntry(stored: readonly unknown[], entry: Patch, schema: z.ZodObject): Patch {
  const id = uuid.safeParse(entry.id).data;
  const address = url.safeParse(entry.url).data;
  const entries = stored.filter(isMap);
  const old =
    entries.find((each) => id !== undefined && each.id === id) ??
    entries.find((each) => each.url === address);
  return withId(merged(old ?? {}, entry, schema), 'url');
}

const [MIN_ORDER, MAX_ORDER] = [-(2 ** 31), 2 ** 31 - 1];

/**
 * Gives entries without a number the next one: 10, none, 20 → 10, 11, 20. Entries whose numbers
 * would not ascend get consecutive ones, from the first of them: 20, none, 10 → 20, 21, 22.
 */
function numberInOrder(entries: readonly Patch[], field: string): void {
  const known = entries.findIndex((each) => each[field] !== undefined);
  const first = Number(entries[known]?.[field] ?? 1) - Math.max(known, 0);
  const hasRoom = first >= MIN_ORDER && first + entries.length - 1 <= MAX_ORDER;
  const start = hasRoom ? first : 1;
  const numbers: number[] = [];
  for (const entry of entries) {
    numbers.push(Number(entry[field] ?? (numbers.at(-1) ?? start - 1) + 1));
  }
  const ascends = numbers.every(
    (each, place) => each <= MAX_ORDER && each > (numbers[place - 1] ?? Number.NEGATIVE_INFINITY),
  );
  for (const [place, entry] of entries.entries()) {
    entry[field] = ascends ? numbers[place] : start + place;
  }
}
