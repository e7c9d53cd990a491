/** The values of a workbook, the decision about each, and what the report says of it. Pure. */

import { quote } from '../../command-line/printable.ts';
import { formatOperation, type Operation } from '../../database/operations.ts';
import { readAs, showCell } from './cells.ts';
import { type Column, cellsOf, HERO, valueIn } from './columns.ts';
import { hashText } from './marks.ts';
import { idOf, type List, type Row } from './match.ts';
import { counted, type ImportProblem, type RecordName } from './problem.ts';

/** A cell of a row. A list as a whole has two values: the order of its rows, and the hero photo. */
export type Value = {
  row: Row;
  column: Column;
  place: RecordName;
  /** The hash of what the export has shown. Undefined without marks. */
  base: string | undefined;
  /** What the workbook has. */
  theirs: string;
  /** What the store has. Undefined for a new record. */
  ours: string | undefined;
  /** Both in words, for the report. */
  shown: readonly [theirs: string, ours: string];
};

/**
 * `same`: nothing to do. `keep`: the editor has not touched the value, and the store has a newer one.
 * `take`: the editor alone has changed it. `conflict`: so has another import.
 */
export type Outcome = 'same' | 'keep' | 'take' | 'conflict';

export function decide(
  { row, base, theirs, ours }: Value,
  exportId: string | undefined,
  overwrite: boolean,
): Outcome {
  if (theirs === ours) return 'same';
  if (base === undefined || ours === undefined) return 'take';
  if (hashText(theirs) === base && !overwrite) return 'keep';
  if (hashText(ours) === base) return 'take';
  // An editor corrects a workbook, and imports it again.
  const isOwnChange = exportId !== undefined && row.stored?.lastChange?.export_id === exportId;
  return isOwnChange ? 'take' : 'conflict';
}

export function valuesOfRow(row: Row): Value[] {
  const { sheet, name: place, value: cells, stored, marks } = row;
  return cellsOf(sheet).flatMap((column): Value[] => {
    const cell = valueIn(cells, column);
    const record = stored?.record ?? {};
    // Most cells are as stored.
    if (cell === undefined || cell === valueIn(record, column)) return [];
    const base = marks?.(column.name);
    const [theirs, ours] = [readAs(column, cells), stored && readAs(column, record)];
    const shown = [formatCell(column, cells), formatCell(column, record)] as const;
    return [{ row, column, place, base, theirs, ours, shown }];
  });
}

export function valuesOfList(list: List): Value[] {
  const { sheet: name, stored, marks, rows, kept } = list;
  const keys = rows.map((row, at) => row.stored?.key ?? row.marks?.('key') ?? `new ${at}`);
  const [count, others] = [counted(rows.length, 'row'), counted(kept.length, 'row')];
  const order: Value = {
    row: list,
    column: { name, field: name, kind: 'word' },
    place: list.name,
    base: marks?.(name),
    theirs: keys.join(' '),
    ours: kept.map((row) => row.stored?.key).join(' '),
    shown: [count, count === others ? `${kept.length} other rows` : others],
  };
  if (!rows.some(({ value }) => HERO.field in value)) return [order];
  const hero = rows.find(isHero);
  const [theirId, ourId] = [hero && idOf(hero), stored?.record.hero_photo_id];
  const ours = kept.find((row) => idOf(row) === ourId)?.stored?.record.url;
  const value: Value = {
    row: list,
    column: HERO,
    place: (hero ?? list).name,
    base: marks?.('hero'),
    theirs: `${theirId ?? ''}`,
    ours: `${ourId ?? ''}`,
    shown: [`${hero?.value.url ?? 'none'}`, `${ours ?? 'none'}`],
  };
  return [order, value];
}

export function isHero({ value }: Row): boolean {
  return value[HERO.field] === true;
}

function formatCell(column: Column, record: Row['value']): string {
  const cell = showCell(column, record);
  return cell === null ? 'none' : quote(cell);
}

/** e.g. `casa-marea price_from 298000 (21 Nov, ana), the file has 289000 as in its export` */
export function formatNewer({ row: { stored }, column, shown: [theirs, ours] }: Value): string {
  const { at, who } = stored?.lastChange ?? {};
  const by = at === undefined ? '' : ` (${formatDay(at)}, ${who})`;
  return `${stored?.label} ${column.name} ${ours}${by}, the file has ${theirs} as in its export`;
}

/** e.g. `21 Nov` */
function formatDay(at: number): string {
  return new Date(at).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
  });
}

/** The remedy of a conflict. */
export const EXPORT_AGAIN =
  'Export the catalogue again, and repeat the change there. --overwrite replaces what is stored.';

export function describeConflict({ row, column, place, shown: [theirs, ours] }: Value) {
  const by = formatLastChange(row.stored?.lastChange);
  const sentence = `${theirs} is ${ours} in the store now, changed ${by}`;
  return { record: place, path: pathOf(column), sentence, remedy: EXPORT_AGAIN };
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

/** Finds the columns that were sorted or shifted alone: their cells have the values of other rows. */
export function findMoved(changed: readonly Value[]): ImportProblem[] {
  const movable = changed.filter(({ column, ours }) => ours !== undefined && canBeMoved(column));
  const columns = Map.groupBy(movable, ({ column }) => column);
  return [...columns].flatMap(([column, cells]): ImportProblem[] => {
    const filled = cells.filter(({ theirs }) => theirs !== '');
    const former = new Set(cells.map(({ ours }) => ours));
    const moved = filled.filter(({ theirs }) => former.has(theirs));
    const [first] = moved;
    if (first === undefined || moved.length < MIN_MOVED) return [];
    if (moved.length < MOVED_SHARE * filled.length) return [];
    const sentence = `has the value of another row, as ${moved.length} of the ${filled.length} changed cells of this column: it was sorted or shifted alone. --many imports it`;
    return [{ record: first.place, path: pathOf(column), sentence }];
  });
}

/** An order, word, boolean or reference may well be equal in two rows. */
function canBeMoved({ kind, field }: Column): boolean {
  return (kind === 'text' || kind === 'number') && field !== 'display_order';
}
