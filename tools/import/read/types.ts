/** A listings file as it is read: its records, with their names and keys. */

import type { Amenity, Location } from '../../../src/properties/source.ts';
import type { ImportProblem, RecordName } from './problem.ts';
import type { FileListing, Patch, RecordKeys } from './records.ts';

export type Section = 'locations' | 'amenities' | 'properties';

export type RawRecord = { name: RecordName; value: unknown };

/** A record: its name in messages, the keys in it, and its value when the record is valid. */
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
};

type Records<L, A, P> = {
  locations: FileRecord<L>[];
  amenities: FileRecord<A>[];
  properties: FileRecord<P>[];
};

/** A file whose records replace the stored ones. */
export type WholeFile = Records<Location, Amenity, FileListing> & { isPatch: false };

/** A file whose records are merged into the stored ones, and validated then. */
export type PatchFile = Records<Patch, Patch, Patch> & { isPatch: true };

/** The locations (by id) and amenities (by slug) that a file removes if no listing has them. */
export type Removed = { locations: string[]; amenities: string[] };

export type ReadableFile = {
  kind: 'read';
  file: WholeFile | PatchFile;
  problems: ImportProblem[];
  /** Whether a record of a patch that names no stored listing is a problem, and no new listing. */
  mustBeStored?: boolean;
  removed?: Removed | undefined;
};

/** `unreadable`: some records could not be read, so the file is not compared with the store. */
export type ReadFile = { kind: 'unreadable'; problems: ImportProblem[] } | ReadableFile;
