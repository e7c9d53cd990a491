/** Finds problems that the schema of a record cannot find. */

import { isMap } from '../catalogue/listing-schemas.ts';
import { type RecordKeys, toList } from '../catalogue/records.ts';
import { type FieldProblem, type FileLocation, findCell } from '../read/problem.ts';

/** Finds repeated photos, videos and amenities, and a hero photo that is not a photo of the listing. */
export function findEntryProblems(
  record: unknown,
  keys: RecordKeys,
  location: FileLocation,
): FieldProblem[] {
  const { photos, videos, amenities, hero_photo_id } = keys;
  const problems = Object.entries({ photos, videos, amenities }).flatMap(([list, entryKeys]) =>
    entryKeys.flatMap((key, index): FieldProblem[] => {
      const firstIndex = entryKeys.indexOf(key);
      if (key === undefined || firstIndex === index) return [];
      // Photos and videos have a row each, and amenities share a cell.
      const isRow = location.row !== undefined && list !== 'amenities';
      const formatEntryPath = (at: number) => `${list}.${at}${isRow ? '.url' : ''}`;
      const [path, first] = [formatEntryPath(index), formatEntryPath(firstIndex)];
      const firstLocation = isRow ? findCell(location, first)?.cell : first;
      const entry = isMap(record) && toList(record[list])[index];
      // The id may be derived from the URL, so the message quotes the URL.
      const value = isMap(entry) ? entry.url : key;
      return [{ path, value, message: `repeats ${firstLocation}` }];
    }),
  );
  if (hero_photo_id === undefined || photos.includes(hero_photo_id)) return problems;
  const message = 'must be the id of one of the photos of this listing';
  return [...problems, { path: 'hero_photo_id', value: hero_photo_id, message }];
}

/** Finds locations without a key, and two fields that both name the location or the hero photo. */
export function findReferenceProblems(kind: string, record: unknown): FieldProblem[] {
  if (!isMap(record)) return [];
  if (kind === 'location') {
    const isNamed = (record.id ?? record.slug) != null;
    return isNamed ? [] : [{ path: 'slug', message: 'is required', isMissing: true }];
  }
  const pairs = { location: 'location_id', hero_photo: 'hero_photo_id' };
  return Object.entries(pairs).flatMap(([path, other]): FieldProblem[] =>
    record[path] === undefined || record[other] === undefined
      ? []
      : [{ path, value: record[path], message: `must not be combined with ${other}` }],
  );
}
