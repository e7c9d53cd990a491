/**
 * Detects cells that were sorted or shifted without the rest of their rows. In this example, an editor
 * has sorted only the column of prices:
 *
 *     listing       in the store   in the workbook
 *     casa-marea    289000         120000          the value of casa-pins
 *     casa-pins     120000         289000          the value of casa-marea
 */

import { UserError } from '../../command-line/user-error.ts';
import type { Fields } from '../catalogue/records.ts';
import { displayedText } from './cells.ts';
import { dataColumns, getValue, type SheetName } from './columns.ts';
import { hashText, RowMark } from './marks.ts';

/** Share of the changed cells that must contain a value of another row. */
const MIN_MOVED_SHARE = 0.9;
const MIN_MOVED_CELLS = 3;

type Row = { cells: Fields; markCell: unknown };
type Change = { current: string; previous: string | undefined };

/**
 * Returns the changes that put the former value of another row into a cell. Returns an empty array unless they make up most of the changes.
 */
export function findMovedValues<T extends Change>(changes: readonly T[]): T[] {
  const filled = changes.filter(({ current }) => current !== '');
  const previousValues = new Set(changes.map(({ previous }) => previous));
  const moved = filled.filter(({ current }) => previousValues.has(current));
  const isMost = moved.length >= MIN_MOVED_SHARE * filled.length;
  return moved.length >= MIN_MOVED_CELLS && isMost ? moved : [];
}

/** Number of columns to compare, which is enough to tell rows apart. */
const COMPARED_COLUMNS = 3;

/**
 * Throws a `UserError` if a sheet's visible columns were sorted without the hidden marks, which
 * then belong to different rows.
 */
export function rejectPartialSort(sheet: SheetName, rows: readonly Row[]): void {
  const columns = dataColumns(sheet)
    .filter((column) => getValue(rows[0]?.cells ?? {}, column) !== undefined)
    .slice(0, COMPARED_COLUMNS);
  const changes = rows.flatMap(({ cells, markCell }): Change[] => {
    const mark = RowMark.parse(markCell);
    if (mark === undefined) return [];
    const current = columns.map((column) => hashText(displayedText(column, cells))).join(' ');
    const previous = columns.map(({ name }) => mark.get(name)).join(' ');
    return current === previous ? [] : [{ current, previous }];
  });
  if (findMovedValues(changes).length === 0) return;
  throw new UserError(
    `the sheet ${sheet} was sorted without its hidden columns: undo that, and sort all columns together`,
  );
}
