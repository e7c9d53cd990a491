/** The catalogue as a listings file, JSON or a sheet: imported again it changes nothing. */

import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Location, Source } from '../../src/properties/source.ts';
import { COLUMNS, DECIMALS, readRow, type Separator } from './read/csv.ts';
import { isMap } from './read/listing-schemas.ts';
import { mergeListing } from './read/merge.ts';
import { printable } from './read/problem.ts';
import { type Patch, toFileListing } from './read/records.ts';
import { protectText } from './read/spreadsheet-text.ts';
import { readCatalogue, readListings, readState } from './read/store.ts';
import { toWritten, writeListingsFile } from './write/listings-file.ts';

const KEYS = ['slug', 'hid', 'id'];
const LISTS = ['location', 'amenities', 'photos', 'hero_photo'];
/** A location and a hero photo have two columns, of which a sheet has one. */
const LEFT_OUT = [...KEYS, ...LISTS, 'location_id', 'hero_photo_id'];
const { fields = [], texts = [] } = Object.groupBy(
  [...COLUMNS.keys()].filter((name) => !LEFT_OUT.includes(name)),
  (name) => (name.includes('.') ? 'texts' : 'fields'),
);

/** In the order of docs/guides/listings-file.md. */
const HEADER = [...KEYS, ...fields, ...texts, ...LISTS];

/**
 * Yields a sheet if there is a separator, else JSON. If an import is applied meanwhile, the reads
 * begin again.
 */
export async function* exportListings(
  database: D1Database,
  onProgress: (phase: string, done: number, total: number) => void,
  separator?: Separator,
): AsyncGenerator<string> {
  const stored = await readCatalogue(database);
  const listings: Source[] = [];
  for await (const { listing } of readListings(database, [...stored.summaries.keys()])) {
    listings.push(listing);
    onProgress('listings read', listings.length, stored.summaries.size);
  }
  if ((await readState(database)).lastImport !== stored.lastImport) {
    return yield* exportListings(database, onProgress, separator);
  }
  listings.sort((a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1));
  if (separator !== undefined) return yield* sheetLines(listings, separator);
  yield* writeListingsFile({ ...stored, export_id: randomUUID() }, listings.map(toWritten));
}

/** Excel knows UTF-8 by the byte order mark. */
function* sheetLines(listings: Iterable<Source>, separator: Separator): Generator<string> {
  yield `\ufeff${formatLine(HEADER, separator)}`;
  for (const listing of listings) yield formatLine(formatCells(listing, separator), separator);
}

/** LibreOffice splits a row at commas, semicolons and tabs at once. */
function formatLine(cells: readonly string[], separator: Separator): string {
  const isPlain = (cell: string) => !/[",;\t\r\n]/.test(cell);
  const quoted = cells.map((cell) => (isPlain(cell) ? cell : `"${cell.replaceAll('"', '""')}"`));
  return `${quoted.join(separator)}\r\n`;
}

/** A value that no cell can hold gets an empty cell, which an import ignores. */
function formatCells(listing: Source, separator: Separator): string[] {
  const { photos, hero_photo_id, location } = listing;
  const hero_photo = photos.find(({ id }) => id === hero_photo_id)?.url;
  // The import takes the first photo with the address.
  const isHero = photos.find(({ url }) => url === hero_photo)?.id === hero_photo_id;
  const record: Patch = {
    ...toFileListing(listing),
    location: location?.slug,
    hero_photo: isHero ? hero_photo : undefined,
  };
  return HEADER.map((name) => {
    const cell = formatCell(name, record);
    const patch = readRow([name], [cell.trim()], separator).value;
    return isDeepStrictEqual(mergeListing(record, patch), record) ? cell : '';
  });
}

function formatCell(name: string, values: Patch): string {
  const [field = '', locale] = name.split('.');
  const own = values[field];
  const value = locale !== undefined && isMap(own) ? own[locale] : own;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (field === 'photos' && Array.isArray(value)) return value.map(({ url }) => url).join('|');
  if (Array.isArray(value)) return protectText(value.join('|'));
  if (typeof value === 'number') return formatNumber(value, field);
  return typeof value === 'string' ? protectText(value) : '';
}

/** A spreadsheet keeps 15 digits of a number. */
const MAX_DIGITS = 15;

function formatNumber(value: number, field: string): string {
  if (Number(value.toPrecision(MAX_DIGITS)) !== value) return '';
  // Half of Europe reads 0.105 as 105.
  return DECIMALS.includes(field) ? String(value).replace(/\.\d{3}$/, '$&0') : String(value);
}

/** e.g. `amenity pool: Swimming pool` */
export async function* exportNames(database: D1Database): AsyncGenerator<string> {
  const { locations, amenities } = await readCatalogue(database);
  for (const { id, slug, name } of locations) yield `location ${slug ?? id}: ${chooseText(name)}\n`;
  for (const { slug, label } of amenities) yield `amenity ${slug}: ${chooseText(label)}\n`;
}

function chooseText(texts: Location['name']): string {
  return printable(texts.en ?? texts.es ?? texts.fr ?? '');
}
