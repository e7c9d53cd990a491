/**
 * Merges a workbook with the store, as version control merges a file:
 *
 *     match.ts    finds the stored record of each row
 *     history.ts  finds what its cells contained in the export, or in an earlier import
 *     decide.ts   decides which values to apply, to keep or to reject
 *     merge.ts    turns the applied values into a patch of each record, for plan/merge-with-store.ts
 */

import { property } from '../../../src/properties/openapi/property.ts';
import type { importedRows } from '../../../src/storage/table.ts';
import { mergeRecord, numberInOrder } from '../catalogue/patch.ts';
import { deriveId, type Patch } from '../catalogue/records.ts';
import type { Catalogue } from '../catalogue/store.ts';
import type { List, MergeOptions, Row } from '../match/history.ts';
import { matchSheets } from '../match/match.ts';
import { dataColumns, getValue, HERO, LISTS, setValue } from '../read/columns.ts';
import type { InputRecord } from '../read/json.ts';
import { compareEntries, formatListMark, formatMark, hashText } from '../read/marks.ts';
import { formatLocation, type ImportProblem, mergeProblems } from '../read/problem.ts';
import type { Workbook } from '../read/workbook.ts';
import {
  decide,
  describeConflict,
  describeKept,
  describeUnknown,
  getHeroId,
  hasHeroColumn,
  isEdited,
  isHero,
  listListValues,
  listRowValues,
  type Value,
} from './decide.ts';
import { findSortedColumns } from './sorted-columns.ts';

const FEATURE = property.shape.unique_features.element;

const REMOVED =
  'was removed from the store after your export: delete the row, or use --overwrite to add it again';

/** The values to write, by their row or list. */
type Changes = ReadonlyMap<Row | List, readonly Value[]>;

/** The rows of one record as an import contained them, in the form of marks. */
export type ImportedRow = Omit<typeof importedRows.$inferInsert, 'operation'>;

/** The records that a workbook changes, as patches, and remarks about the values that it does not. */
export type MergedWorkbook = Record<'locations' | 'amenities' | 'properties', InputRecord[]> & {
  problems: ImportProblem[];
  /** Remarks about ignored sheets, copied rows and removed records. */
  notes: string[];
  /** Stored values that have changed since the export, and that this file does not edit. */
  keptValues: string[];
  /** Values that have changed since the export, and that this file edits too. */
  conflicts: ImportProblem[];
  /** Columns that seem to have been sorted or shifted on their own. */
  sortedColumns: ImportProblem[];
  /** The changed records, stored for this person's next import of the same export. */
  importedRows: ImportedRow[];
};

export function mergeWorkbook(
  file: Workbook,
  stored: Catalogue,
  options: MergeOptions,
): MergedWorkbook {
  const { locations, amenities, listings, ...match } = matchSheets(file.sheets, stored, options);
  const { exportKey, who, overwrite } = options;
  const records = [...locations, ...amenities, ...listings];
  const rows = records.flatMap(listRows);
  const values = records.flatMap(listValues);
  const outcomes = Object.groupBy(values, (value) => decide(value, exportKey !== undefined));
  const { apply = [], keep = [], conflict = [], unknown = [] } = outcomes;
  // A rejected import shows its conflicts as changes too: plan.ts rejects them after the merge.
  const changedValues = [...apply, ...conflict, ...unknown, ...(overwrite ? keep : [])];
  const changes = Map.groupBy(changedValues, ({ owner }) => owner);
  const conflicts = overwrite ? [...keep, ...conflict] : conflict;
  const { edited = [], unedited = [] } = Object.groupBy(
    rows.filter((row) => row.isRemoved),
    (row) => (listRowValues(row).some(isEdited) ? 'edited' : 'unedited'),
  );
  const toRecords = (all: readonly Row[]) =>
    all.filter((row) => !row.isRemoved).map((row) => toRecordPatch(row, changes));
  return {
    locations: toRecords(locations),
    amenities: toRecords(amenities),
    properties: toRecords(listings),
    problems: mergeProblems(file.problems, [
      ...rows.flatMap(findChangedId),
      ...match.problems,
      ...listings.flatMap(({ lists }) => lists).flatMap(findSecondHero),
      ...edited.map(({ location }) => ({ location, path: '', message: REMOVED })),
    ]),
    notes: [
      ...file.notes,
      ...match.notes,
      ...unedited.map(
        ({ location }) =>
          `${formatLocation(location)} was removed from the store after your export`,
      ),
    ],
    keptValues: overwrite ? [] : keep.map(describeKept),
    conflicts: [
      ...conflicts.map((value) => describeConflict(value, stored)),
      ...(overwrite ? [] : describeUnknown(unknown, stored)),
    ],
    sortedColumns: findSortedColumns(changedValues),
    importedRows:
      exportKey === undefined
        ? []
        : records
            .filter((record) =>
              [...listRows(record), ...record.lists].some((owner) => changes.has(owner)),
            )
            .map((record) => toImportedRow(record, exportKey, who)),
  };
}

