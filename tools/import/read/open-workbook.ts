/** Opens workbooks (.xlsx or .ods) as spreadsheet programs save them. */

import {
  isDateFormat,
  type ReadOptions,
  readOds,
  readXlsx,
  type Sheet,
  streamOdsRows,
  streamXlsxRows,
  type Workbook,
} from 'hucre';
import { printable } from '../../command-line/printable.ts';
import { describeError, UserError } from '../../command-line/user-error.ts';
import { listEntries } from './archive.ts';
import { selectParts, type WorkbookParts } from './workbook-parts.ts';

/**
 * Maximum total size of the unpacked entries. A workbook of 100,000 rows has about 100 MiB. The
 * library stops at 2 GiB.
 */
const MAX_UNPACKED_MIB = 512;

export type OpenedWorkbook = { sheets: Sheet[] } & Pick<WorkbookParts, 'otherTabs'>;

/** Reads the sheets of a workbook. Throws a `UserError` if the file is not a workbook. */
export async function openSheets(bytes: Uint8Array): Promise<OpenedWorkbook> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const entries = listEntries(file);
    rejectLarge(entries.reduce((sum, { size }) => sum + size, 0));
    const parts = selectParts(file, entries);
    return { sheets: await readSheets(parts), otherTabs: parts.otherTabs };
  } catch (error) {
    if (error instanceof UserError) throw error;
    const message = `The file is not a readable workbook (${describeError(error)}). Open it in a spreadsheet program and save it as .xlsx. If it does not open there, download or copy it again.`;
    throw new UserError(printable(message), { cause: error });
  }
}

function rejectLarge(unpackedBytes: number): void {
  const megabytes = Math.ceil(unpackedBytes / 2 ** 20);
  if (megabytes <= MAX_UNPACKED_MIB) return;
  throw new UserError(
    `The file would unpack to ${megabytes} MiB. The maximum is ${MAX_UNPACKED_MIB} MiB. Delete sheets, pictures and empty rows, and save it again.`,
  );
}

async function readSheets(parts: WorkbookParts): Promise<Sheet[]> {
  if (parts.form === 'xlsx') {
    const { sheets } = await read(parts).catch(() => readFilled(parts));
    return await correctDates(parts, sheets);
  }
  const { sheets } = await read(parts);
  if (await skipsRows(parts.bytes, sheets)) {
    throw new UserError(
      'The file has grouped rows, or rows that are repeated on each printed page, which cannot be read from an .ods. Save it as .xlsx.',
    );
  }
  return await correctDates(parts, sheets);
}

/** Reads the sheets except tabs without cells, which the library cannot read. */
function read({ form, bytes, otherTabs }: WorkbookParts, options: ReadOptions = {}) {
  if (form === 'ods') return readOds(bytes, options);
  const withCells = ({ name }: { name: string }) => !otherTabs.some((tab) => tab.name === name);
  return readXlsx(bytes, { sheets: withCells, ...options });
}

/**
 * Reads the rows up to the last value. Otherwise a single formatted cell in the last row of a sheet
 * would exceed the library's limit on cells.
 */
async function readFilled(parts: WorkbookParts): Promise<Workbook> {
  const { sheets } = await read(parts, { maxRows: 1 });
  let last = 1;
  for (const { name: sheet } of sheets) {
    for await (const { index, values } of streamXlsxRows(parts.bytes, { sheet })) {
      if (isFilled(values)) last = Math.max(last, index + 1);
    }
  }
  return await read(parts, { range: `A1:XFD${last}` });
}

/**
 * Whether the library has skipped rows. It skips grouped rows, and header rows that are repeated on
 * each printed page.
 */
async function skipsRows(bytes: Uint8Array, sheets: readonly Sheet[]): Promise<boolean> {
  let filled = 0;
  for await (const { values } of streamOdsRows(bytes)) filled += isFilled(values) ? 1 : 0;
  return filled !== sheets.flatMap(({ rows }) => rows).filter(isFilled).length;
}

function isFilled(row: readonly unknown[]): boolean {
  return row.some((cell) => cell !== null && cell !== '');
}

const DAY_MS = 86_400_000;

/**
 * Converts amounts that the library mistook for dates back to numbers. For example, in `#,##0
 * [$€-42D]` the `D` belongs to a language tag (Basque) and does not mean a day. Days are counted
 * from 1904, because counting from 1900 has a gap.
 */
async function correctDates(parts: WorkbookParts, sheets: Sheet[]): Promise<Sheet[]> {
  const dated = sheets.filter(({ rows }) => rows.some((row) => row.some(isDate)));
  if (dated.length === 0) return sheets;
  const names = dated.map(({ name }) => name);
  const range = `A1:XFD${Math.max(...sheets.map(({ rows }) => rows.length))}`;
  const styled = await read(parts, { readStyles: true, dateSystem: '1904', sheets: names, range });
  for (const { name, rows, cells } of styled.sheets) {
    const sheetRows = dated.find((sheet) => sheet.name === name)?.rows ?? [];
    for (const [position, { style }] of cells ?? []) {
      const [row = 0, column = 0] = position.split(',').map(Number);
      const date = rows[row]?.[column];
      const format = style?.numFmt?.replaceAll(/\[\$[^\]]*\]/g, '');
      if (!isDate(date) || format === undefined || isDateFormat(format)) continue;
      sheetRows[row]?.splice(column, 1, (date.getTime() - Date.UTC(1904, 0, 1)) / DAY_MS);
    }
  }
  return sheets;
}

function isDate(cell: unknown): cell is Date {
  return cell instanceof Date;
}
