/**
 * A listings file as a spreadsheet (docs/guides/listings-file.md): each row is a record of a patch, and a problem names its
 * row and column. Pure.
 */

import { CsvError, parse } from 'csv-parse/sync';
import type * as z from 'zod';
import { LOCALES } from '../../src/properties/locale-map.ts';
import { type ReadFile, readRecords, recordName, unreadable, utf8Of } from './file.ts';
import { type Fault, type ImportProblem, type RecordName, THE_SHEET } from './problem.ts';
import { type Patch, writtenListing } from './records.ts';

/** How a cell is read. A list of addresses or slugs has `|` or line breaks between them. */
type CellKind = 'text' | 'number' | 'boolean' | 'photos' | 'list';

/** The columns that a sheet may have, by name: the fields of a listing, a text in a language as `title.en`. */
const COLUMNS: ReadonlyMap<string, CellKind> = new Map(
  Object.entries(writtenListing.shape).flatMap(([name, schema]) => columnsOf(name, schema)),
);

const NUMBER = /^-?\d+(\.\d+)?$/;
const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  false: false,
  no: false,
};
const BETWEEN_ENTRIES = /[|\r\n]+/;

function columnsOf(name: string, schema: z.ZodType): [string, CellKind][] {
  const accepts = (value: unknown) => schema.safeParse(value).success;
  if (name === 'photos') return [[name, 'photos']];
  if (name === 'amenities') return [[name, 'list']];
  if (accepts([])) return [];
  if (accepts({})) return LOCALES.map((locale) => [`${name}.${locale}`, 'text']);
  return [[name, accepts(1) ? 'number' : accepts(true) ? 'boolean' : 'text']];
}

/** Reads the bytes of a sheet: UTF-8, a header row, commas or semicolons. */
export function readSheet(bytes: Uint8Array): ReadFile {
  const text = utf8Of(bytes);
  if (text === undefined) return unreadable(THE_SHEET, [{ path: '', code: 'not_utf8' }]);
  let rows: string[][];
  try {
    const head = text.slice(0, text.search(/[\r\n]|$/));
    const delimiter = head.includes(';') ? ';' : ',';
    const record_delimiter = ['\r\n', '\n', '\r'];
    rows = parse(text, { delimiter, record_delimiter, relax_column_count: true });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return unreadable(THE_SHEET, [{ path: '', code: 'not_csv', details: [error.message] }]);
  }
  const [names = [], ...others] = rows.map((row) => row.map((cell) => cell.trim()));
  const header = names.map((name) => (isColumn(name.toLowerCase()) ? name.toLowerCase() : name));
  if (header.join('') === '') return unreadable(THE_SHEET, [{ path: '', code: 'no_header' }]);
  const problems = headerProblems(header);
  const records = others.flatMap((cells, index) => {
    if (cells.join('') === '') return [];
    const value = recordOf(header, cells);
    // A spreadsheet counts from 1, and the header is its first row.
    const name = recordName(rowName(index + 2), value);
    const stray = cells.find((cell, column) => cell !== '' && !header[column]);
    if (stray !== undefined) {
      problems.push({ record: name, path: '', code: 'unnamed_column', value: stray });
    }
    return [{ name, value }];
  });
  const read = readRecords({ locations: [], amenities: [], properties: records }, true);
  return { kind: 'read', file: read.file, problems: [...problems, ...read.problems] };
}

function rowName(row: number): RecordName {
  return { kind: 'listing', place: `row ${row}`, isSheet: true };
}

function isColumn(name: string): boolean {
  return COLUMNS.has(name);
}

function headerProblems(header: readonly string[]): ImportProblem[] {
  const problem = (names: readonly string[], fault: Pick<Fault, 'code' | 'details'>) => ({
    record: rowName(1),
    path: '',
    subject: [...new Set(names)].map((name) => JSON.stringify(name)).join(', '),
    ...fault,
  });
  const named = header.filter((name) => name !== '');
  const unknown = named.filter((name) => !isColumn(name));
  const twice = named.filter((name, index) => named.indexOf(name) < index);
  const details = [[...COLUMNS.keys()].join(', ')];
  return [
    ...(unknown.length === 0 ? [] : [problem(unknown, { code: 'unknown_column', details })]),
    ...(twice.length === 0 ? [] : [problem(twice, { code: 'column_twice' })]),
  ];
}

/** Returns the record of a row. An empty cell changes nothing. */
function recordOf(header: readonly string[], cells: readonly string[]): Patch {
  const record: Patch = {};
  const texts: Record<string, Record<string, string>> = {};
  for (const [index, name] of header.entries()) {
    const kind = COLUMNS.get(name);
    const cell = cells[index] ?? '';
    if (kind === undefined || cell === '') continue;
    const [field = '', locale] = name.split('.');
    if (locale === undefined) {
      record[field] = valueOfCell(kind, cell);
    } else {
      texts[field] = { ...texts[field], [locale]: cell };
    }
  }
  return { ...record, ...texts };
}

/** Returns the value of a cell. A text in place of a number, or of yes or no, stays a text, which the schema rejects. */
function valueOfCell(kind: CellKind, cell: string): unknown {
  const entries = cell.split(BETWEEN_ENTRIES).flatMap((entry) => entry.trim() || []);
  switch (kind) {
    case 'number':
      return NUMBER.test(cell) && Math.abs(Number(cell)) <= Number.MAX_SAFE_INTEGER
        ? Number(cell)
        : cell;
    case 'boolean':
      return BOOLEANS[cell.toLowerCase()] ?? cell;
    case 'photos':
      return entries.map((url) => ({ url }));
    case 'list':
      return entries;
    case 'text':
      return cell;
  }
}
