/** A listings file as a spreadsheet: each row is a record of a patch. Pure. */

import { isUtf8 } from 'node:buffer';
import { CsvError, parse } from 'csv-parse/sync';
import type * as z from 'zod';
import { LOCALES } from '../../../src/properties/locale-map.ts';
import { isMap } from './listing-schemas.ts';
import { isSpreadsheetFile, unreadable, withKey } from './parse.ts';
import { type Fault, type ImportProblem, nearest, type RecordName } from './problem.ts';
import { type Patch, writtenListing } from './records.ts';
import { FORMULA_ERROR, isDate, unprotectText } from './spreadsheet-text.ts';
import type { ParsedFile } from './types.ts';

type ReadCell = { value: unknown } | Pick<Fault, 'code' | 'details'>;

/** In a sheet with semicolons, a comma may be the decimal sign. */
export type Separator = ',' | ';';

/** Spreadsheets begin a cell in upper case, which a `word` ignores. */
const CELLS = {
  text: (cell) => ({ value: unprotectText(cell) }),
  fraction(cell) {
    const text = unprotectText(cell);
    return isDate(text) && !/^\d+\/\d+$/.test(text) ? { code: 'date' } : { value: text };
  },
  word: (cell) => ({ value: unprotectText(toWord(cell)) }),
  words(cell) {
    if (/[,;]/.test(cell)) return { code: 'no_bar' };
    return { value: splitEntries(unprotectText(toWord(cell))) };
  },
  photos: (cell) => ({ value: splitEntries(cell).map((url) => ({ url })) }),
  decimal: (cell, separator) => readNumber(cell, 'not_a_number', separator),
  number: (cell, separator) => readThousands(cell) ?? readNumber(cell, 'not_a_number', separator),
  whole: (cell, separator) => readThousands(cell) ?? readNumber(cell, 'not_whole', separator),
  boolean(cell) {
    const word = cell.normalize('NFC');
    if (YES.test(word)) return { value: true };
    return NO.test(word) ? { value: false } : { code: 'not_a_boolean' };
  },
} satisfies Record<string, (cell: string, separator: Separator) => ReadCell>;

/** Spreadsheets write a boolean in the language of the user. */
const YES = /^(true|yes|verdadero|s[ií]|vrai|oui)$/i;
const NO = /^(false|no|falso|faux|non)$/i;

/** Without invisible characters, which no word has. */
function toWord(cell: string): string {
  return cell
    .replaceAll(/\p{Cf}/gu, '')
    .trim()
    .toLowerCase();
}

const WORDS: readonly string[] = ['slug', 'status', 'type', 'location'];
/** The numbers that may have three decimals. */
export const DECIMALS: readonly string[] = ['latitude', 'longitude', 'size'];

/** Column → kind of its cells, e.g. `title.en` → `text`. */
export const COLUMNS: ReadonlyMap<string, keyof typeof CELLS> = new Map(
  Object.entries(writtenListing.shape).flatMap(([name, schema]) => listColumns(name, schema)),
);

function splitEntries(cell: string): string[] {
  return cell.split(/[|\r\n]+/).flatMap((entry) => entry.trim() || []);
}

/** Half of Europe writes 295.000 or 295.000,00 for 295000: the editor has to choose. */
function readThousands(cell: string): ReadCell | undefined {
  const [, number = ''] = /^(-?\d+\.\d{3})(,\d+)?$/.exec(cell) ?? [];
  if (number === '') return undefined;
  const whole = Number(cell.replace('.', '').replace(',', '.'));
  return { code: 'thousands', details: { sign: 'dot', whole, decimal: Number(number) } };
}

function readNumber(
  cell: string,
  code: 'not_a_number' | 'not_whole',
  separator: Separator,
): ReadCell {
  const hasComma = separator === ';' && /^-?\d+,\d+$/.test(cell);
  const number = hasComma ? cell.replace(',', '.') : cell;
  if (hasComma && /,\d{3}$/.test(cell)) {
    const details = { sign: 'comma', whole: cell.replace(',', ''), decimal: Number(number) };
    return { code: 'thousands', details };
  }
  if (!/^-?\d+(\.\d+)?$/.test(number)) return { code: isDate(cell) ? 'date' : code };
  const value = Number(number);
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? { code: 'too_large_number' } : { value };
}

