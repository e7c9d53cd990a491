/**
 * Lists the values of a workbook that can differ from the store. Each has an outcome of its own:
 *
 *     cell      a cell of a row, e.g. price_from
 *     order     the entries of a list, and their order
 *     hero      the hero photo of a listing
 *     missing   a stored entry of a list that has no row in the workbook
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
  /** Name of the value's hash in a row mark, e.g. `price_from`, `photos`. */
  name: string;
  /** Path in the record, e.g. `title.en`, `unique_features`. */
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

/** Lists the cells of a row, unless its record was removed from the store. */
function listCells(row: Row): Value[] {
  return row.isRemoved ? [] : listRowValues(row);
}

/** Lists the cells of a row whose text differs from the stored value. */
export function listRowValues(row: Row): Value[] {
  const { sheet, location, cells, stored, history } = row;
  const record = stored?.record ?? {};
  // A renamed location is still the same location.
  const { location_id } = cells;
  const isSameLocation = location_id !== undefined && location_id === record.location_id;
  return dataColumns(sheet).flatMap((column): Value[] => {
    const cell = getValue(cells, column);
    // Most cells are equal, so the faster comparison comes first.
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
  // A removed row changes the order, too.
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

/** Lists the stored entries that have no row, except entries that were added after the export. */
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

/** Returns the base of a list: the hash of each entry's content by the entry's key. */
export function getBaseEntries({ sheet, history }: List): ReadonlyMap<string, string> | undefined {
  return parseEntryHashes(getBaseHash(history, `${sheet}.rows`));
}

/** Returns a value's hashes in the base and in the imports of other people. */
function findHashes(history: History, name: string): Pick<Hashes, 'base' | 'others'> {
  // A column that did not exist at the export counts as empty in it.
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

/** Returns the id of the hero photo, or `''` if no row is marked. */
export function getHeroId(rows: readonly Row[]): string {
  const heroRow = rows.find(isHero);
  return heroRow === undefined ? '' : `${getId(heroRow)}`;
}

/**
 * Returns the row whose mark contains the value. The mark of a listing contains the values of its
 * lists.
 */
export function getMarkedRow(value: Value): Row {
  return value.kind === 'cell' ? value.row : value.list.listing;
}

/** Returns the import history of the row or list to which the value belongs. */
export function getHistory(value: Value): History {
  return value.kind === 'cell' ? value.row.history : value.list.history;
}

/** e.g. `casa-marea price_from` */
export function formatSubject(value: Value): string {
  return `${getMarkedRow(value).stored?.label} ${value.name}`;
}

/** Returns a value as the report shows it, in the file and in the store. */
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
