/** Writes a catalogue as a workbook for editors. */

import {
  type CellStyle,
  colToLetter,
  type DataValidation,
  type WriteSheet,
  writeXlsx,
  type CellValue as XlsxValue,
} from 'hucre/xlsx';
import type { Source } from '../../../src/properties/source.ts';
import type { Fields } from '../catalogue/records.ts';
import { toCell } from '../read/cells.ts';
import { type Column, SHEET_NAMES, SHEETS, type SheetName } from '../read/columns.ts';
import { readMeSheet } from './read-me.ts';
import { listSheetRecords, type StoredRecords } from './sheet-records.ts';

/**
 * Number of formatted rows below the last record. Their format stops a spreadsheet from converting
 * text in new rows.
 */
const EMPTY_ROWS = 500;
const LINE_POINTS = 15;
const FONT = { name: 'Calibri', size: 11 };
const LINE = { style: 'hair', color: { rgb: 'B7C4CA' } } as const;
const HEADER: CellStyle = {
  font: { ...FONT, bold: true, color: { rgb: 'FFFFFF' } },
  fill: { type: 'pattern', pattern: 'solid', fgColor: { rgb: '1F4E5F' } },
  alignment: { vertical: 'center' },
};
const BODY: CellStyle = { font: FONT, alignment: { vertical: 'top' }, border: { bottom: LINE } };
const KEY: CellStyle = { ...BODY, font: { ...FONT, bold: true } };
const TEXT_FORMAT = '@';

export async function writeWorkbook(
  stored: StoredRecords,
  listings: readonly Source[],
  exportId: string,
): Promise<Uint8Array> {
  const records = listSheetRecords(stored, listings, exportId);
  const lastRows = (name: SheetName) => records[name].length + 1 + EMPTY_ROWS;
  const sheets = SHEET_NAMES.map((name) => writeSheet(name, records[name], lastRows));
  return await writeXlsx({ sheets: [...sheets, readMeSheet(exportId)] });
}

function writeSheet(
  name: SheetName,
  records: readonly Fields[],
  lastRows: (name: SheetName) => number,
): WriteSheet {
  const { columns } = SHEETS[name];
  const filled = records.map((record) => columns.map((column) => formatCell(column, record)));
  const emptyRow = columns.map(() => null);
  const rows: XlsxValue[][] = [
    columns.map((column) => column.name),
    ...filled,
    ...Array.from({ length: EMPTY_ROWS }, () => emptyRow),
  ];
  const cells: NonNullable<WriteSheet['cells']> = new Map();
  const rowDefs: NonNullable<WriteSheet['rowDefs']> = new Map([[0, { height: 2 * LINE_POINTS }]]);
  for (const [at, column] of columns.entries()) {
    cells.set(`0,${at}`, { value: column.name, type: 'string', style: HEADER });
  }
  for (const [row, line] of filled.entries()) {
    // Otherwise text with line breaks would make its row taller.
    if (line.some((value) => typeof value === 'string' && value.includes('\n')))
      rowDefs.set(row + 1, { height: LINE_POINTS });
    for (const [at, value] of line.entries()) {
      // Otherwise the library would write such text as a formula error.
      if (typeof value === 'string' && value.startsWith('#')) {
        cells.set(`${row + 1},${at}`, { value, type: 'richText', richText: [{ text: value }] });
      }
    }
  }
  return {
    name,
    rows,
    cells,
    rowDefs,
    columns: columns.map((column, at) => ({
      width: chooseWidth(
        column,
        filled.map((line) => `${line[at] ?? ''}`.length),
      ),
      style: {
        ...(at === 0 ? KEY : BODY),
        ...(column.kind !== 'number' && { numFmt: TEXT_FORMAT }),
      },
      ...(column.isHidden && { hidden: true }),
    })),
    freezePane: { rows: 1, columns: 1 },
    autoFilter: { range: `A1:${colToLetter(columns.length - 1)}${records.length + 1}` },
    dataValidations: columns.flatMap((column, at): DataValidation[] => {
      const list = formatChoices(column, lastRows);
      if (list === undefined) return [];
      const letter = colToLetter(at);
      const range = `${letter}2:${letter}${lastRows(name)}`;
      const error = { showErrorMessage: true, errorTitle: column.name };
      return [
        {
          type: 'list',
          ...list,
          range,
          allowBlank: true,
          ...error,
          errorMessage: 'Choose one of the list.',
        },
      ];
    }),
  };
}

function formatChoices({ kind, choices }: Column, lastRows: (name: SheetName) => number) {
  if (kind === 'boolean') return { values: ['yes', 'no'] };
  if (typeof choices === 'string') return { formula1: `${choices}!$A$2:$A$${lastRows(choices)}` };
  return choices && { values: [...choices] };
}

/**
 * Formats a cell for the library. Escapes `_x`, because an .xlsx would read text such as `_x0041_`
 * as a character code.
 */
function formatCell(column: Column, record: Fields): XlsxValue {
  const cell = toCell(column, record);
  return typeof cell === 'string' ? cell.replaceAll(/_(?=x[\da-f]{4}_)/gi, '_x005F_') : cell;
}

const MIN_WIDTH = 8;
const MAX_WIDTH = 48;

/** Chooses a column width, in characters, that fits the header and nine out of ten cells. */
function chooseWidth(column: Column, lengths: number[]): number {
  const usual = lengths.sort((a, b) => a - b)[Math.floor(lengths.length * 0.9)] ?? 0;
  return Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, column.name.length + 4, usual + 2));
}
