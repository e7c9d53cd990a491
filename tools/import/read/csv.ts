/** A listings file as a spreadsheet: each row is a record of a patch. Pure. */

import { isUtf8 } from 'node:buffer';
import { CsvError, parse } from 'csv-parse/sync';
import type * as z from 'zod';
import { LOCALES } from '../../../src/properties/locale-map.ts';
import { isMap } from './listing-schemas.ts';
import { unreadable, withKey } from './parse.ts';
import { type Fault, type ImportProblem, nearest, type RecordName } from './problem.ts';
import { type Patch, writtenListing } from './records.ts';
import type { ParsedFile } from './types.ts';

type ReadCell = { value: unknown } | Pick<Fault, 'code' | 'details'>;

/** Spreadsheets begin a cell in upper case, which a `word` ignores. */
const CELLS = {
  // An apostrophe keeps a spreadsheet from reading `=1+1` as a formula.
  text: (cell) => ({ value: /^'[=+\-@]/.test(cell) ? cell.slice(1) : cell }),
  word: (cell) => ({ value: cell.toLowerCase() }),
  words: (cell) => ({ value: splitEntries(cell.toLowerCase()) }),
  photos: (cell) => ({ value: splitEntries(cell).map((url) => ({ url })) }),
  decimal: (cell) => readNumber(cell, 'not_a_number'),
  number: (cell) => readThousands(cell) ?? readNumber(cell, 'not_a_number'),
  whole: (cell) => readThousands(cell) ?? readNumber(cell, 'not_whole'),
  boolean(cell) {
    if (!/^(yes|true|no|false)$/i.test(cell)) return { code: 'not_a_boolean' };
    return { value: /^(yes|true)$/i.test(cell) };
  },
} satisfies Record<string, (cell: string) => ReadCell>;

const WORDS: readonly string[] = ['slug', 'status', 'type', 'location'];
/** The numbers that may have three decimals. */
const DECIMALS: readonly string[] = ['latitude', 'longitude', 'size'];

/** Column → kind of its cells, e.g. `title.en` → `text`. */
export const COLUMNS: ReadonlyMap<string, keyof typeof CELLS> = new Map(
  Object.entries(writtenListing.shape).flatMap(([name, schema]) => listColumns(name, schema)),
);

function splitEntries(cell: string): string[] {
  return cell.split(/[|\r\n]+/).flatMap((entry) => entry.trim() || []);
}

/** Half of Europe writes 295.000 for 295000: the editor has to choose. */
function readThousands(cell: string): ReadCell | undefined {
  if (!/^-?\d+\.\d{3}$/.test(cell)) return undefined;
  return { code: 'thousands', details: { whole: cell.replace('.', ''), decimal: Number(cell) } };
}

function readNumber(cell: string, code: 'not_a_number' | 'not_whole'): ReadCell {
  if (!/^-?\d+(\.\d+)?$/.test(cell)) return { code };
  const value = Number(cell);
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? { code: 'too_large_number' } : { value };
}

/** The kind of the cells follows from the values that the schema accepts. */
function listColumns(name: string, schema: z.ZodType): [string, keyof typeof CELLS][] {
  const accepts = (value: unknown) => schema.safeParse(value).success;
  if (name === 'photos') return [[name, 'photos']];
  if (name === 'amenities') return [[name, 'words']];
  // Other lists have no column.
  if (accepts([])) return [];
  if (accepts({})) return LOCALES.map((locale) => [`${name}.${locale}`, 'text']);
  if (DECIMALS.includes(name)) return [[name, 'decimal']];
  if (accepts(1)) return [[name, accepts(1.5) ? 'number' : 'whole']];
  if (accepts(true)) return [[name, 'boolean']];
  return [[name, WORDS.includes(name) ? 'word' : 'text']];
}

/** Reads the bytes of a sheet: UTF-8, a header row, commas or semicolons. */
export function readSheet(bytes: Uint8Array): ParsedFile {
  const details = { form: '"CSV UTF-8"' };
  if (!isUtf8(bytes)) return unreadable([{ path: '', code: 'not_utf8', details }]);
  let rows: string[][];
  try {
    rows = parseRows(new TextDecoder().decode(bytes));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return unreadable([{ path: '', code: 'not_csv', details: { why: error.message } }]);
  }
  const [names = [], ...records] = rows.map((row) => row.map((cell) => cell.trim()));
  const header = names.map((name) => (COLUMNS.has(name.toLowerCase()) ? name.toLowerCase() : name));
  if (header.join('') === '') return unreadable([{ path: '', code: 'no_header' }]);
  const problems = headerProblems(header);
  const properties = records.flatMap((cells, index) => {
    if (cells.join('') === '') return [];
    const { value, faults } = readRow(header, cells);
    // A spreadsheet counts from 1, and the header is its first row.
    const name = withKey(nameRow(index + 2), value);
    for (const fault of faults) problems.push({ record: name, ...fault });
    return [{ name, value }];
  });
  const others = { locations: [], amenities: [], removed: [] };
  return { kind: 'readable', isPatch: true, ...others, properties, problems };
}

function parseRows(text: string): string[][] {
  // Excel writes the separator into a first line that it does not show.
  const sheet = text.replace(/^sep=.(\r\n|\r|\n)/i, '');
  const delimiter = /^[^\r\n]*;/.test(sheet) ? ';' : ',';
  const record_delimiter = ['\r\n', '\n', '\r'];
  return parse(sheet, { delimiter, record_delimiter, relax_column_count: true });
}

function nameRow(row: number): RecordName {
  return { kind: 'listing', place: `row ${row}`, isSheet: true };
}

function headerProblems(header: readonly string[]): ImportProblem[] {
  const all = [...COLUMNS.keys()];
  return header.flatMap((name, index): ImportProblem[] => {
    const problem = { record: nameRow(1), path: '', subject: JSON.stringify(name) };
    if (name === '') return [];
    if (header.indexOf(name) < index) return [{ ...problem, code: 'column_twice' }];
    if (COLUMNS.has(name)) return [];
    const meant = nearest(name, all) ?? all.find((each) => each.startsWith(name.toLowerCase()));
    const advice = meant === undefined ? 'delete or rename it' : `did you mean ${meant}?`;
    return [{ ...problem, code: 'unknown_column', details: { advice } }];
  });
}

/** An empty cell changes no field. */
export function readRow(header: readonly string[], cells: readonly string[]) {
  const value: Patch = {};
  const faults: Fault[] = [];
  for (const [index, cell] of cells.entries()) {
    const name = header[index] ?? '';
    const kind = COLUMNS.get(name);
    if (cell === '') continue;
    if (name === '') faults.push({ path: '', code: 'unnamed_column', value: cell });
    if (kind === undefined) continue;
    const read: ReadCell = CELLS[kind](cell);
    const [field = '', locale] = name.split('.');
    const texts = value[field];
    if ('code' in read) faults.push({ path: name, ...read, value: cell });
    // A faulty cell is kept, so that the field is not missing too. read.ts drops its second fault.
    const own = 'code' in read ? cell : read.value;
    value[field] = locale === undefined ? own : { ...(isMap(texts) && texts), [locale]: own };
  }
  return { value, faults };
}
