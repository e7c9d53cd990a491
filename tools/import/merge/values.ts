/**
 * The values of a workbook that can differ from the store, each of which is decided on its own:
 *
 *     cell      a cell of a row, e.g. price_from
 *     order     the rows of a list, and their order
 *     hero      the hero photo of a listing
 *     missing   a stored entry of a list that has no row
 */

import { formatCount } from '../../command-line/plurals.ts';
import { quote } from '../../command-line/printable.ts';
import type { Fields } from '../catalogue/records.ts';
import { getId } from '../match/assign.ts';
import { getBaseHash, type History, type Row } from '../match/history.ts';
import type { List, MatchedRecord } from '../match/match.ts';
import type { StoredRow } from '../match/stored-rows.ts';
import { displayedText, toCell } from '../read/cells.ts';
import { type Column, dataColumns, fieldPath, getValue, HERO, LISTS } from '../read/columns.ts';
import { formatContent, hashText, parseEntryHashes } from '../read/marks.ts';
import type { FileLocation } from '../read/problem.ts';
import type { Hashes } from './decide.ts';

type Subject =
  | { kind: 'cell'; row: Row; column: Column }
  | { kind: 'order'; list: List }
  | { kind: 'hero'; list: List; heroId: string }
  | { kind: 'missing'; list: List; entry: StoredRow };

export type Value = Subject & {
  /** The entry of a row mark that has its hash, e.g. `price_from`, `photos`. */
  name: string;
  /** The path of its problems in the record, e.g. `title.en`, `unique_features`. */
  path: string;
  location: FileLocation;
  hashes: Hashes;
};

/** Lists the values of a record that differ from the store. */
export function listValues({ row, lists }: MatchedRecord): Value[] {
  return [
    ...listCells(row),
    ...lists.flatMap(listListValues),
    ...lists.flatMap(({ rows }) => rows).flatMap(listCells),
  ];
}

/** A row whose record was removed from the store has no values to merge. */
function listCells(row: Row): Value[] {
  return row.isRemoved ? [] : listRowValues(row);
}

export function listRowValues(row: Row): Value[] {
  const { sheet, location, cells, stored, history } = row;
  const record = stored?.record ?? {};
  // The same location, which has been renamed in the workbook or in the store.
  const { location_id } = cells;
  const isSameLocation = location_id !== undefined && location_id === record.location_id;
  return dataColumns(sheet).flatMap((column): Value[] => {
    const cell = getValue(cells, column);
    // Most cells end here.
    if (cell === undefined || cell === getValue(record, column)) return [];
    if (column.field === 'location' && isSameLocation) return [];
    const [file, store] = [displayedText(column, cells), displayedText(column, record)];
    if (stored !== undefined && file === store) return [];
    const { name } = column;
    const storeHash = stored && hashText(store);
    const hashes = { ...findHashes(history, name), file: hashText(file), store: storeHash };
    return [{ kind: 'cell', row, column, name, path: fieldPath(column), location, hashes }];
  });
}

function listListValues(list: List): Value[] {
  const order = getOrder(list);
  const values = hasHeroColumn(list.rows) ? [order, getHero(list)] : [order];
  // Rows can only be missing from a list whose order has been edited.
  const isEdited = order.hashes.file !== order.hashes.base;
  return isEdited ? [...values, ...listMissingEntries(list)] : values;
}

function getOrder(list: List): Value {
  const { sheet, listing, rows, storedRows, history } = list;
  const hashKeys = (keyedRows: readonly Row[]) =>
    hashText(keyedRows.map(({ key }) => key).join(' '));
  const store = listing.stored && hashKeys(storedRows);
  const hashes = { ...findHashes(history, sheet), file: hashKeys(rows), store };
  const location = (rows[0] ?? list).location;
  return { kind: 'order', list, name: sheet, path: LISTS[sheet].field, location, hashes };
}

