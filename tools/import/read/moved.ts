/** Finds cells that were sorted or shifted without the rest of their rows. Pure. */

import { UserError } from '../../command-line/user-error.ts';
import { readAs } from './cells.ts';
import { type Column, cellsOf, pathOf, type SheetName, valueIn } from './columns.ts';
import type { Value } from './decide.ts';
import { hashText, hasMarks, parseMarks } from './marks.ts';
import type { ImportProblem } from './problem.ts';
import type { SheetRow } from './types.ts';

/** A column was moved alone if this share of its changed cells have values of other rows. */
const MOVED_SHARE = 0.9;
const MIN_MOVED = 3;

type Change = Pick<Value, 'theirs' | 'ours'>;

/** Returns the changed values that other rows had before, if the values were moved. */
function findMoved<T extends Change>(changed: readonly T[]): T[] {
  const filled = changed.filter(({ theirs }) => theirs !== '');
  const former = new Set(changed.map(({ ours }) => ours));
  const moved = filled.filter(({ theirs }) => former.has(theirs));
  const isMoved = moved.length >= MIN_MOVED && moved.length >= MOVED_SHARE * filled.length;
  return isMoved ? moved : [];
}

/** Finds the columns that were sorted or shifted alone. */
export function findMovedColumns(changed: readonly Value[]): ImportProblem[] {
  const movable = changed.filter(({ column, ours }) => ours !== undefined && canBeMoved(column));
  const columns = Map.groupBy(movable, ({ column }) => column);
  return [...columns].flatMap(([column, cells]): ImportProblem[] => {
    const moved = findMoved(cells);
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

/** The first columns distinguish rows. */
const SORTED_COLUMNS = 3;

/** The marks of a row stay in their place when only the visible columns are sorted. */
export function rejectSorted(sheet: SheetName, rows: readonly SheetRow[]): void {
  const columns = cellsOf(sheet)
    .filter((column) => valueIn(rows[0]?.value ?? {}, column) !== undefined)
    .slice(0, SORTED_COLUMNS);
  const changed = rows.flatMap(({ value, asOf }): Change[] => {
    const marks = parseMarks(asOf);
    const theirs = columns.map((column) => hashText(readAs(column, value))).join(' ');
    const ours = columns.map(({ name }) => marks(name)).join(' ');
    return hasMarks(marks) && theirs !== ours ? [{ theirs, ours }] : [];
  });
  if (findMoved(changed).length === 0) return;
  throw new UserError(
    `the visible columns of the sheet ${sheet} were sorted without the hidden ones: undo that, and sort all columns together`,
  );
}
