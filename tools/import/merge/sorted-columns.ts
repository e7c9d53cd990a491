/** Detects columns that were sorted or shifted without the rest of their rows. */

import { type Column, fieldPath } from '../read/columns.ts';
import { hashText } from '../read/marks.ts';
import type { ImportProblem } from '../read/problem.ts';
import { findMovedValues } from '../read/sorted-alone.ts';
import type { Value } from './values.ts';

const EMPTY = hashText('');

export function findSortedColumns(changes: readonly Value[]): ImportProblem[] {
  const candidates = changes.flatMap((value) => {
    const isCandidate =
      value.kind === 'cell' && value.row.stored !== undefined && isDistinct(value.column);
    if (!isCandidate) return [];
    const { file, store } = value.hashes;
    return [{ ...value, current: file === EMPTY ? '' : file, previous: store }];
  });
  const byColumn = Map.groupBy(candidates, ({ column }) => column);
  return [...byColumn].flatMap(([column, cells]): ImportProblem[] => {
    const moved = findMovedValues(cells);
    const [first] = moved;
    if (first === undefined) return [];
    const filled = cells.filter(({ current }) => current !== '').length;
    const message = `has the value of another row, as do ${moved.length} of the ${filled} changed cells in this column. The column seems to have been sorted or shifted on its own`;
    const hint = 'Sort all columns together, or use --many to import the file.';
    return [{ location: first.location, path: fieldPath(column), message, hint }];
  });
}

/** Whether two rows rarely have the same value in this column. */
function isDistinct({ kind, field }: Column): boolean {
  return (kind === 'text' || kind === 'number') && field !== 'display_order';
}
