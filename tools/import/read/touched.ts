/**
 * Compares the values of a workbook with the store. Only touched cells count:
 *
 *     as stored       nothing to do
 *     as in its mark  untouched: the store keeps its value, which is newer. With --overwrite it
 *                     counts as touched
 *     else            touched. It conflicts if another import has changed the stored value since the
 *                     export
 *
 * A value without mark is touched if it is not as stored. Pure.
 */

import { quote } from '../../command-line/printable.ts';
import { formatOperation, type Operation } from '../../database/operations.ts';
import { asRead, showCell } from './cells.ts';
import { type Column, cellsOf, type SheetName } from './columns.ts';
import type { FoundRow, StoredRow } from './found-rows.ts';
import { isMap } from './listing-schemas.ts';
import { hashCell, isMarked, type Marks } from './marks.ts';
import type { ImportProblem, RecordName } from './problem.ts';
import type { Patch } from './records.ts';

type Value = {
  column: string;
  written: string;
  stored: string;
  /** Both as the report shows them. */
  shown: readonly [written: string, stored: string];
  record: RecordName;
  path: string;
};

/** A column was moved alone if this share of its touched cells have values of other rows. */
const MOVED_SHARE = 0.9;
const MIN_MOVED = 3;

export type Touches = ReturnType<typeof trackTouches>;

export function trackTouches(exportId: string | undefined, overwrite: boolean) {
  const newer: string[] = [];
  const conflicts: ImportProblem[] = [];
  const movable: { key: string; value: Value }[] = [];

  function isTouched(value: Value, old: StoredRow, marks: Marks | undefined): boolean {
    const { column, written, stored, record, path } = value;
    if (written === stored) return false;
    if (marks === undefined) return true;
    const { lastChange } = old;
    const isOwnChange = exportId !== undefined && lastChange?.export_id === exportId;
    const [shown, now] = value.shown;
    if (!overwrite && isMarked(marks, hashCell(column, written))) {
      const by = lastChange && ` (${formatDay(lastChange.at)}, ${lastChange.who})`;
      newer.push(`${old.name} ${column} ${now}${by ?? ''}, the file has ${shown} as in its export`);
      return false;
    }
    if (!isOwnChange && !isMarked(marks, hashCell(column, stored))) {
      const by = formatLastChange(lastChange);
      const sentence = `${shown} is ${now} in the store now, changed ${by}`;
      conflicts.push({ record, path, sentence, remedy: EXPORT_AGAIN });
    }
    return true;
  }

  return {
    newer,
    conflicts,
    isTouched,
    /** Returns the touched cells of a row as a patch of its record. */
    takeCells(sheet: SheetName, { name: record, value: row, old, marks }: FoundRow): Patch {
      const patch: Patch = old === undefined && row.id !== undefined ? { id: row.id } : {};
      for (const column of cellsOf(sheet)) {
        const { field, locale } = column;
        const own = row[field];
        const cell = locale !== undefined && isMap(own) ? own[locale] : own;
        const before = old?.record[field];
        const isSame = cell === (locale !== undefined && isMap(before) ? before[locale] : before);
        if (cell === undefined || isSame) continue;
        // A new record has no field to empty, but a text without language.
        if (old === undefined && cell === null) {
          if (locale !== undefined) patch[field] ??= {};
          continue;
        }
        if (old !== undefined) {
          const value = compareCell(column, row, old.record, record);
          if (value === undefined || !isTouched(value, old, marks)) continue;
          if (canBeMoved(column)) movable.push({ key: `${sheet} ${column.name}`, value });
        }
        const texts = patch[field];
        patch[field] = locale === undefined ? cell : { ...(isMap(texts) && texts), [locale]: cell };
      }
      return patch;
    },
    /** Finds the columns that were sorted or shifted alone: their cells have values of other rows. */
    findMoved(): ImportProblem[] {
      const columns = Map.groupBy(movable, ({ key }) => key);
      return [...columns.values()].flatMap((cells): ImportProblem[] => {
        const values = cells.map(({ value }) => value);
        const filled = values.filter(({ written }) => written !== '');
        const former = new Set(values.map(({ stored }) => stored));
        const moved = filled.filter(({ written }) => former.has(written));
        const [first] = moved;
        if (first === undefined || moved.length < MIN_MOVED) return [];
        if (moved.length < MOVED_SHARE * filled.length) return [];
        const { record, path } = first;
        const sentence = `has the value of another row, as ${moved.length} of the ${filled.length} changed cells of this column: it was sorted or shifted alone. --many imports it`;
        return [{ record, path, sentence }];
      });
    },
  };
}

/** Returns both values of a cell, unless they are the same to its reader. */
function compareCell(column: Column, row: Patch, old: Patch, record: RecordName) {
  const cells = [showCell(column, row), showCell(column, old)] as const;
  const [written, stored] = [asRead(cells[0]), asRead(cells[1])];
  if (written === stored) return undefined;
  const { name, field, locale } = column;
  const path = locale === undefined ? field : `${field}.${locale}`;
  const shown = [formatShown(cells[0]), formatShown(cells[1])] as const;
  return { column: name, written, stored, shown, record, path };
}

/** The remedy of a conflict. */
export const EXPORT_AGAIN =
  'Export the catalogue again, and repeat the change there. --overwrite replaces what is stored.';

/** e.g. `2026-11-27 14:03 UTC by ana, import-listings catalogue.xlsx (7c1d2c0e-…)` */
export function formatLastChange(operation: Operation | undefined): string {
  if (operation === undefined) return 'by an unknown operation';
  return `${formatOperation(operation)} (${operation.id})`;
}

/** e.g. `21 Nov` */
function formatDay(at: number): string {
  return new Date(at).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    timeZone: 'UTC',
  });
}

function formatShown(cell: ReturnType<typeof showCell>): string {
  return cell === null ? 'none' : quote(cell);
}

/** An order, word, boolean or reference may well be equal in two rows. */
function canBeMoved({ kind, field }: Column): boolean {
  return (kind === 'text' || kind === 'number') && field !== 'display_order';
}

/** Whether a row has a cell that the marks do not show. */
export function differsFromMarks(sheet: SheetName, row: Patch, marks: Marks): boolean {
  return cellsOf(sheet).some((column) => {
    const own = row[column.field];
    const isThere =
      column.locale === undefined ? own !== undefined : isMap(own) && column.locale in own;
    return isThere && !isMarked(marks, hashCell(column.name, asRead(showCell(column, row))));
  });
}
