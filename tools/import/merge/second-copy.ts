/**
 * Detects a second copy of an export, e.g. `catalogue (1).xlsx`. Where this person has imported edited
 * values from the first copy, the second copy still has the exported values. Importing it would take
 * the edits back:
 *
 *     exported   imported by you   second copy   store
 *     289000     275000            289000        275000    taken back
 *     listed     sold_out          listed        sold_out  taken back
 *                                  (no row)      2.jpg     an added row that the file does not have
 *
 * A single value may have been typed back on purpose, and so may several values of one record if the
 * file has no other edit. A copy that was saved between two imports is not detected, because it looks
 * as if its values had been typed back.
 */

import { formatOperation } from '../../database/operations.ts';
import type { Row } from '../match/history.ts';
import type { List, MatchedRecord } from '../match/match.ts';
import { displayedText } from '../read/cells.ts';
import { dataColumns, getValue, HERO } from '../read/columns.ts';
import { hashText, parseEntryHashes } from '../read/marks.ts';
import { type ImportProblem, THE_FILE } from '../read/problem.ts';
import { EXPORT_AGAIN } from './conflicts.ts';
import {
  formatSubject,
  getHeroId,
  getMarkedRow,
  hasHeroColumn,
  quoteValue,
  type Value,
} from './values.ts';

/**
 * Returns the applied values that are back at what was exported, although this person has imported
 * different values.
 */
export function findValuesPutBack(applied: readonly Value[]): Value[] {
  return applied.filter((value) => {
    const { previousImport, exported } = getMarkedRow(value).history;
    if (value.kind === 'missing' || previousImport?.mark.get(value.name) === undefined)
      return false;
    return value.hashes.file === (exported?.get(value.name) ?? hashText(''));
  });
}

/** e.g. `casa-marea price_from 275000 → 289000 (imported 2026-11-27 14:03 UTC by ana, …)` */
export function describePutBack(value: Value): string {
  const { file, store } = quoteValue(value);
  const operation = getMarkedRow(value).history.previousImport?.operation;
  const earlier = operation === undefined ? 'by you' : formatOperation(operation);
  return `${formatSubject(value)} ${store} → ${file} (imported ${earlier})`;
}

/** Returns one problem of the whole file if it is a second copy, otherwise `[]`. */
export function findSecondCopy(
  records: readonly MatchedRecord[],
  absentRows: readonly Row[],
  applied: readonly Value[],
): ImportProblem[] {
  const putBack = findValuesPutBack(applied);
  const addedRows = absentRows.filter(isAddedByOwnImport);
  const changes = [
    ...putBack.flatMap((value) =>
      Array.from(
        { length: countChanges(value) },
        () => `${formatSubject(value)} ${quoteValue(value).store}`,
      ),
    ),
    ...addedRows.map(({ stored }) => `${stored?.label} was added`),
  ];
  if (changes.length < 2 || records.some(hasOwnChange)) return [];
  const changedRows = [...putBack.map(getMarkedRow), ...addedRows];
  const changedRecords = new Set(changedRows.map(({ recordKey }) => recordKey));
  const isTypedBack =
    changedRecords.size === 1 &&
    applied.every((value) => value.kind === 'missing' || putBack.includes(value));
  if (isTypedBack) return [];
  const [first, second] = [changes[0], changes.find((change) => change !== changes[0])];
  const examples = [first, second].filter(Boolean).join(' and ');
  const message = `seems to be another copy of its export: it has none of the ${changes.length} changes that you have imported from it, such as ${examples}. Importing it would take them back`;
  return [{ location: THE_FILE, path: '', message, remedy: EXPORT_AGAIN }];
}

/**
 * Whether this person's previous import has added the record, which the export therefore did not
 * have.
 */
export function isAddedByOwnImport({ history: { previousImport } }: Row): boolean {
  return previousImport !== undefined && previousImport.mark.get('export') === undefined;
}

/**
 * Counts each row that the previous import added to a list as one change. A value of another kind is
 * one change too.
 */
function countChanges(value: Value): number {
  return value.kind === 'order' ? Math.max(1, listAddedKeys(value.list).length) : 1;
}

function listAddedKeys({ sheet, listing: { history } }: List): string[] {
  const name = `${sheet}.rows`;
  const imported = parseEntryHashes(history.previousImport?.mark.get(name)) ?? new Map();
  const exported = parseEntryHashes(history.exported?.get(name)) ?? new Map();
  return [...imported.keys()].filter((key) => !exported.has(key));
}

/** Whether the file still has a change that this person has imported. */
function hasOwnChange({ row, lists }: MatchedRecord): boolean {
  const rows = [row, ...lists.flatMap((list) => list.rows)];
  return rows.some(hasOwnCell) || lists.some(hasOwnListValue);
}

function hasOwnCell({ isAbsent, history, sheet, cells }: Row): boolean {
  const { previousImport, exported } = history;
  if (previousImport === undefined || isAbsent) return false;
  // The export does not have the row.
  if (exported === undefined) return true;
  return dataColumns(sheet).some((column) => {
    const exportedHash = exported.get(column.name) ?? hashText('');
    const isChanged = (previousImport.mark.get(column.name) ?? exportedHash) !== exportedHash;
    if (!isChanged || getValue(cells, column) === undefined) return false;
    return hashText(displayedText(column, cells)) !== exportedHash;
  });
}

function hasOwnListValue(list: List): boolean {
  const { sheet, listing, rows } = list;
  const { previousImport, exported } = listing.history;
  if (previousImport === undefined || exported === undefined) return false;
  const isChanged = (name: string, file: string) => {
    const exportedHash = exported.get(name);
    const imported = previousImport.mark.get(name);
    return imported !== undefined && imported !== exportedHash && hashText(file) !== exportedHash;
  };
  const order = rows.map(({ key }) => key).join(' ');
  return isChanged(sheet, order) || (hasHeroColumn(rows) && isChanged(HERO.name, getHeroId(rows)));
}
