/** Opens a workbook as spreadsheet programs save it: .xlsx or .ods. */

import { isDateFormat, read, type Sheet, streamOdsRows, streamXlsxRows } from 'hucre';
import { printable } from '../../command-line/printable.ts';
import { messageOf, UserError } from '../../command-line/user-error.ts';

/** Of all entries. A workbook of 100,000 rows has some 100 MiB. The library stops at 2 GiB. */
const MAX_UNPACKED_MIB = 512;

/**
 * A part of an .xlsb, and the stream `Workbook` of an .xls, in UTF-16. The library reads both in part,
 * and web programs cut the texts of an .xls.
 */
const FORMER = /xl\/workbook\.bin|b\0o\0o\0k\0/i;

/** Throws a `UserError` for what is no workbook. */
export async function openSheets(bytes: Uint8Array): Promise<Sheet[]> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (FORMER.test(file.toString('latin1'))) {
    throw new UserError(
      'the file is an .xls or .xlsb, which an import does not read: save it as .xlsx',
    );
  }
  const megabytes = Math.ceil(sumUnpackedBytes(file) / 2 ** 20);
  if (megabytes > MAX_UNPACKED_MIB) {
    throw new UserError(
      `the file would unpack to ${megabytes} MiB, at most ${MAX_UNPACKED_MIB}: delete sheets, pictures and empty rows, and save it again`,
    );
  }
  const { sheets } = await read(bytes)
    .catch(() => readFilled(bytes))
    .catch((error: unknown) => {
      const message = `the file is no readable workbook (${messageOf(error)}): save it as .xlsx without a password`;
      throw new UserError(printable(message), { cause: error });
    });
  if (isOpenDocument(bytes) && (await skipsRows(bytes, sheets))) {
    throw new UserError(
      'the file has grouped rows, or rows that are repeated on each printed page, which cannot be read from an .ods: save it as .xlsx',
    );
  }
  return await correctDates(bytes, sheets);
}

/**
 * Reads the rows up to the last value. A formatted cell in the last row of a sheet would make more
 * cells than the library takes.
 */
async function readFilled(bytes: Uint8Array) {
  const { sheets } = await read(bytes, { maxRows: 1 });
  let last = 1;
  for (const { name: sheet } of sheets) {
    for await (const { index, values } of streamXlsxRows(bytes, { sheet })) {
      if (isFilled(values)) last = Math.max(last, index + 1);
    }
  }
  return await read(bytes, { range: `A1:XFD${last}` });
}

/**
 * Sums the sizes in the central directory of a ZIP archive (APPNOTE 4.3.12 and 4.3.16), which is at
 * its end. A size that needs ZIP64 is 0xffffffff here.
 */
function sumUnpackedBytes(file: Buffer): number {
  const end = file.lastIndexOf('PK\x05\x06', file.length, 'latin1');
  let sum = 0;
  let at = end === -1 || end + 22 > file.length ? file.length : file.readUInt32LE(end + 16);
  while (at + 46 <= file.length && file.readUInt32LE(at) === 0x02014b50) {
    const size = file.readUInt32LE(at + 24);
    if (size !== 0xffffffff) sum += size;
    const lengths = [28, 30, 32].map((offset) => file.readUInt16LE(at + offset));
    at += lengths.reduce((all, length) => all + length, 46);
  }
  return sum;
}

/** Its first entry is not compressed: `mimetype`. */
function isOpenDocument(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(30, 38)).toString('latin1') === 'mimetype';
}

/** The library skips rows in a group, and a header that each printed page repeats. */
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
 * Makes numbers of the amounts that the library takes for dates: the `D` in `#,##0 [$€-42D]` is of a
 * language, Basque, and no day. Days since 1904 have no gap, unlike those since 1900.
 */
async function correctDates(bytes: Uint8Array, sheets: Sheet[]): Promise<Sheet[]> {
  const dated = sheets.filter(({ rows }) => rows.some((row) => row.some(isDate)));
  if (dated.length === 0) return sheets;
  const names = dated.map(({ name }) => name);
  const range = `A1:XFD${Math.max(...sheets.map(({ rows }) => rows.length))}`;
  const styled = await read(bytes, { readStyles: true, dateSystem: '1904', sheets: names, range });
  for (const { name, rows, cells } of styled.sheets) {
    const own = dated.find((each) => each.name === name)?.rows ?? [];
    for (const [place, { style }] of cells ?? []) {
      const [row = 0, column = 0] = place.split(',').map(Number);
      const date = rows[row]?.[column];
      const format = style?.numFmt?.replaceAll(/\[\$[^\]]*\]/g, '');
      if (!isDate(date) || format === undefined || isDateFormat(format)) continue;
      own[row]?.splice(column, 1, (date.getTime() - Date.UTC(1904, 0, 1)) / DAY_MS);
    }
  }
  return sheets;
}

function isDate(cell: unknown): cell is Date {
  return cell instanceof Date;
}
