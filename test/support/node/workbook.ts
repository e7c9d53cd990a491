/** Workbooks for tests, as an editor makes and changes them. */

import { crc32 } from 'node:zlib';
import { type Cell, readXlsx, type Sheet, type WriteSheet, writeXlsx } from 'hucre/xlsx';

type Value = string | number | boolean | Date | null;
type Rows = readonly (readonly Value[])[];

/** Makes a workbook. Text in `cells` replaces a cell by its place, e.g. a formula at `0,1`. */
export async function workbook(
  sheets: Record<string, Rows>,
  more: Record<string, Partial<WriteSheet>> = {},
): Promise<Uint8Array> {
  return await writeXlsx({
    sheets: Object.entries(sheets).map(([name, rows]) => ({
      name,
      rows: rows.map((row) => [...row]),
      ...more[name],
    })),
  });
}

/**
 * Makes the rows of sheets of lines with `|` between the cells. A cell is JSON, a text, or `DAY`.
 *
 * @example parseSheets(`
 * slug | price_from
 * casa-marea | 121000
 * == photos
 * listing | url`)
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

/** A formula with its last value. */
export function formulaCell(formula: string, formulaResult?: string | number): Cell {
  return {
    value: null,
    type: 'formula',
    formula,
    ...(formulaResult !== undefined && { formulaResult }),
  };
}

type Row = Record<string, Value>;
/** The rows of each sheet, by the headers of their columns. */
type Edited = Record<string, Row[]>;
export type Edit = (sheets: Edited) => void;

/** Changes cells of the row of a slug, or of one of the rows of a listing in `photos` and the like. */
export function change(sheet: string, slug: string, cells: Row, at = 0): Edit {
  return ({ [sheet]: rows = [] }) => {
    const row = rows.filter(({ listing = null, ...own }) => (listing ?? own.slug) === slug)[at];
    if (row === undefined) throw new Error(`${sheet} has no row ${at} of ${slug}`);
    Object.assign(row, cells);
  };
}

export function add(sheet: string, ...rows: Row[]): Edit {
  return ({ [sheet]: all }) => all?.push(...rows);
}

/** Opens a workbook, lets `edits` change its rows, and saves it. */
export async function editWorkbook(bytes: Uint8Array, ...edits: Edit[]): Promise<Uint8Array> {
  const { sheets } = await readXlsx(bytes);
  const edited = Object.fromEntries(sheets.map((sheet) => [sheet.name, rowsOf(sheet)]));
  for (const edit of edits) edit(edited);
  const saved = Object.entries(edited).map(([name, rows]): [string, Rows] => {
    const own = sheets.find((each) => each.name === name)?.rows ?? [];
    if (name === 'read me') return [name, own];
    if (rows.length === 0) return [name, own.slice(0, 1)];
    const header = Object.keys(Object.assign({}, ...rows));
    return [name, [header, ...rows.map((row) => header.map((column) => row[column] ?? null))]];
  });
  return await workbook(Object.fromEntries(saved));
}

function rowsOf({ rows: [header = [], ...rows] }: Sheet): Row[] {
  const filled = rows.filter((row) => row.some((cell) => cell !== null));
  return filled.map((row) =>
    Object.fromEntries(header.map((column, at) => [String(column), row[at] ?? null])),
  );
}

/** Makes a ZIP archive of texts. Its directory may say other unpacked sizes (APPNOTE 4.3). */
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
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02'), Buffer.alloc(2), ...head, place, Buffer.from(name));
    offset += 30 + name.length + data.length;
  }
  const end = Buffer.alloc(18);
  end.writeUInt16LE(local.length / 5, 6);
  end.writeUInt32LE(Buffer.concat(directory).length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...local, ...directory, Buffer.from('PK\x05\x06'), end]);
}

/** Makes an .ods of the XML of one sheet, `listings`. */
export function openDocument(rows: string): Buffer {
  const type = 'application/vnd.oasis.opendocument.spreadsheet';
  const spreadsheet = `<office:spreadsheet><table:table table:name="listings">${rows}</table:table></office:spreadsheet>`;
  const content = `<office:document-content><office:body>${spreadsheet}</office:body></office:document-content>`;
  return zip({ mimetype: type, 'content.xml': content });
}