/** The kind of the cells follows from the values that the schema accepts. */
function listColumns(name: string, schema: z.ZodType): [string, keyof typeof CELLS][] {
  const accepts = (value: unknown) => schema.safeParse(value).success;
  if (name === 'photos') return [[name, 'photos']];
  if (name === 'amenities') return [[name, 'words']];
  if (name === 'fraction_from') return [[name, 'fraction']];
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
  if (isSpreadsheetFile(bytes)) return unreadable([{ path: '', code: 'spreadsheet_file' }]);
  if (!isUtf8(bytes)) return unreadable([{ path: '', code: 'not_utf8', details }]);
  // Excel writes the separator into a first line that it does not show.
  const text = new TextDecoder().decode(bytes).replace(/^sep=.(\r\n|\r|\n)/i, '');
  const separator: Separator = /^[^\r\n]*;/.test(text) ? ';' : ',';
  let rows: string[][];
  try {
    rows = parseRows(text, separator);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return unreadable([{ path: '', code: 'not_csv', details: { why: error.message } }]);
  }
  const [names = [], ...records] = rows.map((row) => row.map((cell) => cell.trim()));
  const header = names.map(readName);
  const fault = headerFault(header, records);
  if (fault !== undefined) return unreadable([{ path: '', ...fault }]);
  const problems = headerProblems(header);
  const properties = records.flatMap((cells, index) => {
    if (cells.join('') === '') return [];
    const { value, faults } = readRow(header, cells, separator);
    // A spreadsheet counts from 1, and the header is its first row.
    const name = withKey(nameRow(index + 2), value);
    for (const fault of faults) problems.push({ record: name, ...fault });
    return [{ name, value }];
  });
  const others = { locations: [], amenities: [], removed: [] };
  return { kind: 'readable', form: 'workbook', ...others, properties, problems };
}

function parseRows(text: string, delimiter: Separator): string[][] {
  const record_delimiter = ['\r\n', '\n', '\r'];
  return parse(text, { delimiter, record_delimiter, relax_column_count: true });
}

/** A column in any case. Another name stays as it is, for the message. */
function readName(name: string): string {
  return COLUMNS.has(toWord(name)) ? toWord(name) : name;
}

/** How many rows a spreadsheet may have before its header: a title, a date. */
const MAX_ROWS_BEFORE_HEADER = 10;

/** Why the first row is no header. */
function headerFault(
  header: readonly string[],
  records: readonly string[][],
): Pick<Fault, 'code' | 'details'> | undefined {
  if (header.some((name) => COLUMNS.has(name))) return undefined;
  if (header.some((name) => name.includes('\t'))) return { code: 'tabs' };
  const later = records
    .slice(0, MAX_ROWS_BEFORE_HEADER)
    .findIndex((cells) => cells.filter((cell) => COLUMNS.has(readName(cell))).length > 1);
  if (later !== -1) return { code: 'later_header', details: { row: later + 2 } };
  return header.join('') === '' ? { code: 'no_header' } : undefined;
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

function readCell(kind: keyof typeof CELLS, cell: string, separator: Separator): ReadCell {
  return FORMULA_ERROR.test(cell) ? { code: 'formula_error' } : CELLS[kind](cell, separator);
}

/** An empty cell changes no field. */
export function readRow(header: readonly string[], cells: readonly string[], separator: Separator) {
  const value: Patch = {};
  const faults: Fault[] = [];
  for (const [index, cell] of cells.entries()) {
    const name = header[index] ?? '';
    const kind = COLUMNS.get(name);
    if (cell === '') continue;
    if (name === '') faults.push({ path: '', code: 'unnamed_column', value: cell });
    if (kind === undefined) continue;
    const read = readCell(kind, cell, separator);
    const [field = '', locale] = name.split('.');
    const texts = value[field];
    if ('code' in read) faults.push({ path: name, ...read, value: cell });
    // A faulty cell is kept, so that the field is not missing too. read.ts drops its second fault.
    const own = 'code' in read ? cell : read.value;
    value[field] = locale === undefined ? own : { ...(isMap(texts) && texts), [locale]: own };
  }
  return { value, faults };
}
