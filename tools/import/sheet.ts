/** Writes listings as a spreadsheet, which an import reads without a change. Pure. */

import type { Source } from '../../src/properties/source.ts';
import { COLUMNS, readRow } from './read/csv.ts';
import { isMap } from './read/listing-schemas.ts';
import { mergedListing } from './read/merge.ts';
import { parsed } from './read/parse.ts';
import { type Patch, toFileListing, writtenListing } from './read/records.ts';

const KEYS = ['slug', 'hid', 'id'];
const LISTS = ['location', 'amenities', 'photos', 'hero_photo'];
/** A location and a hero photo have two columns, of which a sheet has one. */
const LEFT_OUT = [...KEYS, ...LISTS, 'location_id', 'hero_photo_id'];
const fields = [...COLUMNS.keys()].filter((name) => !LEFT_OUT.includes(name));
const isText = (name: string) => name.includes('.');

/** In the order of docs/guides/listings-file.md. */
const HEADER = [
  ...KEYS,
  ...fields.filter((name) => !isText(name)),
  ...fields.filter(isText),
  ...LISTS,
];

export type Separator = ',' | ';';

/** Returns the lines of a sheet, with the byte order mark by which Excel knows UTF-8. */
export function* sheetLines(listings: Iterable<Source>, separator: Separator): Generator<string> {
  yield `\ufeff${formatLine(HEADER, separator)}`;
  for (const listing of listings) yield formatLine(formatCells(listing), separator);
}

function formatLine(cells: readonly string[], separator: Separator): string {
  const isPlain = (cell: string) => !/["\r\n]/.test(cell) && !cell.includes(separator);
  const quoted = cells.map((cell) => (isPlain(cell) ? cell : `"${cell.replaceAll('"', '""')}"`));
  return `${quoted.join(separator)}\r\n`;
}

/** Returns the cells of a row. A value that no cell can hold has an empty one, and stays. */
function formatCells(listing: Source): string[] {
  const { photos, hero_photo_id, location } = listing;
  const hero_photo = photos.find(({ id }) => id === hero_photo_id)?.url;
  const record = toFileListing(listing);
  const values: Patch = { ...record, location: location?.slug, hero_photo };
  const cells = HEADER.map((name) => formatCell(name, values));
  if (isSame(record, values, HEADER, cells)) return cells;
  return cells.map((cell, at) => (isSame(record, values, [HEADER[at] ?? ''], [cell]) ? cell : ''));
}

function formatCell(name: string, values: Patch): string {
  const [field = '', locale = ''] = name.split('.');
  const own = values[field];
  const value = isText(name) && isMap(own) ? own[locale] : own;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map((each) => each.url ?? each).join('|');
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return '';
  // A spreadsheet would take such a text for a formula. The import drops the apostrophe.
  return /^'*[=+\-@]/.test(value) ? `'${value}` : value;
}

/** Reports whether an import of the cells changes nothing. */
function isSame(
  record: Patch,
  { location }: Patch,
  header: readonly string[],
  cells: readonly string[],
): boolean {
  const { value: patch, faults } = readRow(
    header,
    cells.map((cell) => cell.trim()),
  );
  const { value } = parsed(writtenListing, mergedListing(record, patch));
  if (value === undefined || faults.length > 0) return false;
  const { location: place, hero_photo, ...own } = value;
  const hero = own.photos.find(({ url }) => url === hero_photo)?.id ?? null;
  if (hero_photo !== undefined) own.hero_photo_id = hero;
  const isPlace = place === undefined || place === location;
  return isPlace && JSON.stringify(own) === JSON.stringify(writtenListing.parse(record));
}
