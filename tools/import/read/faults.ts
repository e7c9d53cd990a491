/** Faults of records that their schemas do not find. Pure. */

import { isMap } from './listing-schemas.ts';
import type { Fault, RecordName } from './problem.ts';
import { listOf, type RecordKeys } from './records.ts';

/** Rejects repeated photos, videos and amenities, and the hero photo of another listing. */
export function entryFaults(record: unknown, keys: RecordKeys, { cellAt }: RecordName): Fault[] {
  const { photos, videos, amenities, hero_photo_id } = keys;
  const faults = Object.entries({ photos, videos, amenities }).flatMap(([list, own]) =>
    own.flatMap((key, index): Fault[] => {
      const firstIndex = own.indexOf(key);
      if (key === undefined || firstIndex === index) return [];
      // The amenities of a listing have one cell.
      const isRow = cellAt !== undefined && list !== 'amenities';
      const pathOf = (at: number) => `${list}.${at}${isRow ? '.url' : ''}`;
      const [path, first] = [pathOf(index), pathOf(firstIndex)];
      const place = isRow ? cellAt(first).cell : first;
      const entry = isMap(record) && listOf(record[list])[index];
      // An id that follows from an address says nothing to its editor.
      const value = isMap(entry) ? entry.url : key;
      return [{ path, value, sentence: `repeats ${place}` }];
    }),
  );
  if (hero_photo_id === undefined || photos.includes(hero_photo_id)) return faults;
  const sentence = 'must be the id of one of the photos of this listing';
  return [...faults, { path: 'hero_photo_id', value: hero_photo_id, sentence }];
}

/** Rejects a location without a key, and a location and a hero photo that are named twice. */
export function referenceFaults(kind: string, record: unknown): Fault[] {
  if (!isMap(record)) return [];
  if (kind === 'location') {
    const isNamed = (record.id ?? record.slug) != null;
    return isNamed ? [] : [{ path: 'slug', sentence: 'is required', isMissing: true }];
  }
  const pairs = { location: 'location_id', hero_photo: 'hero_photo_id' };
  return Object.entries(pairs).flatMap(([path, other]): Fault[] =>
    record[path] === undefined || record[other] === undefined
      ? []
      : [{ path, value: record[path], sentence: `must not be combined with ${other}` }],
  );
}
