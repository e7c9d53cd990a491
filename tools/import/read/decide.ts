/** The values of a workbook, the decision about each, and what the report says of it. Pure. */

import { quote } from '../../command-line/printable.ts';
import { formatOperation, type Operation } from '../../database/operations.ts';
import { readAs, showCell } from './cells.ts';
import { type Column, cellsOf, HERO, LISTS, valueIn } from './columns.ts';
import { contentOf, hashText, parseEntries } from './marks.ts';
import { idOf, type List, type Row } from './match.ts';
import { counted, type ImportProblem, type RecordName, THE_FILE } from './problem.ts';

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
    const [theirs, ours] = [readAs(column, cells), stored && readAs(column, record)];
    const shown = [formatCell(column, cells), formatCell(column, record)] as const;
    return [{ row, column, place, ...findSaid(row, column.name), theirs, ours, shown }];
  });
}

/** What somebody else's file has as the export has shown it is not said. */
function findSaid({ base, others, shown }: Row, name: string): Pick<Value, 'base' | 'said'> {
  const said = others.flatMap(({ marks, operation }) => {
    const hash = marks(name);
    return hash === undefined || hash === shown?.(name) ? [] : [{ hash, operation }];
  });
  // A column that the export did not have has shown nothing.
  return { base: base && (base(name) ?? hashText('')), said };
}

export function valuesOfList(list: List): Value[] {
  const { sheet, stored, base, rows, kept } = list;
  const keysOf = (all: readonly Row[]) => all.map(({ key }) => key).join(' ');
  const count = counted(rows.length, 'row');
  const others = counted(kept.length, 'row');
  const column = { name: sheet, field: LISTS[sheet].field, kind: 'word' } as const;
  const order: Value = {
    row: list,
    column,
    place: (rows[0] ?? list).name,
    ...findSaid(list, sheet),
    theirs: keysOf(rows),
    ours: stored && keysOf(kept),
    shown: [count, count === others ? `${kept.length} other rows` : others],
  };
  const entries = parseEntries(base?.(`${sheet}.rows`));
  const isTouched = hashText(order.theirs) !== order.base;
  const removed = kept.flatMap(({ isUnlisted, stored: entry, key }): Value[] => {
    // An entry that somebody has added since stays, or the order is a conflict.
    if (!isUnlisted || entry === undefined || !isTouched) return [];
    if (entries !== undefined && !entries.has(key)) return [];
    const shown = [`without ${entry.label}`, 'an entry with other cells'] as const;
    const ours = contentOf(sheet, entry.record);
    const removal = {
      row: list,
      column,
      place: list.name,
      said: [],
      theirs: '',
      ours,
      shown,
    };
    return [{ ...removal, base: entries?.get(key) }];
  });
  if (!hasHero(rows)) return [order, ...removed];
  const hero = rows.find(isHero);
  const ourId = stored?.record.hero_photo_id;
  const address = kept.find((row) => idOf(row) === ourId)?.stored?.record.url;
  const value: Value = {
    row: list,
    column: HERO,
    place: (hero ?? list).name,
    ...findSaid(list, HERO.name),
    theirs: heroOf(rows),
    ours: stored && `${ourId ?? ''}`,
    shown: [`${hero?.value.url ?? 'none'}`, `${address ?? 'none'}`],
  };
  return [order, value, ...removed];
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
  const isShown = row.shown?.(column.name) === hashText(theirs);
  const before = isShown ? 'as in its export' : 'as it was imported before';
  return `${row.stored?.label} ${column.name} ${stays}, the file has ${has} ${before}`;
}

/** The remedy of a conflict. */
export const EXPORT_AGAIN =
  'Export the catalogue again, and repeat the change there. --overwrite replaces what is stored.';

/** Names who has written the stored value only if an import has said it. */
export function describeConflict({ row, column, place, said, ours = '', shown }: Value) {
  const author = said.find(({ hash }) => hash === hashText(ours));
  const last = formatLastChange(row.stored?.lastChange);
  const by = author
    ? `as imported ${formatLastChange(author.operation)}`
    : `changed since the export. The last change of the record was ${last}`;
  const sentence = `${shown[0]} is ${shown[1]} in the store now, ${by}`;
  return { record: place, path: pathOf(column), sentence, remedy: EXPORT_AGAIN };
}

/** Cells of which nobody knows whether an editor has changed them are one problem of the file. */
export function describeUnknown(values: readonly Value[], database: string): ImportProblem[] {
  const [first] = values;
  if (first === undefined) return [];
  const { column, place, shown } = first;
  const isElsewhere = values.some(({ row }) => (row.shown?.('database') ?? database) !== database);
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

function pathOf({ field, locale }: Column): string {
  return locale === undefined ? field : `${field}.${locale}`;
}

/** A column was moved alone if this share of its changed cells have values of other rows. */
const MOVED_SHARE = 0.9;
const MIN_MOVED = 3;

/** Returns the changed values that other rows had before, if they were sorted or shifted. */
export function findShifted<T extends Pick<Value, 'theirs' | 'ours'>>(changed: readonly T[]): T[] {
  const filled = changed.filter(({ theirs }) => theirs !== '');
  const former = new Set(changed.map(({ ours }) => ours));
  const moved = filled.filter(({ theirs }) => former.has(theirs));
  const isShifted = moved.length >= MIN_MOVED && moved.length >= MOVED_SHARE * filled.length;
  return isShifted ? moved : [];
}

/** Finds the columns that were sorted or shifted alone: their cells have the values of other rows. */
export function findMoved(changed: readonly Value[]): ImportProblem[] {
  const movable = changed.filter(({ column, ours }) => ours !== undefined && canBeMoved(column));
  const columns = Map.groupBy(movable, ({ column }) => column);
  return [...columns].flatMap(([column, cells]): ImportProblem[] => {
    const moved = findShifted(cells);
    const [first] = moved;
    if (first === undefined) return [];
    const filled = cells.filter(({ theirs }) => theirs !== '').length;
    const sentence = `has the value of another row, as ${moved.length} of the ${filled} changed cells of this column: it was sorted or shifted alone. --many imports it`;
    return [{ record: first.place, path: pathOf(column), sentence }];
  });
}

/** An order, word, boolean or reference may well be equal in two rows. */
function canBeMoved({ kind, field }: Column): boolean {
  return (kind === 'text' || kind === 'number') && field !== 'display_order';
}
