/**
 * Merges a workbook with the store, in three ways, as version control merges a file. Pure.
 *
 *     match    Which stored record is each row? Rows without one are new.
 *     values   Each cell has a base (what its editor has said before, or the export has shown),
 *              theirs (what the workbook has) and ours (what the store has).
 *     decide   A value is the same, kept, taken, or a conflict.
 *     fold     What is taken is a patch of each record, which complete.ts merges and checks.
 */

import { property } from '../../../src/properties/property.ts';
import type { List, MergeOptions, Row } from './base.ts';
import { cellsOf, HERO, LISTS, setValue, valueIn } from './columns.ts';
import {
  decide,
  describeConflict,
  describeUnknown,
  formatNewer,
  hasHero,
  heroOf,
  isHero,
  isRepeated,
  type Value,
  valuesOfList,
  valuesOfRow,
} from './decide.ts';
import { compareEntries, formatList, formatMarks, hashText } from './marks.ts';
import { matchSheets } from './match.ts';
import { findMovedColumns } from './moved.ts';
import { mergeRecord, numberInOrder } from './patch.ts';
import { distinct, formatName, type ImportProblem, type RecordName } from './problem.ts';
import { deriveId, type Patch } from './records.ts';
import type { Catalogue } from './store.ts';
import type { ImportedRow, ListingsFile, RawRecord, Sheets } from './types.ts';

const FEATURE = property.shape.unique_features.element;

const REMOVED =
  'has been removed from the store since the export: delete the row. --overwrite adds it again';

/** The taken values by their row, or by the list that they are of. */
type Taken = ReadonlyMap<Row, readonly Value[]>;

export function mergeSheets(
  file: ListingsFile,
  sheets: Sheets,
  stored: Catalogue,
  options: MergeOptions,
): ListingsFile {
  const { locations, amenities, listings, ...match } = matchSheets(sheets, stored, options);
  const { exportKey: export_id, who, overwrite } = options;
  const records = [...locations, ...amenities, ...listings];
  // What another editor has removed stays removed.
  const { removed = [], there = [] } = Object.groupBy(records.flatMap(rowsOf), (row) =>
    row.isRemoved ? 'removed' : 'there',
  );
  const values = there.flatMap((row) => ('rows' in row ? valuesOfList(row) : valuesOfRow(row)));
  const outcomes = Object.groupBy(values, (each) => decide(each, export_id !== undefined));
  const { take = [], keep = [], conflict = [], unknown = [] } = outcomes;
  const changed = [...take, ...conflict, ...unknown, ...(overwrite ? keep : [])];
  const taken = Map.groupBy(changed, ({ row }) => row);
  const fold = (rows: readonly Row[]) =>
    rows.filter((row) => !row.isRemoved).map((row) => foldRecord(row, taken));
  const { touched = [], untouched = [] } = Object.groupBy(removed, (row) =>
    isTouched(row) ? 'touched' : 'untouched',
  );
  const conflicts = overwrite ? [...keep, ...conflict] : conflict;
  const recorded = records.filter((record) => rowsOf(record).some((row) => taken.has(row)));
  return {
    ...file,
    locations: fold(locations),
    amenities: fold(amenities),
    properties: fold(listings),
    problems: distinct(file.problems, [
      ...match.problems,
      ...listings.flatMap(({ lists }) => lists).flatMap(findSecondHero),
      ...touched.map(({ name }) => ({ record: name, path: '', sentence: REMOVED })),
    ]),
    notes: [
      ...(file.notes ?? []),
      ...match.notes,
      ...untouched.map(
        ({ name }) => `${formatName(name)} was removed from the store since the export`,
      ),
    ],
    newer: overwrite ? [] : keep.map(formatNewer),
    conflicts: [
      ...conflicts.map((each) => describeConflict(each, stored)),
      ...(overwrite ? [] : describeUnknown(unknown, stored)),
    ],
    moved: findMovedColumns(changed),
    importedRows: recorded.flatMap((row): ImportedRow[] =>
      export_id === undefined
        ? []
        : [{ export_id, who, record: row.record, marks: formatRows(row) }],
    ),
  };
}

/** A record, with the lists of a listing and their rows. */
function rowsOf(record: Row): (Row | List)[] {
  return [record, ...record.lists, ...record.lists.flatMap(({ rows }) => rows)];
}

