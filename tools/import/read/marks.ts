/**
 * Stored records as the rows of an export, and the mark of each row in the hidden column `as of`: a
 * hash of what each cell shows. The marks are the base when an import merges the rows. Pure.
 *
 *     m2 key:1f0c22ab lineage:9d21c0e7 slug:0b5e8f10 hid:77de68da …
 */

import { hash } from 'node:crypto';
import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import type { Operation } from '../../database/operations.ts';
import { readAs } from './cells.ts';
import { cellsOf, LISTS, type ListName, SHEETS, type SheetName } from './columns.ts';
import { isMap } from './listing-schemas.ts';
import { listOf, type Patch, toFileListing } from './records.ts';

const FORM = 'm2';

export type StoredRow = {
  /** A hash of the id, which identifies the row in its sheet. */
  key: string;
  /** As the row shows it. */
  record: Patch;
  /** In the report, e.g. `casa-marea`, `casa-marea 2.jpg`, `location bay`. */
  label: string;
  lastChange: Operation | undefined;
};

/** Returns the hash of a column. `key` and `lineage` say which record of which database it is. */
export type Marks = (name: string) => string | undefined;

const DIGITS = 8;

export function hashText(text: string): string {
  return hash('sha1', text).slice(0, DIGITS);
}

/** Returns the cell `as of`. `others` are texts that no cell of the row shows. */
export function formatMarks(
  sheet: SheetName,
  { key, record }: StoredRow,
  others: Readonly<Record<string, string>>,
): string {
  const cells = cellsOf(sheet).map((column) => [column.name, readAs(column, record)] as const);
  const hashes = [...Object.entries(others), ...cells].map(
    ([name, text]) => `${name}:${hashText(text)}`,
  );
  return [FORM, `key:${key}`, ...hashes].join(' ');
}

/** Another form, and the marks of another database, are none. */
export function parseMarks(cell: unknown, lineage: string): Marks | undefined {
  if (typeof cell !== 'string' || !cell.startsWith(`${FORM} `)) return undefined;
  const marks: Marks = (name) => cell.split(` ${name}:`)[1]?.slice(0, DIGITS);
  return marks('lineage') === hashText(lineage) ? marks : undefined;
}

export function rowOfListing(source: Source, lastChange?: Operation): StoredRow {
  const { id, slug, location } = source;
  const record = { ...toFileListing(source), location: location && (location.slug ?? location.id) };
  return { key: hashText(id), record, label: slug, lastChange };
}

export function rowOfRecord(
  sheet: 'locations' | 'amenities',
  record: Location | Amenity,
  lastChange?: Operation,
): StoredRow {
  const id = 'id' in record ? record.id : record.slug;
  const label = `${SHEETS[sheet].kind} ${record.slug ?? id}`;
  return { key: hashText(id), record, label, lastChange };
}

/**
 * The rows of a list of a listing, in the order in which a site shows them. A feature has no id: two
 * of a listing with one icon are told apart by their order.
 */
export function rowsOfList({ record: listing, label, lastChange }: StoredRow, name: ListName) {
  const { field, order } = LISTS[name];
  const [address] = SHEETS[name].keys;
  const entries = listOf(listing[field]).filter(isMap);
  const counts = new Map<unknown, number>();
  entries.sort((a, b) => compareEntries(order, a, b));
  return entries.map((record): StoredRow => {
    const { id = record.icon_slug } = record;
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    const key = hashText(`${listing.id} ${id} ${count}`);
    return { key, record, label: `${label} ${`${record[address]}`.split('/').at(-1)}`, lastChange };
  });
}

/** A site sorts by number, then by id. */
export function compareEntries(order: string, a: Patch, b: Patch): number {
  const [first, second] = [`${a.id ?? ''}`, `${b.id ?? ''}`];
  const byId = first < second ? -1 : Number(first > second);
  return Number(a[order] ?? 0) - Number(b[order] ?? 0) || byId;
}

/** What the rows of a list say together: their order, and the hero photo. */
export function textsOfList(listing: StoredRow, name: ListName): Record<string, string> {
  const keys = rowsOfList(listing, name).map(({ key }) => key);
  return { [name]: keys.join(' '), hero: `${listing.record.hero_photo_id ?? ''}` };
}
