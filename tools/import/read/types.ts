/** The records of a listings file. */

import type { importedRows } from '../../../src/storage/table.ts';
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
  /** Whether the record must be a stored one. */
  isStored?: boolean;
};

/**
 * `whole` records replace the stored ones, and the others are merged into them. A `workbook` may
 * empty as few fields as a whole file.
 */
export type FileForm = 'whole' | 'patch' | 'workbook';

/** Returns the hash of a column, or another text of the row. A row that has marks has its `key`. */
export type Marks = (name: string) => string | undefined;

/** A row of a sheet. */
export type SheetRow = {
  name: RecordName;
  value: Patch;
  /** The hidden cell: what an export has shown in the row. */
  asOf: unknown;
};

/** The rows of a workbook. A sheet that it does not have is undefined. */
export type Sheets = Partial<Record<SheetName, SheetRow[]>>;

/** The rows of a record as the file has them, in the form of marks. */
export type ImportedRow = Omit<typeof importedRows.$inferInsert, 'operation'>;

/** A file as its author wrote it, before it is compared with the store. */
export type ListingsFile = Record<'locations' | 'amenities' | 'properties', RawRecord[]> & {
  form: FileForm;
  /** Names the export that the file was made from. */
  exportId?: string | undefined;
  problems: ImportProblem[];
  sheets?: Sheets;
  /** For the report: ignored sheets, copied rows, removed records. */
  notes?: string[];
  /** Values that another import has changed since the export, and that the editor has not touched. */
  newer?: string[];
  /** Touched values that another import has changed too. */
  conflicts?: ImportProblem[];
  /** Columns that were sorted or shifted alone. */
  moved?: ImportProblem[];
  /** Of a workbook: the records that the file changes or adds, for the next import by this person. */
  importedRows?: ImportedRow[];
  /** Ids of locations and slugs of amenities, removed if no listing shows them. */
  removed: string[];
};

/** A whole record of the file. */
export type CompleteRecord<T> = Pick<RawRecord, 'name' | 'version' | 'isUnlisted'> & {
  keys: RecordKeys;
  /** The keys in the file. The others are stored, or follow from these. */
  writtenKeys: RecordKeys;
  /** Undefined if it is invalid. */
  value: T | undefined;
  faults: Fault[];
};
