/** Detects columns that were sorted or shifted without the rest of their rows. */

import { type Column, fieldPath } from '../read/columns.ts';
import type { ImportProblem } from '../read/problem.ts';
import { findMovedValues } from '../read/sorted-alone.ts';
import type { Value } from './decide.ts';

/** Finds the columns that were sorted or shifted on their own. */
export function findSortedColumns(changes: readonly Value[]): ImportProblem[] {
  const candidates = changes.filter(({ column, ours }) => ours !== undefined && isDistinct(column));
  const byColumn = Map.groupBy(candidates, ({ column }) => column);
  return [...byColumn].flatMap(([column, cells]): ImportProblem[] => {
    const moved = findMovedValues(cells);
    const [first] = moved;
    if (first === undefined) return [];
    const filled = cells.filter(({ theirs }) => theirs !== '').length;
    const message = `has the value of another row, as do ${moved.length} of the ${filled} changed cells in this column: the column seems to have been sorted or shifted on its own. Use --many to import it`;
    return [{ location: first.location, path: fieldPath(column), message }];
  });
}

/** Whether equal values in two rows are unlikely. */
function isDistinct({ kind, field }: Column): boolean {
  return (kind === 'text' || kind === 'number') && field !== 'display_order';
}