/** Whether its editor has changed a cell of a row since the export. */
function isTouched(row: Row): boolean {
  return valuesOfRow(row).some((value) => !isRepeated(value));
}

/** The rows of a record as the file has them, for the next import by the same person. */
function formatRows(record: Row): string {
  const { lists } = record;
  const texts = lists.map(({ sheet, rows }) => ({
    ...formatList(
      sheet,
      rows.map(({ key, value }) => ({ key, record: value })),
    ),
    ...(hasHero(rows) && { hero: hashText(heroOf(rows)) }),
  }));
  const first = formatRow(record, Object.assign({}, ...texts));
  return [first, ...lists.flatMap(({ rows }) => rows).map((row) => formatRow(row))].join('\n');
}

function formatRow({ sheet, key, value }: Row, others: Record<string, string> = {}): string {
  const columns = cellsOf(sheet).filter((column) => valueIn(value, column) !== undefined);
  return formatMarks(columns, value, { key, ...others });
}

function findSecondHero({ rows }: List): ImportProblem[] {
  const [, second] = rows.filter(isHero);
  if (second === undefined) return [];
  const sentence = 'is a second hero photo: one photo of a listing may have yes';
  return [{ record: second.name, path: HERO.field, sentence }];
}

/** The taken cells of a row as a patch of its record. */
function foldRow(row: Row, taken: Taken): Patch {
  const { stored, value: cells } = row;
  const { id, slug }: Patch = stored?.record ?? { id: cells.id };
  const patch: Patch = id !== undefined ? { id } : slug !== undefined ? { slug } : {};
  for (const { column } of taken.get(row) ?? []) {
    const cell = valueIn(cells, column);
    // A new record has no field to empty, but a text without languages.
    if (stored === undefined && cell === null && column.locale === undefined) continue;
    if (column.field === 'location' && cells.location_id !== undefined) {
      patch.location_id = cells.location_id;
    } else setValue(patch, column, cell);
  }
  return patch;
}

/** A record as a patch, with the lists of a listing. */
function foldRecord(record: Row, taken: Taken): RawRecord {
  const patch = foldRow(record, taken);
  const rowsIn: Record<string, readonly Row[]> = {};
  for (const list of record.lists) {
    const { hero, order } = Object.groupBy(taken.get(list) ?? [], ({ column }) =>
      column === HERO ? 'hero' : 'order',
    );
    if (hero !== undefined) patch.hero_photo_id = hero[0]?.theirs || null;
    const rows = order ? list.rows.filter((row) => !row.isRemoved) : list.kept;
    if (order === undefined && !rows.some((row) => taken.has(row))) continue;
    const { field } = LISTS[list.sheet];
    patch[field] = foldList(list, rows, taken);
    rowsIn[field] = rows;
  }
  const { name, isUnlisted } = record;
  return { name: withRows(name, rowsIn), value: patch, isUnlisted };
}

/** The entries of a list: those of the file if the list is taken, else the stored ones. */
function foldList({ sheet, kept }: List, rows: readonly Row[], taken: Taken): Patch[] {
  const { order } = LISTS[sheet];
  const entries = rows.map((row): Patch => {
    const patch = foldRow(row, taken);
    const record = row.stored?.record ?? {};
    if (sheet === 'features') return mergeRecord(record, patch, FEATURE);
    const number = rows === kept ? undefined : row.value[order];
    // An editor may write 1.5.
    return { ...patch, [order]: typeof number === 'number' ? Math.floor(number) : record[order] };
  });
  const places = entries.map(deriveId);
  const isInOrder = places.every(
    (each, at) => compareEntries(order, places[at - 1] ?? each, each) <= 0,
  );
  if (!isInOrder) numberInOrder(entries, order);
  return entries;
}

/** The cells of an entry are in its own row, e.g. `photos.3.alt.en` in `photos!E12`. */
function withRows(name: RecordName, rows: Record<string, readonly Row[]>): RecordName {
  const cellAt: RecordName['cellAt'] = (path) => {
    const [field = '', index, ...rest] = path.split('.');
    const entry = rows[field]?.[Number(index ?? 0)]?.name;
    const found = entry ? entry.cellAt?.(rest.join('.')) : name.cellAt?.(path);
    return found ?? { cell: (entry ?? name).place, column: '' };
  };
  return { ...name, cellAt };
}
