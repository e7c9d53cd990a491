/** The records of a listings file. */

import type { Operation } from '../../database/operations.ts';
import type { SheetName } from './columns.ts';
import type { Fault, ImportProblem, RecordName } from './problem.ts';
import type { Patch, RecordKeys } from './records.ts';

/** `done` and `total` count what the phase names, e.g. `listings read`. */
export type OnProgress = (phase: string, done: number, total: number) => void;

export type RawRecord = {
  name: RecordName;
  value: unknown;
  /** In JSON, the `versionOf` the listing that it was made from. */
  version?: string | undefined;
  /** Whether only sheets of lists name the listing: with `--prune` it is hidden. */
  isUnlisted?: boolean;
};

/**
 * `whole` records replace the stored ones, and the others are merged into them. A `workbook` may
 * empty as few fields as a whole file.
 */
export type FileForm = 'whole' | 'patch' | 'workbook';

/** A row of a sheet. */
export type SheetRow = {
  name: RecordName;
  value: Patch;
  /** The hidden cell of an export with the marks of the row. */
  asOf: unknown;
};

/** What a workbook has besides records. */
export type WorkbookParts = {
  sheets: Partial<Record<SheetName, SheetRow[]>>;
  /** The names of unknown sheets, with the known name that each resembles. */
  ignored: { name: string; meant: string | undefined }[];
};

/** A value that another import has changed since the export, and that the editor has not touched. */
export type Newer = {
  /** The slug of the record. */
  name: string;
  column: string;
  written: string;
  stored: string;
  lastChange: Operation | undefined;
};

/** What the comparison of a workbook with the store has found. */
export type TouchedCells = {
  newer: Newer[];
  /** Touched values that another import has changed too. */
  conflicts: ImportProblem[];
  /** Columns that were sorted or shifted alone. */
  moved: ImportProblem[];
  notes: string[];
};

/** A file as its author wrote it, before it is compared with the store. */
export type ListingsFile = Record<'locations' | 'amenities' | 'properties', RawRecord[]> & {
  kind: 'readable';
  form: FileForm;
  /** Names the export that the file was made from. */
  exportId?: string | undefined;
  problems: ImportProblem[];
  workbook?: WorkbookParts | undefined;
  touched?: TouchedCells;
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
