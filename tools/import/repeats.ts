/** Keys that a listings file uses twice. Pure. */

import type { FileRecord, ListingsFile } from './file.ts';
import type { ImportProblem } from './problem.ts';

/** One use of a key: where a problem is told, and how other problems refer to it. */
type KeyUse = { key: string | undefined; record: string; path: string; reference: string };

/** Returns a problem for every id and slug that an earlier record or list entry has. */
export function repeatedKeys({ locations, amenities, properties }: ListingsFile): ImportProblem[] {
  return [
    ...repeats(usesOf(locations, 'id')),
    ...repeats(usesOf(locations, 'slug')),
    ...repeats(usesOf(amenities, 'slug')),
    ...repeats(usesOf(properties, 'id')),
    ...repeats(usesOf(properties, 'slug')),
  ];
}

/** Returns a problem for every photo, video and amenity that a listing has twice. */
export function repeatedEntries({ name, keys }: FileRecord<unknown>): ImportProblem[] {
  const entries = { photos: keys.photos, videos: keys.videos, amenities: keys.amenities };
  return Object.entries(entries).flatMap(([list, listed]) =>
    repeats(
      listed.map((key, index) => {
        const path = list === 'amenities' ? `${list}.${index}` : `${list}.${index}.id`;
        return { key, record: name, path, reference: path };
      }),
    ),
  );
}

function usesOf(records: readonly FileRecord<unknown>[], path: 'id' | 'slug'): KeyUse[] {
  return records.map(({ name, keys }) => ({
    key: keys[path],
    record: name,
    path,
    reference: `that of ${name}`,
  }));
}

function repeats(uses: readonly KeyUse[]): ImportProblem[] {
  const firsts = new Map<string, string>();
  return uses.flatMap(({ key, record, path, reference }) => {
    if (key === undefined) return [];
    const first = firsts.get(key);
    if (first !== undefined) return [{ record, path, message: `repeats ${first}` }];
    firsts.set(key, reference);
    return [];
  });
}
