/** The records of a listings file. */

import type { Fault, ImportProblem, RecordName } from './problem.ts';
import type { RecordKeys } from './records.ts';

export type RawRecord = { name: RecordName; value: unknown };

/** A file as it is written. */
export type ListingsFile = Record<'locations' | 'amenities' | 'properties', RawRecord[]> & {
  kind: 'readable';
  /** Whether the records are merged into the stored ones, and do not replace them. */
  isPatch: boolean;
  problems: ImportProblem[];
  /** Whether a record that names no stored listing is a problem, and no new listing. */
  mustBeStored?: boolean;
  /** The locations (by id) and amenities (by slug) that are removed if no listing shows them. */
  removed: string[];
};

/** `unreadable`: some records could not be read, so the file is not compared with the store. */
export type ParsedFile = ListingsFile | { kind: 'unreadable'; problems: ImportProblem[] };

/** A whole record, with its value when it is valid. */
export type CompleteRecord<T> = {
  name: RecordName;
  keys: RecordKeys;
  /** The keys that the file has. The others are stored, or follow from these. */
  writtenKeys: RecordKeys;
  /** The field that gives the record its id. */
  idField: 'id' | 'hid' | 'slug';
  /** The first photo of a sheet becomes the hero photo of a listing without one. */
  takesHero?: boolean;
  value: T | undefined;
  faults: Fault[];
};
