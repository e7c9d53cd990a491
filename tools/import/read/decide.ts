/** The values of a workbook, the decision about each, and what the report says of it. Pure. */

import { quote } from '../../command-line/printable.ts';
import { counted } from '../../command-line/words.ts';
import { formatOperation, type Operation } from '../../database/operations.ts';
import type { List, Row } from './base.ts';
import { readAs, showCell } from './cells.ts';
import { type Column, cellsOf, HERO, LISTS, type ListName, pathOf, valueIn } from './columns.ts';
import { idOf } from './find-records.ts';
import { contentOf, hashDatabase, hashText, hasMarks, parseEntries } from './marks.ts';
import { type ImportProblem, type RecordName, THE_FILE } from './problem.ts';
import { type Catalogue, findLastChange } from './store.ts';

/** A cell of a row. A list has others: the order of its rows, the hero photo, and what it removes. */
export type Value = {
  row: Row;
  column: Column;
  place: RecordName;
  /** The hash of what this person has seen or said. Undefined if nothing is known of it. */
  base: string | undefined;
  /** The hashes of what other people's imports of the export have said, by their operation. */
  said: readonly { hash: string; operation: Operation | undefined }[];
  /** What the workbook has. */
  theirs: string;
  /** What the store has. Undefined for a new record. */
  ours: string | undefined;
  /** Both in words, for the report. */
  shown: readonly [theirs: string, ours: string];
};

/**
 * `same`: nothing to do. `take`: the editor alone has changed the value. `keep`: the editor has not,
 * or has it from another one, and the store has a newer one. `conflict`: both have changed it.
 * `unknown`: nothing says whether the editor has.
 */
export type Outcome = 'same' | 'take' | 'keep' | 'conflict' | 'unknown';

export function decide(value: Value, isExport: boolean): Outcome {
  const { row, base, theirs, ours } = value;
  if (theirs === ours) return 'same';
  if (ours === undefined || !isExport) return 'take';
  if (isRepeated(value)) return 'keep';
  if (hashText(ours) === base) return 'take';
  return base === undefined && row.others.length === 0 ? 'unknown' : 'conflict';
}

/** Whether the value is as it was shown, or as an import has said it. */
export function isRepeated({ base, said, theirs }: Value): boolean {
  const own = hashText(theirs);
  return own === base || said.some(({ hash }) => hash === own);
}

export function valuesOfRow(row: Row): Value[] {
  const { sheet, name: place, value: cells, stored } = row;
  return cellsOf(sheet).flatMap((column): Value[] => {
    const cell = valueIn(cells, column);
    const record = stored?.record ?? {};
    // Most cells are as stored. A location may have another slug.
    if (cell === undefined || cell === valueIn(record, column)) return [];
    const { location_id } = cells;
    const isSame = location_id !== undefined && location_id === record.location_id;
    if (column.field === 'location' && isSame) return [];
    return [
      {
        ...findSaid(row, column),
        place,
        theirs: readAs(column, cells),
        ours: stored && readAs(column, record),
        shown: [formatCell(column, cells), formatCell(column, record)],
      },
    ];
  });
}

/** What was shown and said of a column. What a file has as its export has shown it is not said. */
function findSaid(row: Row, column: Column) {
  const { name } = column;
  const said = row.others.flatMap(({ marks, operation }) => {
    const hash = marks(name);
    return hash === undefined || hash === row.shown(name) ? [] : [{ hash, operation }];
  });
  // A column that the export did not have has shown nothing.
  const base = hasMarks(row.base) ? (row.base(name) ?? hashText('')) : undefined;
  return { row, column, base, said };
}

export function valuesOfList(list: List): Value[] {
  const order = orderOf(list);
  const isTouched = hashText(order.theirs) !== order.base;
  const removed = isTouched ? removedFrom(list) : [];
  return [order, ...(hasHero(list.rows) ? [heroOfList(list)] : []), ...removed];
}

/** The rows of the list, in their order. */
function orderOf(list: List): Value {
  const { sheet, stored, rows, kept } = list;
  const keysOf = (all: readonly Row[]) => all.map(({ key }) => key).join(' ');
  const [count, others] = [counted(rows.length, 'row'), counted(kept.length, 'row')];
  return {
    ...findSaid(list, columnOf(sheet)),
    place: (rows[0] ?? list).name,
    theirs: keysOf(rows),
    ours: stored && keysOf(kept),
    shown: [count, count === others ? `${kept.length} other rows` : others],
  };
}

