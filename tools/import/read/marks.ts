/**
 * Stored records as the rows of an export, and the mark of each row in the hidden column `as of`: a
 * hash of what each cell shows. An import records the rows of a file in the same form. Pure.
 *
 *     m3 key:1f0c22ab export:9d21c0e7 database:40c1d2aa slug:0b5e8f10 hid:77de68da … m3
 */

import { hash } from 'node:crypto';
import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { readAs } from './cells.ts';
import { type Column, cellsOf, LISTS, type ListName, SHEETS } from './columns.ts';
import { isMap } from './listing-schemas.ts';
import { listOf, type Patch, toFileListing } from './records.ts';
import type { ListingsFile, Marks } from './types.ts';

const FORM = 'm3';

export type StoredRow = {
  /** A hash of the id, which identifies the row in its sheet. */
  key: string;
  /** As the row shows it. */
  record: Patch;
  /** In the report, e.g. `casa-marea`, `casa-marea 2.jpg`, `location bay`. */
  label: string;
};

export const NO_MARKS: Marks = () => undefined;

export function hasMarks(marks: Marks): boolean {
  return marks('key') !== undefined;
}

const DIGITS = 8;

export function hashText(text: string): string {
  return hash('sha1', text).slice(0, DIGITS);
}

/** Names a database. A restore or a rewind changes its generation. */
export function hashDatabase({ lineage, generation }: Record<'lineage' | 'generation', string>) {
  return hashText(`${lineage} ${generation}`);
}

/** Returns the cell `as of`. `others` have what the row says beside its cells. */
export function formatMarks(
  columns: readonly Column[],
  record: Patch,
  others: Readonly<Record<string, string>>,
): string {
  const cells = columns.map((column) => `${column.name}:${hashText(readAs(column, record))}`);
  const texts = Object.entries(others).map(([name, text]) => `${name}:${text}`);
  return [FORM, ...texts, ...cells, FORM].join(' ');
}

/** Another form, and marks that a program has cut, are none. */
export function parseMarks(cell: unknown): Marks {
  if (typeof cell !== 'string') return NO_MARKS;
  if (!cell.startsWith(`${FORM} `) || !cell.endsWith(` ${FORM}`)) return NO_MARKS;
  // Called for each cell of a long text: splitting it takes four times as long.
  return (name) => {
    const label = ` ${name}:`;
    const at = cell.indexOf(label);
    const start = at + label.length;
    return at === -1 ? undefined : cell.slice(start, cell.indexOf(' ', start));
  };
}

/** Returns a hash of the id of the export that a file was made from. Each row of a workbook has it. */
export function findExport({ exportId, sheets = {} }: ListingsFile): string | undefined {
  if (exportId !== undefined) return hashText(exportId);
  const rows = Object.values(sheets).flat();
  return rows.map(({ asOf }) => parseMarks(asOf)('export')).find((name) => name !== undefined);
}

export function rowOfListing(source: Source): StoredRow {
  const { id, slug, location } = source;
  const record = { ...toFileListing(source), location: location && (location.slug ?? location.id) };
  return { key: hashText(id), record, label: slug };
}

export function rowOfRecord(
  sheet: 'locations' | 'amenities',
  record: Location | Amenity,
): StoredRow {
  const id = 'id' in record ? record.id : record.slug;
  const label = `${SHEETS[sheet].kind} ${record.slug ?? id}`;
  return { key: hashText(id), record, label };
}

/** The rows of a list of a listing, in the order in which a site shows them. */
export function rowsOfList({ record: listing, label }: StoredRow, name: ListName): StoredRow[] {
  const { field, order } = LISTS[name];
  const [address] = SHEETS[name].keys;
  const entries = listOf(listing[field]).filter(isMap);
  entries.sort((a, b) => compareEntries(order, a, b));
  const keys = keysOfList(name, listing.id, entries);
  return entries.map((record, at): StoredRow => {
    const entry = `${label} ${`${record[address]}`.split('/').at(-1)}`;
    return { key: keys[at] ?? '', record, label: entry };
  });
}

/**
 * A feature has no id. The order of two with one icon distinguishes them, or the keys that they had
 * in an export.
 */
export function keysOfList(
  name: ListName,
  listing: unknown,
  entries: readonly Patch[],
  exported: readonly (string | undefined)[] = [],
): string[] {
  const used = new Set(exported);
  const counts = new Map<unknown, number>();
  const nextKey = (id: unknown): string => {
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    const key = hashText(`${name} ${listing} ${id} ${count}`);
    return used.has(key) ? nextKey(id) : key;
  };
  return entries.map(({ icon_slug, id = icon_slug }, at) => exported[at] ?? nextKey(id));
}

/** A site sorts by number, then by id. */
export function compareEntries(order: string, a: Patch, b: Patch): number {
  const [first, second] = [`${a.id ?? ''}`, `${b.id ?? ''}`];
  const byId = first < second ? -1 : Number(first > second);
  return Number(a[order] ?? 0) - Number(b[order] ?? 0) || byId;
}

/** What the cells of an entry show, but for its place in the list. */
export function contentOf(sheet: ListName, record: Patch): string {
  return cellsOf(sheet)
    .map((column) => readAs(column, record))
    .join('\n');
}

/** What the row of a listing says of a list: its order, and the content of each entry by its key. */
export function formatList(sheet: ListName, rows: readonly Pick<StoredRow, 'key' | 'record'>[]) {
  const keys = rows.map(({ key }) => key);
  const contents = rows.map(({ key, record }) => key + hashText(contentOf(sheet, record)));
  return { [sheet]: hashText(keys.join(' ')), [`${sheet}.rows`]: contents.join(',') };
}

/** Returns the hash of the content of each entry by its key. */
export function parseEntries(rows: string | undefined): ReadonlyMap<string, string> | undefined {
  const entries = rows
    ?.split(',')
    .map((each) => [each.slice(0, DIGITS), each.slice(DIGITS)] as const);
  return entries && new Map(entries);
}
