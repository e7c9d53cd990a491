/** Describes the values that a merge does not apply. */

import { formatCount } from '../../command-line/plurals.ts';
import {
  type Author,
  findLastChange,
  formatLastChange,
  isBySomebodyElse,
} from '../catalogue/last-change.ts';
import type { Catalogue } from '../catalogue/store.ts';
import type { List } from '../match/match.ts';
import { getEntryName } from '../match/stored-rows.ts';
import { formatContent, hashDatabase, hashText } from '../read/marks.ts';
import { findCell, type ImportProblem, THE_FILE } from '../read/problem.ts';
import {
  formatSubject,
  getBaseEntries,
  getHistory,
  getMarkedRow,
  quoteValue,
  type Value,
} from './values.ts';

export const EXPORT_AGAIN =
  'Export the catalogue again and repeat the change there, or use --overwrite to replace what is stored.';

/** e.g. `casa-marea price_from 298000 (289000 in your export)` */
export function describeKept(value: Value): string {
  const { file, store } = quoteValue(value);
  const isExported = getHistory(value).exported?.get(value.name) === value.hashes.file;
  const source = isExported ? 'your export' : 'an earlier import';
  return `${formatSubject(value)} ${store} (${file} in ${source})`;
}

/** e.g. `casa-marea: price_from 298000 → 275000` */
export function describeRejected(value: Value): string {
  const { file, store } = quoteValue(value);
  const { stored } = getMarkedRow(value);
  return `${stored?.label}: ${value.name} ${store} → ${file}`;
}

/** e.g. `has changed since your export: the store has 298000, your file has 275000. The stored …` */
export function describeConflict(
  value: Value,
  catalogue: Catalogue,
  author: Author,
): ImportProblem {
  const { location, path } = value;
  const message = [describeChange(value), describeAuthor(value, catalogue, author)];
  return { location, path, message: message.filter(Boolean).join('. '), remedy: EXPORT_AGAIN };
}

function describeChange(value: Value): string {
  const { file, store } = quoteValue(value);
  if (value.kind === 'missing') return `is ${file}, an entry that has changed since your export`;
  const changes = value.kind === 'order' ? listChanges(value.list) : [];
  return changes.length > 0
    ? `has changed in the store too: ${formatAll(changes)} since your export`
    : `has changed since your export: the store has ${store}, your file has ${file}`;
}

const MAX_NAMES = 3;

/** e.g. `['2.jpg was added', '3.jpg and 4.jpg were changed', '1 row was removed']` */
function listChanges(list: List): string[] {
  const { sheet, storedRows } = list;
  const baseEntries = getBaseEntries(list);
  if (baseEntries === undefined) return [];
  const nameRows = (verb: string, rows: typeof storedRows): string[] => {
    const names = rows.map(({ stored }) => getEntryName(sheet, stored?.record ?? {}));
    if (names.length === 0) return [];
    const firstNames = names.slice(0, MAX_NAMES);
    const more = names.length - firstNames.length;
    const all = more > 0 ? [...firstNames, `${more} more`] : firstNames;
    return [`${formatAll(all)} ${names.length === 1 ? 'was' : 'were'} ${verb}`];
  };
  const isChanged = ({ key, stored }: (typeof storedRows)[number]) =>
    baseEntries.has(key) &&
    baseEntries.get(key) !== hashText(formatContent(sheet, stored?.record ?? {}));
  const storedKeys = new Set(storedRows.map(({ key }) => key));
  const removed = [...baseEntries.keys()].filter((key) => !storedKeys.has(key)).length;
  const verb = removed === 1 ? 'was' : 'were';
  return [
    ...nameRows(
      'added',
      storedRows.filter(({ key }) => !baseEntries.has(key)),
    ),
    ...nameRows('changed', storedRows.filter(isChanged)),
    ...(removed === 0 ? [] : [`${formatCount(removed, 'row')} ${verb} removed`]),
  ];
}

/** e.g. `a, b and c` */
function formatAll(items: readonly string[]): string {
  return items.length < 2 ? items.join() : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

/** Names who changed the stored value. Returns `''` if it was the editor's own import. */
function describeAuthor(value: Value, catalogue: Catalogue, author: Author): string {
  const { name, hashes } = value;
  const { importedByOthers } = getHistory(value);
  // Only imports of the same export record single values.
  if (hashes.others.includes(hashes.store) && value.kind !== 'missing') {
    const { operation } =
      importedByOthers.find(({ mark }) => mark.get(name) === hashes.store) ?? {};
    return `The stored value was imported ${formatLastChange(operation)}`;
  }
  const operation = findLastChange(catalogue, getMarkedRow(value).recordKey);
  if (operation !== undefined && !isBySomebodyElse(operation, author)) return '';
  return `The record was last changed ${formatLastChange(operation)}`;
}

/** Describes all values without a base in one problem of the whole file. */
export function describeUnknown(values: readonly Value[], catalogue: Catalogue): ImportProblem[] {
  const [first] = values;
  if (first === undefined) return [];
  const database = hashDatabase(catalogue);
  const isFromElsewhere = values.some((value) => {
    return (getHistory(value).exported?.get('database') ?? database) !== database;
  });
  const reason = isFromElsewhere
    ? 'was exported from another database, or before this one was restored'
    : 'has rows whose hidden cells are lost, so that an import cannot tell which cells you edited';
  const { file, store } = quoteValue(first);
  const cell = findCell(first.location, first.path)?.cell ?? first.location.position;
  const verb = values.length === 1 ? 'differs' : 'differ';
  const difference = `${formatCount(values.length, 'cell')} ${verb} from the store, first ${cell}: ${first.name} ${store} → ${file}`;
  const message = `${reason}. ${difference}`;
  return [{ location: THE_FILE, path: '', message, remedy: EXPORT_AGAIN }];
}
