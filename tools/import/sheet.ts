/** Writes listings as a spreadsheet, which an import reads without a change. Pure. */

import { isDeepStrictEqual } from 'node:util';
import type { Source } from '../../src/properties/source.ts';
import { COLUMNS, readRow } from './read/csv.ts';
import { isMap } from './read/listing-schemas.ts';
import { mergeListing } from './read/merge.ts';
import { type Patch, toFileListing } from './read/records.ts';

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
  // The import takes the first photo with the address.
  const isHero = photos.find(({ url }) => url === hero_photo)?.id === hero_photo_id;
  const record: Patch = {
    ...toFileListing(listing),
    location: location?.slug,
    hero_photo: isHero ? hero_photo : undefined,
  };
  return HEADER.map((name) => {
    const cell = formatCell(name, record);
    const patch = readRow([name], [cell.trim()]).value;
    return isDeepStrictEqual(mergeListing(record, patch), record) ? cell : '';
  });
}

function formatCell(name: string, values: Patch): string {
  const [field = '', locale] = name.split('.');
  const own = values[field];
  const value = locale !== undefined && isMap(own) ? own[locale] : own;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map((each) => each.url ?? each).join('|');
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return '';
  // A spreadsheet would take such a text for a formula. The import drops the apostrophe.
  return /^[=+\-@]/.test(value) ? `'${value}` : value;
}