function getHero(list: List): Value {
  const { listing, rows, history } = list;
  const heroId = getHeroId(rows);
  const store = listing.stored && hashText(`${listing.stored.record.hero_photo_id ?? ''}`);
  const hashes = { ...findHashes(history, HERO.name), file: hashText(heroId), store };
  const location = (rows.find(isHero) ?? list).location;
  return { kind: 'hero', list, heroId, name: HERO.name, path: HERO.field, location, hashes };
}

/** Lists the stored entries without a row, except those that were added after the export. */
function listMissingEntries(list: List): Value[] {
  const { sheet, location, history, storedRows } = list;
  const baseEntries = getBaseEntries(list);
  const others = history.importedByOthers.map(() => undefined);
  return storedRows.flatMap(({ isAbsent, stored: entry, key }): Value[] => {
    if (!isAbsent || entry === undefined || baseEntries?.has(key) === false) return [];
    const store = hashText(formatContent(sheet, entry.record));
    const hashes = { base: baseEntries?.get(key), others, file: hashText(''), store };
    const path = LISTS[sheet].field;
    return [{ kind: 'missing', list, entry, name: sheet, path, location, hashes }];
  });
}

/** Returns the hash of each entry's content in the base of a list, by the entry's key. */
export function getBaseEntries({ sheet, history }: List): ReadonlyMap<string, string> | undefined {
  return parseEntryHashes(getBaseHash(history, `${sheet}.rows`));
}

/** Finds the hashes of a value in the base and in other people's imports. */
function findHashes(history: History, name: string): Pick<Hashes, 'base' | 'others'> {
  // A column that the export did not have was empty in it.
  const hash = getBaseHash(history, name) ?? hashText('');
  const others = history.importedByOthers.map(({ mark }) => {
    const imported = mark.get(name);
    return imported === history.exported?.get(name) ? undefined : imported;
  });
  return { base: history.base.length > 0 ? hash : undefined, others };
}

export function isHero({ cells }: Row): boolean {
  return cells[HERO.field] === true;
}

export function hasHeroColumn(rows: readonly Row[]): boolean {
  return rows.some(({ cells }) => HERO.field in cells);
}

/** Returns the id of the hero photo, or `''`. */
export function getHeroId(rows: readonly Row[]): string {
  const heroRow = rows.find(isHero);
  return heroRow === undefined ? '' : `${getId(heroRow)}`;
}

/** Returns the row whose mark has the value: the row of a cell, or the row of the listing. */
export function getMarkedRow(value: Value): Row {
  return value.kind === 'cell' ? value.row : value.list.listing;
}

/** Returns the history in which the value was compared. */
export function getHistory(value: Value): History {
  return value.kind === 'cell' ? value.row.history : value.list.history;
}

/** e.g. `casa-marea price_from` */
export function formatSubject(value: Value): string {
  return `${getMarkedRow(value).stored?.label} ${value.name}`;
}

/** Quotes a value in the file and in the store, e.g. `275000` and `298000`. */
export function quoteValue(value: Value): { file: string; store: string } {
  switch (value.kind) {
    case 'cell': {
      const { column, row } = value;
      const store = quoteCell(column, row.stored?.record ?? {});
      return { file: quoteCell(column, row.cells), store };
    }
    case 'order': {
      const { rows, storedRows } = value.list;
      const file = formatCount(rows.length, 'row');
      const store = formatCount(storedRows.length, 'row');
      return { file, store: file === store ? `${storedRows.length} other rows` : store };
    }
    case 'hero': {
      const { listing, rows, storedRows } = value.list;
      const storedId = listing.stored?.record.hero_photo_id;
      const storedUrl = storedRows.find((row) => getId(row) === storedId)?.stored?.record.url;
      const file = rows.find(isHero)?.cells.url ?? 'no photo';
      return { file: `${file}`, store: `${storedUrl ?? 'no photo'}` };
    }
    case 'missing':
      return { file: `without ${value.entry.label}`, store: `with ${value.entry.label}` };
  }
}

function quoteCell(column: Column, record: Fields): string {
  const cell = toCell(column, record);
  return cell === null ? 'no value' : quote(cell);
}