/** The entries that the file removes. One that somebody has added since stays. */
function removedFrom(list: List): Value[] {
  const { sheet, name: place, base, kept } = list;
  const entries = parseEntries(base(`${sheet}.rows`));
  return kept.flatMap(({ isUnlisted, stored, key }): Value[] => {
    if (!isUnlisted || stored === undefined || entries?.has(key) === false) return [];
    return [
      {
        row: list,
        column: columnOf(sheet),
        place,
        base: entries?.get(key),
        said: [],
        theirs: '',
        ours: contentOf(sheet, stored.record),
        shown: [`without ${stored.label}`, 'an entry with other cells'],
      },
    ];
  });
}

function heroOfList(list: List): Value {
  const { stored, rows, kept } = list;
  const hero = rows.find(isHero);
  const id = stored?.record.hero_photo_id;
  const address = kept.find((row) => idOf(row) === id)?.stored?.record.url;
  return {
    ...findSaid(list, HERO),
    place: (hero ?? list).name,
    theirs: heroOf(rows),
    ours: stored && `${id ?? ''}`,
    shown: [`${hero?.value.url ?? 'none'}`, `${address ?? 'none'}`],
  };
}

function columnOf(sheet: ListName): Column {
  return { name: sheet, field: LISTS[sheet].field, kind: 'word' };
}

export function isHero({ value }: Row): boolean {
  return value[HERO.field] === true;
}

/** Whether the sheet has the column. */
export function hasHero(rows: readonly Row[]): boolean {
  return rows.some(({ value }) => HERO.field in value);
}

/** Returns the id of the hero photo, or `''`. */
export function heroOf(rows: readonly Row[]): string {
  const hero = rows.find(isHero);
  return hero === undefined ? '' : `${idOf(hero)}`;
}

function formatCell(column: Column, record: Row['value']): string {
  const cell = showCell(column, record);
  return cell === null ? 'none' : quote(cell);
}

/** e.g. `casa-marea price_from 298000, the file has 289000 as in its export` */
export function formatNewer({ row, column, theirs, shown: [has, stays] }: Value): string {
  const isShown = row.shown(column.name) === hashText(theirs);
  const before = isShown ? 'as in its export' : 'as it was imported before';
  return `${row.stored?.label} ${column.name} ${stays}, the file has ${has} ${before}`;
}

/** The remedy of a conflict. */
export const EXPORT_AGAIN =
  'Export the catalogue again, and repeat the change there. --overwrite replaces what is stored.';

/** Names who has written the stored value only if an import has said it. */
export function describeConflict(
  { row, column, place, said, ours = '', shown }: Value,
  stored: Catalogue,
) {
  const author = said.find(({ hash }) => hash === hashText(ours));
  const last = formatLastChange(findLastChange(stored, row.record));
  const by = author
    ? `as imported ${formatLastChange(author.operation)}`
    : `changed since the export. The last change of the record was ${last}`;
  const sentence = `${shown[0]} is ${shown[1]} in the store now, ${by}`;
  return { record: place, path: pathOf(column), sentence, remedy: EXPORT_AGAIN };
}

/** Cells without a base, which an editor may have changed, are one problem of the file. */
export function describeUnknown(values: readonly Value[], stored: Catalogue): ImportProblem[] {
  const [first] = values;
  if (first === undefined) return [];
  const { column, place, shown } = first;
  const database = hashDatabase(stored);
  const isElsewhere = values.some(({ row }) => (row.shown('database') ?? database) !== database);
  const why = isElsewhere
    ? 'was exported from another database, or before this one was restored'
    : 'has rows that do not say what the export has shown in them: their hidden cells are lost';
  const cell = place.cellAt?.(pathOf(column)).cell ?? place.place;
  const would = `${counted(values.length, 'cell')} would change what is stored, first ${cell}: ${column.name} ${shown[1]} → ${shown[0]}`;
  return [{ record: THE_FILE, path: '', sentence: `${why}: ${would}`, remedy: EXPORT_AGAIN }];
}

/** e.g. `2026-11-27 14:03 UTC by ana, import-listings catalogue.xlsx (7c1d2c0e-…)` */
export function formatLastChange(operation: Operation | undefined): string {
  if (operation === undefined) return 'by an unknown operation';
  return `${formatOperation(operation)} (${operation.id})`;
}
