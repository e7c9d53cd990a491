/** Makes workbooks and edits their rows. */

import { crc32 } from 'node:zlib';
import { type Cell, readXlsx, type Sheet, type WriteSheet, writeXlsx } from 'hucre/xlsx';

type Value = string | number | boolean | Date | null;
type Rows = readonly (readonly Value[])[];

/**
 * Makes a workbook. `options` contains settings for each sheet, such as a formula in `cells` at
 * `0,1`.
 */
export async function workbook(
  sheets: Record<string, Rows>,
  options: Record<string, Partial<WriteSheet>> = {},
): Promise<Uint8Array> {
  return await writeXlsx({
    sheets: Object.entries(sheets).map(([name, rows]) => ({
      name,
      rows: rows.map((row) => [...row]),
      ...options[name],
    })),
  });
}

/**
 * Parses sheets from text. A line such as `== photos` starts a new sheet; the first sheet is
 * `listings`. Cells are separated by `|`. A cell is JSON, plain text, or `DAY` for a date.
 */
export function parseSheets(text: string): Record<string, Value[][]> {
  const sheets: Record<string, Value[][]> = {};
  let name = 'listings';
  for (const line of text.replace(/^\n/, '').split('\n')) {
    if (line.startsWith('== ')) name = line.slice(3);
    else
      sheets[name] = [
        ...(sheets[name] ?? []),
        line.split('|').map((cell) => parseCell(cell.trim())),
      ];
  }
  return sheets;
}

export function parseCell(cell: string): Value {
  if (cell === 'DAY') return new Date(Date.UTC(2026, 7, 1));
  try {
    return JSON.parse(cell);
  } catch {
    return cell === '' ? null : cell;
  }
}

/** Returns a cell that contains a formula and the formula's last result. */
export function formulaCell(formula: string, formulaResult?: string | number): Cell {
  return {
    value: null,
    type: 'formula',
    formula,
    ...(formulaResult !== undefined && { formulaResult }),
  };
}

type Row = Record<string, Value>;
/** Maps the name of a sheet to its rows. The keys of a row are the column headers. */
type SheetRows = Record<string, Row[]>;
export type Edit = (sheets: SheetRows) => void;

/**
 * Changes cells in the row that belongs to a slug. If a listing has several rows in the sheet, such
 * as its photos, `at` is the index of the row.
 */
export function change(sheet: string, slug: string, cells: Row, at = 0): Edit {
  return ({ [sheet]: rows = [] }) => {
    const row = rows.filter(({ listing = null, slug: rowSlug }) => (listing ?? rowSlug) === slug)[
      at
    ];
    if (row === undefined) throw new Error(`${sheet} has no row ${at} of ${slug}`);
    Object.assign(row, cells);
  };
}

export function add(sheet: string, ...rows: Row[]): Edit {
  return ({ [sheet]: sheetRows }) => sheetRows?.push(...rows);
}

/** Returns the sheets that a reader gets from a file written by `workbook`. */
export function toSheets(tables: Record<string, Rows>): TestSheet[] {
  return Object.entries(tables).map(([name, rows]) => ({
    name,
    rows: rows.map((row) => [...row]),
  }));
}

/** Opens a workbook, edits its rows, and saves it. */
export async function editWorkbook(bytes: Uint8Array, ...edits: Edit[]): Promise<Uint8Array> {
  const { sheets } = await readXlsx(bytes);
  const edited = editSheets(sheets, ...edits).map(({ name, rows }) => [name, rows] as const);
  return await workbook(Object.fromEntries(edited));
}

export type TestSheet = Pick<Sheet, 'name' | 'rows'>;

/** Returns a copy of the sheets with edited rows. */
export function editSheets(sheets: readonly TestSheet[], ...edits: Edit[]): TestSheet[] {
  const edited = Object.fromEntries(sheets.map((sheet) => [sheet.name, toRows(sheet)]));
  for (const edit of edits) edit(edited);
  return Object.entries(edited).map(([name, rows]): TestSheet => {
    const originalRows = sheets.find((sheet) => sheet.name === name)?.rows ?? [];
    if (name === 'read me') return { name, rows: originalRows };
    if (rows.length === 0) return { name, rows: originalRows.slice(0, 1) };
    const header = Object.keys(Object.assign({}, ...rows));
    return {
      name,
      rows: [header, ...rows.map((row) => header.map((column) => row[column] ?? null))],
    };
  });
}

function toRows({ rows: [header = [], ...rows] }: TestSheet): Row[] {
  const filled = rows.filter((row) => row.some((cell) => cell !== null));
  return filled.map((row) =>
    Object.fromEntries(header.map((column, at) => [String(column), row[at] ?? null])),
  );
}

/**
 * Makes a ZIP archive. `size` replaces the uncompressed sizes in its central directory (APPNOTE
 * 4.3).
 */
export function zip(entries: Record<string, string>, size?: number): Buffer {
  const local: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(entries)) {
    const data = Buffer.from(text);
    const sizes = Buffer.alloc(16);
    sizes.writeUInt32LE(crc32(data), 0);
    sizes.writeUInt32LE(data.length, 4);
    sizes.writeUInt32LE(size ?? data.length, 8);
    sizes.writeUInt16LE(name.length, 12);
    const head = [Buffer.alloc(10), sizes];
    local.push(Buffer.from('PK\x03\x04'), ...head, Buffer.from(name), data);
    const location = Buffer.alloc(14);
    location.writeUInt32LE(offset, 10);
    directory.push(
      Buffer.from('PK\x01\x02'),
      Buffer.alloc(2),
      ...head,
      location,
      Buffer.from(name),
    );
    offset += 30 + name.length + data.length;
  }
  const end = Buffer.alloc(18);
  end.writeUInt16LE(local.length / 5, 6);
  end.writeUInt32LE(Buffer.concat(directory).length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...local, ...directory, Buffer.from('PK\x05\x06'), end]);
}

/** Makes an .ods file with the sheet `listings`. `rows` is the XML of the sheet's rows. */
export function openDocument(rows: string): Buffer {
  const type = 'application/vnd.oasis.opendocument.spreadsheet';
  const spreadsheet = `<office:spreadsheet><table:table table:name="listings">${rows}</table:table></office:spreadsheet>`;
  const content = `<office:document-content><office:body>${spreadsheet}</office:body></office:document-content>`;
  return zip({ mimetype: type, 'content.xml': content });
}
