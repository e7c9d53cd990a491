/** Workbooks for tests, as an editor makes and changes them. */

import { type Cell, readXlsx, type Sheet, type WriteSheet, writeXlsx } from 'hucre/xlsx';

export type Value = string | number | boolean | Date | null;
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

/** A cell with the error of a formula, or a formula with its last value. */
export function errorCell(error: string): Cell {
  return { value: error, type: 'error' };
}
export function formulaCell(formula: string, formulaResult?: string | number): Cell {
  return {
    value: null,
    type: 'formula',
    formula,
    ...(formulaResult !== undefined && { formulaResult }),
  };
}

type Row = Record<string, Value>;
type Edited = Record<string, Row[]>;

/** Opens a workbook, lets `edit` change its rows, and saves it. */
export async function editWorkbook(
  bytes: Uint8Array,
  edit: (sheets: Edited) => void,
): Promise<Uint8Array> {
  const { sheets } = await readXlsx(bytes);
  const edited = Object.fromEntries(sheets.map((sheet) => [sheet.name, rowsOf(sheet)]));
  const columns = new Map(
    sheets.map(({ name, rows: [header = []] }) => [name, header.map(String)]),
  );
  edit(edited);
  return await workbook(
    Object.fromEntries(
      Object.entries(edited).map(([name, rows]) => {
        if (name === 'read me')
          return [name, sheets.find((each) => each.name === name)?.rows ?? []];
        const header = columns.get(name) ?? Object.keys(rows[0] ?? {});
        return [name, [header, ...rows.map((row) => header.map((column) => row[column] ?? null))]];
      }),
    ),
  );
}

function rowsOf({ rows: [header = [], ...rows] }: Sheet): Row[] {
  const filled = rows.filter((row) => row.some((cell) => cell !== null));
  return filled.map((row) =>
    Object.fromEntries(header.map((column, at) => [String(column), row[at] ?? null])),
  );
}
