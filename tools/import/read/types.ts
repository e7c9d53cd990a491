/** The types of a listings file, from its cells to its records. */

import type { importedRows } from '../../../src/storage/table.ts';
import type { Patch, RecordKeys } from '../catalogue/records.ts';
import type { SheetName } from './columns.ts';
import type { FieldProblem, FileLocation, ImportProblem } from './problem.ts';

export type InputRecord = {
  location: FileLocation;
  value: unknown;
  /** The `versionOf` the listing when a JSON file was exported. */
  version?: string | undefined;
  /** Whether a listing has photos, videos or features, but no row in the sheet `listings`. */
  isAbsent?: boolean;
  /** Whether the record must already be stored. */
  mustExist?: boolean;
};

/**
 * The way in which the records of a file reach the store:
 *
 *     whole      replace the stored records
 *     patch      are merged into them
 *     workbook   are merged into them, but may clear only as many fields as a whole file
 */
export type FileForm = 'whole' | 'patch' | 'workbook';

/** A row of a sheet. */
export type SheetRow = {
  location: FileLocation;
  /** The values of its visible cells and of its hidden id. */
  cells: Patch;
  /** The hidden cell `as of`, with the mark of the export: see marks.ts. */
  markCell: unknown;
};

/** The rows of a workbook by sheet; undefined for a sheet that the workbook does not have. */
export type Sheets = Partial<Record<SheetName, SheetRow[]>>;

/** The rows of one record as an import contained them, in the form of marks. */
export type ImportedRow = Omit<typeof importedRows.$inferInsert, 'operation'>;

/** A file as its author wrote it, before it is compared with the store. */
export type ListingsFile = Record<'locations' | 'amenities' | 'properties', InputRecord[]> & {
  form: FileForm;
  /** The id of the export that the file was made from. */
  exportId?: string | undefined;
  problems: ImportProblem[];
  sheets?: Sheets;
  /** Remarks for the report: ignored sheets, copied rows, removed records. */
  notes?: string[];
  /** Stored values that have changed since the export, and that this file does not edit. */
  keptValues?: string[];
  /** Values that have changed since the export, and that this file edits too. */
  conflicts?: ImportProblem[];
  /** Columns that seem to have been sorted or shifted on their own. */
  sortedColumns?: ImportProblem[];
  /** The changed records of a workbook, stored for this person's next import of the same export. */
  importedRows?: ImportedRow[];
  /** Location ids and amenity slugs to remove, unless a listing still shows them. */
  removed: string[];
};

/** A record of the file after its merge with the stored one. */
export type ParsedRecord<T> = Pick<InputRecord, 'location' | 'version' | 'isAbsent'> & {
  keys: RecordKeys;
  /** The keys that the file contains. Others are stored, or derived from these. */
  writtenKeys: RecordKeys;
  /** The parsed record; undefined if it is invalid. */
  value: T | undefined;
  problems: FieldProblem[];
};