/** Lists the row of a record and the rows of its lists. */
function listRows(record: Row): Row[] {
  return [record, ...record.lists.flatMap(({ rows }) => rows)];
}

/** Lists the values of a record. A row whose record another person has removed has no values. */
function listValues(record: Row): Value[] {
  const [recordRow, ...entries] = listRows(record).map((row) => {
    return row.isRemoved ? [] : listRowValues(row);
  });
  return [...(recordRow ?? []), ...record.lists.flatMap(listListValues), ...entries.flat()];
}

/** Returns the rows of a record for `imported_rows`: they are the base of this person's next import. */
function toImportedRow(record: Row, export_id: string, who: string): ImportedRow {
  const { lists, recordKey } = record;
  const listMarks = lists.map(({ sheet, rows }) => ({
    ...formatListMark(
      sheet,
      rows.map(({ key, cells }) => ({ key, record: cells })),
    ),
    ...(hasHeroColumn(rows) && { hero: hashText(getHeroId(rows)) }),
  }));
  const marks = [
    formatRowMark(record, Object.assign({}, ...listMarks)),
    ...lists.flatMap(({ rows }) => rows).map((row) => formatRowMark(row)),
  ];
  return { export_id, who, record: recordKey, marks: marks.join('\n') };
}

function formatRowMark({ sheet, key, cells }: Row, entries: Record<string, string> = {}): string {
  const columns = dataColumns(sheet).filter((column) => getValue(cells, column) !== undefined);
  return formatMark(columns, cells, { key, ...entries });
}

function findChangedId({ location, cells: { id }, stored, history }: Row): ImportProblem[] {
  const isChanged = id !== undefined && stored !== undefined && id !== stored.record.id;
  if (history.exported === undefined || !isChanged) return [];
  const message = 'is a hidden id, which must not be changed: undo the change, or clear the cell';
  return [{ location, path: 'id', value: id, message }];
}

function findSecondHero({ rows }: List): ImportProblem[] {
  const [, second] = rows.filter(isHero);
  if (second === undefined) return [];
  const message = 'marks a second hero photo: only one photo of a listing can have yes';
  return [{ location: second.location, path: HERO.field, message }];
}

/** Returns the changed cells of a row as a patch of its record. */
function toPatch(row: Row, changes: Changes): Patch {
  const { stored, cells } = row;
  const { id, slug }: Patch = stored?.record ?? { id: cells.id };
  const patch: Patch = id !== undefined ? { id } : slug !== undefined ? { slug } : {};
  for (const { column } of changes.get(row) ?? []) {
    const cell = getValue(cells, column);
    // A new record has nothing to clear. A translated text without any language becomes empty.
    if (stored === undefined && cell === null && column.locale === undefined) continue;
    if (column.field === 'location' && cells.location_id !== undefined) {
      patch.location_id = cells.location_id;
    } else setValue(patch, column, cell);
  }
  return patch;
}

/** Returns a record as a patch, which includes the lists of a listing. */
function toRecordPatch(record: Row, changes: Changes): InputRecord {
  const patch = toPatch(record, changes);
  const rowsByField: Record<string, readonly Row[]> = {};
  for (const list of record.lists) {
    const listChanges = changes.get(list) ?? [];
    const hero = listChanges.find(({ kind }) => kind === 'hero');
    if (hero !== undefined) patch.hero_photo_id = hero.theirs || null;
    // The rows of the workbook if they replace the list, otherwise the stored ones.
    const isReplaced = listChanges.some(({ kind }) => kind !== 'hero');
    const rows = isReplaced ? list.rows.filter((row) => !row.isRemoved) : list.storedRows;
    if (!isReplaced && !rows.some((row) => changes.has(row))) continue;
    const { field } = LISTS[list.sheet];
    patch[field] = toListPatch(list, rows, changes);
    rowsByField[field] = rows;
  }
  const { location, isAbsent } = record;
  const entries = Object.fromEntries(
    Object.entries(rowsByField).map(([field, rows]) => [field, rows.map((row) => row.location)]),
  );
  return { location: { ...location, entries }, value: patch, isAbsent };
}

function toListPatch({ sheet, storedRows }: List, rows: readonly Row[], changes: Changes): Patch[] {
  const { order } = LISTS[sheet];
  const entries = rows.map((row): Patch => {
    const patch = toPatch(row, changes);
    const record = row.stored?.record ?? {};
    if (sheet === 'features') return mergeRecord(record, patch, FEATURE);
    const number = rows === storedRows ? undefined : row.cells[order];
    // An editor can insert an entry by the number 1.5.
    return { ...patch, [order]: typeof number === 'number' ? Math.floor(number) : record[order] };
  });
  const sortKeys = entries.map(deriveId);
  const isInOrder = sortKeys.every(
    (key, index) => compareEntries(order, sortKeys[index - 1] ?? key, key) <= 0,
  );
  if (!isInOrder) numberInOrder(entries, order);
  return entries;
}
