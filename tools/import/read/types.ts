/** The records of a listings file. */

import type { Amenity, Location } from '../../../src/properties/source.ts';
import type { Fault, ImportProblem, RecordName } from './problem.ts';
import type { FileListing, RecordKeys } from './records.ts';

export type Section = 'locations' | 'amenities' | 'properties';

export type RawRecord = { name: RecordName; value: unknown };

/** The locations (by id) and amenities (by slug) that a file removes if no listing has them. */
export type Removed = { locations: string[]; amenities: string[] };

/** A file as it is written. */
export type ListingsFile = Record<Section, RawRecord[]> & {
  kind: 'readable';
  /** Whether the records are merged into the stored ones, and do not replace them. */
  isPatch: boolean;
  problems: ImportProblem[];
  /** Whether a record that names no stored listing is a problem, and no new listing. */
  mustBeStored?: boolean;
  removed?: Removed | undefined;
};

/** `unreadable`: some records could not be read, so the file is not compared with the store. */
export type ParsedFile = ListingsFile | { kind: 'unreadable'; problems: ImportProblem[] };

/** A whole record, with its value when it is valid. */
export type FileRecord<T> = {
  name: RecordName;
  keys: RecordKeys;
  /** The field that gives the record its id. */
  idField: 'id' | 'hid' | 'slug';
  /** The ids of photos and videos in the file. The ids of the others follow from their URLs. */
  mediaIds: ReadonlySet<string | undefined>;
  /** The first photo of a sheet becomes the hero photo of a listing without one. */
  takesHero?: boolean;
  value: T | undefined;
  faults: Fault[];
};

/** A file whose records are all whole, and every problem of them. */
export type CompleteFile = {
  isPatch: boolean;
  locations: FileRecord<Location>[];
  amenities: FileRecord<Amenity>[];
  properties: FileRecord<FileListing>[];
  removed: Removed;
  problems: ImportProblem[];
};
