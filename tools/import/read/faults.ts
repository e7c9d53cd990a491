/** Faults of records that their schemas do not find. Pure. */

import { isMap } from './listing-schemas.ts';
import type { Fault } from './problem.ts';
import type { RecordKeys } from './records.ts';

/** Rejects repeated photos, videos and amenities, and the hero photo of another listing. */
export function entryFaults({ photos, videos, amenities, urls, ...keys }: RecordKeys): Fault[] {
  const faults = Object.entries({ photos, videos, amenities }).flatMap(([list, listed]) =>
    findRepeated([...listed.entries()], ([, key]) => key).map(
      ({ entry: [index, key], first: [firstIndex] }): Fault => {
        const path = `${list}.${index}`;
        const first = `${list}.${firstIndex}`;
        // An id that follows from an address says nothing to its editor.
        const url = urls.get(path);
        const isSame = url === urls.get(first);
        const details = { first: isSame ? first : `the id of ${first}` };
        return { path, code: 'repeats', details, value: url ?? key };
      },
    ),
  );
  const value = keys.hero_photo_id;
  if (value === undefined || photos.includes(value)) return faults;
  return [...faults, { path: 'hero_photo_id', code: 'hero_id', value }];
}

/** Returns the later entries of each key, with the first one. */
function findRepeated<T>(entries: readonly T[], keyOf: (entry: T) => string | undefined) {
  const groups = Map.groupBy(entries, keyOf);
  groups.delete(undefined);
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : others.map((entry) => ({ entry, first })),
  );
}

/** Rejects a location without a key, and a location and a hero photo that are named twice. */
export function referenceFaults(kind: string, record: unknown): Fault[] {
  if (!isMap(record)) return [];
  if (kind === 'location') {
    const isNamed = (record.id ?? record.slug) != null;
    return isNamed ? [] : [{ path: 'slug', code: 'missing', details: { message: 'is required' } }];
  }
  const pairs = { location: 'location_id', hero_photo: 'hero_photo_id' };
  return Object.entries(pairs).flatMap(([path, other]): Fault[] =>
    record[path] === undefined || record[other] === undefined
      ? []
      : [{ path, code: 'two_names', details: { other }, value: record[path] }],
  );
}
