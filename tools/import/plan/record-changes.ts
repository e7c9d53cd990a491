/** Finds the changes of locations and amenities. */

import type { Amenity, Location } from '../../../src/properties/source.ts';
import type { ParsedRecord } from './complete-records.ts';
import { compareRecords, type Differences } from './differences.ts';

export type RecordChange = Differences & {
  kind: 'location' | 'amenity';
  /** A location's id, or an amenity's slug. */
  key: string;
  /** e.g. `location mallorca` */
  name: string;
  /** undefined for a new record. */
  old: Location | Amenity | undefined;
  /** undefined if the import removes the record. */
  now: Location | Amenity | undefined;
};

/** Locations by id and by slug, and amenities by slug. */
export type References = { locations: Map<string, Location>; amenities: Map<string, Amenity> };

/**
 * Compares the records of a kind with the stored ones. `now` has all records after the import, by
 * key.
 */
export function findRecordChanges<T extends Location | Amenity>(
  kind: RecordChange['kind'],
  stored: readonly T[],
  removed: readonly string[],
  records: readonly ParsedRecord<T>[],
) {
  const getKey = (record: Location | Amenity) => ('id' in record ? record.id : record.slug);
  const before = new Map(stored.map((record) => [getKey(record), record]));
  const now = new Map(before);
  const fileRecords = records.flatMap(({ value }) => (value === undefined ? [] : [value]));
  for (const key of removed) now.delete(key);
  for (const record of fileRecords) now.set(getKey(record), record);
  const changes = [...new Set([...removed, ...fileRecords.map(getKey)])].flatMap(
    (key): RecordChange[] => {
      const change = { kind, key, old: before.get(key), now: now.get(key) };
      // Both have the field order of the schema.
      if (JSON.stringify(change.old) === JSON.stringify(change.now)) return [];
      const name = `${kind} ${(change.old ?? change.now)?.slug ?? key}`;
      return [{ ...change, name, ...compareRecords(change.old, change.now) }];
    },
  );
  return { now, changes };
}
