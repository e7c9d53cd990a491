/** The records of a listings file. */

import type { Fault, ImportProblem, RecordName } from './problem.ts';
import type { Patch, RecordKeys } from './records.ts';

/** `done` and `total` count what the phase names, e.g. `rows of photos read`. */
export type OnProgress = (phase: string, done: number, total: number) => void;

export type RawRecord = {
  name: RecordName;
  value: unknown;
  /** The `versionOf` the listing that it was made from, or the slug of the location, in a workbook. */
  version?: string | undefined;
  /** Whether only sheets of lists name the listing: with `--prune` it is hidden. */
  isUnlisted?: boolean;
};

/**
 * `whole` records replace the stored ones, and the others are merged into them. A `workbook` may
 * empty as few fields as a whole file.
 */
export type FileForm = 'whole' | 'patch' | 'workbook';

/** A row of a sheet of photos, videos or features. */
export type ListRow = {
  name: RecordName;
  /** The slug in the row, if it has one. */
  listing: string | undefined;
  value: Patch;
  /** Their paths are in the entry, e.g. `alt.en`. */
  faults: Fault[];
};

/** The sheet of a list of listings. */
export type SheetList = {
  field: 'photos' | 'videos' | 'unique_features';
  /** The field that orders the entries of a listing. */
  order: string;
  rows: ListRow[];
};

/** What a workbook has besides records. */
export type WorkbookParts = {
  hasListings: boolean;
  lists: SheetList[];
  /** The names of unknown sheets, with the known name that each resembles. */
  ignored: { name: string; meant: string | undefined }[];
};

/** A file as it is written. */
export type ListingsFile = Record<'locations' | 'amenities' | 'properties', RawRecord[]> & {
  kind: 'readable';
  form: FileForm;
  /** Names the export that the file was made from. */
  exportId?: string | undefined;
  problems: ImportProblem[];
  workbook?: WorkbookParts | undefined;
  /** Whether a listing that is not stored is a problem, and no new listing. */
  mustBeStored?: boolean;
  /** Ids of locations and slugs of amenities, removed if no listing shows them. */
  removed: string[];
};

/** `unreadable`: some records could not be read, so the file is not compared with the store. */
export type ParsedFile = ListingsFile | { kind: 'unreadable'; problems: ImportProblem[] };

export type StoredKeys = { id: string; hid?: string | null; slug: string | null };

export type Resolution =
  | { kind: 'new' }
  | { kind: 'stored'; old: StoredKeys }
  /** Several stored listings have its `hid`. */
  | { kind: 'ambiguous' }
  /**
   * The id that follows from its key is of a stored record that it does not name: a new "casa-b" has
   * the id of a listing that was "casa-b" once, and is "casa-c" now.
   */
  | { kind: 'anothers'; old: StoredKeys };

/** A whole record of the file. */
export type CompleteRecord<T> = Pick<RawRecord, 'name' | 'version' | 'isUnlisted'> & {
  keys: RecordKeys;
  /** The keys in the file. The others are stored, or follow from these. */
  writtenKeys: RecordKeys;
  resolution: Resolution;
  /** The field that gives the record its id. */
  idField: 'id' | 'hid' | 'slug';
  /** Undefined if it is invalid. */
  value: T | undefined;
  faults: Fault[];
};
