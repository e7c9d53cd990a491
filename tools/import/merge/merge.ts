/**
 * Merges a workbook with the store, in these steps:
 *
 *     match/match.ts      finds the stored record and the history of each row
 *     values.ts           lists the values that differ from the store
 *     decide.ts           decides on an outcome for each value
 *     second-copy.ts      detects a file that would take back what its editor has imported
 *     patches.ts          turns the applied values into patches, for plan/complete-records.ts
 *     conflicts.ts        describes the values that are not applied
 *     sorted-columns.ts   detects columns that were sorted on their own
 *     imported-rows.ts    formats the rows of changed records, for the next import
 */

import type { Catalogue } from '../catalogue/store.ts';
import type { MergeOptions, Row } from '../match/history.ts';
import { type List, type MatchedRecord, matchSheets } from '../match/match.ts';
import { HERO } from '../read/columns.ts';
import type { InputRecord } from '../read/json.ts';
import { formatLocation, type ImportProblem, mergeProblems } from '../read/problem.ts';
import type { Workbook } from '../read/workbook.ts';
import { describeConflict, describeKept, describeRejected, describeUnknown } from './conflicts.ts';
import { decide, isEdited } from './decide.ts';
import { type ImportedRow, toImportedRow } from './imported-rows.ts';
import { type Changes, groupChanges, toRecordPatch } from './patches.ts';
import { describePutBack, findSecondCopy, findValuesPutBack } from './second-copy.ts';
import { findSortedColumns } from './sorted-columns.ts';
import { isHero, listRowValues, listValues } from './values.ts';

/** The records of a workbook as patches of its applied values, and remarks about its other values. */
export type MergedWorkbook = Record<'locations' | 'amenities' | 'properties', InputRecord[]> & {
  problems: ImportProblem[];
  /** Remarks about ignored sheets, copied rows and removed records. */
  notes: string[];
  /** Stored values that have changed since the export, and that the file does not edit. */
  keptValues: string[];
  /** Values that the file sets back to what was exported, after this person imported another value. */
  valuesPutBack: string[];
  /** Values that the file edits although the store has changed since the export. */
  conflicts: ImportProblem[];
  /** A problem of the whole file if it is a second copy of its export: see second-copy.ts. */
  secondCopy: ImportProblem[];
  /**
   * The values that a conflict or a second copy rejects. They are in no patch, and a dry run lists
   * them.
   */
  rejectedValues: string[];
  /** Columns that seem to have been sorted or shifted without the rest of their rows. */
  sortedColumns: ImportProblem[];
  /** The rows of changed records, which are the base of this person's next import of the same export. */
  importedRows: ImportedRow[];
};

export function mergeWorkbook(
  file: Workbook,
  catalogue: Catalogue,
  options: MergeOptions,
): MergedWorkbook {
  const { locations, amenities, listings, absentRows, ...match } = matchSheets(
    file.sheets,
    catalogue,
    options,
  );
  const { exportKey, overwrite } = options;
  const records = [...locations, ...amenities, ...listings];
  const lists = listings.flatMap((record) => record.lists);
  const rows = [...records.map(({ row }) => row), ...lists.flatMap((list) => list.rows)];
  const isExport = exportKey !== undefined;
  const outcomes = Object.groupBy(records.flatMap(listValues), ({ hashes }) =>
    decide(hashes, isExport),
  );
  const { apply = [], keep = [], conflict = [], unknown = [] } = outcomes;
  const secondCopy = overwrite ? [] : findSecondCopy(records, absentRows, apply);
  const putBack = findValuesPutBack(apply);
  const takenBack = new Set(secondCopy.length > 0 ? putBack : []);
  const applied = overwrite
    ? [...apply, ...keep, ...conflict, ...unknown]
    : apply.filter((value) => !takenBack.has(value));
  const rejected = overwrite ? [] : [...conflict, ...unknown, ...takenBack];
  // With --overwrite, each newer stored value that is replaced is a warning.
  const conflicts = overwrite ? [...keep, ...conflict] : conflict;
  const changes = groupChanges(applied);
  const toRecords = (all: readonly MatchedRecord[]) =>
    all.filter(({ row }) => !row.isRemoved).map((record) => toRecordPatch(record, changes));
  const removed = findRemovedRows(rows);
  return {
    locations: toRecords(locations),
    amenities: toRecords(amenities),
    properties: toRecords(listings),
    problems: mergeProblems(file.problems, [
      ...rows.flatMap(findChangedId),
      ...match.problems,
      ...lists.flatMap(findSecondHero),
      ...removed.problems,
    ]),
    notes: [...file.notes, ...match.notes, ...removed.notes],
    keptValues: overwrite ? [] : keep.map(describeKept),
    valuesPutBack: secondCopy.length > 0 ? [] : putBack.map(describePutBack),
    conflicts: [
      ...conflicts.map((value) => describeConflict(value, catalogue, options)),
      ...(overwrite ? [] : describeUnknown(unknown, catalogue)),
    ],
    secondCopy,
    rejectedValues: rejected.map(describeRejected),
    sortedColumns: findSortedColumns([...applied, ...rejected]),
    importedRows: records
      .filter((record) => isChanged(record, changes))
      .flatMap((record) => toImportedRow(record, options)),
  };
}

function isChanged({ row, lists }: MatchedRecord, changes: Changes): boolean {
  const rowsAndLists = [row, ...lists, ...lists.flatMap((list) => list.rows)];
  return rowsAndLists.some((rowOrList) => changes.has(rowOrList));
}

const REMOVED = {
  path: '',
  message: 'was removed from the store after your export',
  hint: 'Delete the row, or use --overwrite to add it again.',
};

/** Finds the rows of removed records. An edited row is a problem, and an unedited row only a remark. */
function findRemovedRows(rows: readonly Row[]) {
  const { edited = [], unedited = [] } = Object.groupBy(
    rows.filter((row) => row.isRemoved),
    (row) => (listRowValues(row).some(({ hashes }) => isEdited(hashes)) ? 'edited' : 'unedited'),
  );
  return {
    problems: edited.map(({ location }) => ({ location, ...REMOVED })),
    notes: unedited.map(
      ({ location }) => `${formatLocation(location)} was removed from the store after your export`,
    ),
  };
}

function findChangedId({ location, cells: { id }, stored, history }: Row): ImportProblem[] {
  const isChangedId = id !== undefined && stored !== undefined && id !== stored.record.id;
  if (history.exported === undefined || !isChangedId) return [];
  const message = 'is a hidden id, which must not be changed';
  const hint = 'Undo the change, or clear the cell.';
  return [{ location, path: 'id', value: id, message, hint }];
}

function findSecondHero({ rows }: List): ImportProblem[] {
  const [, second] = rows.filter(isHero);
  if (second === undefined) return [];
  const message = 'marks a second hero photo';
  const hint = 'Only one photo of a listing can have yes.';
  return [{ location: second.location, path: HERO.field, message, hint }];
}
