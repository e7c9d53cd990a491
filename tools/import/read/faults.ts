/** Faults of records that their schemas do not find. Pure. */

import { isMap } from './listing-schemas.ts';
import { type Fault, type ImportProblem, nameOf } from './problem.ts';
import type { RecordKeys } from './records.ts';
import type { FileRecord, WholeFile } from './types.ts';

/** Finds the records of a section that have the id or slug of an earlier record. */
export function repeatedKeys({ locations, amenities, properties }: WholeFile): ImportProblem[] {
  const sections: FileRecord<unknown>[][] = [locations, amenities, properties];
  return sections.flatMap((records) => {
    const problems = (['id', 'slug'] as const).flatMap((field) =>
      repeated(records, ({ keys }) => keys[field]).map(({ entry, first }): ImportProblem => {
        const path = field === 'id' ? entry.idField : field;
        const details = [`the ${field} of ${nameOf(first.name)}`];
        return { record: entry.name, path, code: 'repeats', details, value: entry.keys[path] };
      }),
    );
    // An id that follows from a slug repeats with the slug.
    const places = new Map(problems.map((each) => [`${each.record.place} ${each.path}`, each]));
    return [...places.values()];
  });
}

/** Rejects repeated photos, videos and amenities, and the hero photo of another listing. */
export function entryFaults({ photos, videos, amenities, ...keys }: RecordKeys): Fault[] {
  const faults = Object.entries({ photos, videos, amenities }).flatMap(([list, listed]) =>
    repeated([...listed.entries()], ([, key]) => key).map(
      ({ entry: [index, value], first }): Fault => ({
        path: `${list}.${index}`,
        code: 'repeats',
        details: [`${list}.${first[0]}`],
        value,
      }),
    ),
  );
  const value = keys.hero_photo_id;
  if (value === undefined || photos.includes(value)) return faults;
  return [...faults, { path: 'hero_photo_id', code: 'hero_id', value }];
}

/** Each entry comes with the first entry of its key. */
function repeated<T>(entries: readonly T[], keyOf: (entry: T) => string | undefined) {
  const firsts = new Map<string, T>();
  return entries.flatMap((entry) => {
    const key = keyOf(entry);
    const first = key === undefined ? undefined : firsts.get(key);
    if (first !== undefined) return [{ entry, first }];
    if (key !== undefined) firsts.set(key, entry);
    return [];
  });
}

/** A location may lack a slug, from which its id follows, only if it has an id. */
export function missingKeys(location: unknown): Fault[] {
  const isKeyed = !isMap(location) || (location.id ?? location.slug) != null;
  return isKeyed ? [] : [{ path: 'slug', code: 'missing', details: ['is required'] }];
}

/** Rejects a location and a hero photo that are named twice. */
export function doubleReferences(record: unknown): Fault[] {
  const pairs = { location: 'location_id', hero_photo: 'hero_photo_id' };
  return Object.entries(pairs).flatMap(([path, other]): Fault[] =>
    isMap(record) && record[path] !== undefined && record[other] !== undefined
      ? [{ path, code: 'two_names', details: [other], value: record[path] }]
      : [],
  );
}
