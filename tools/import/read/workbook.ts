/** Reads a workbook: the records of its sheets, and every cell that cannot be read. */

import { colToLetter, type Sheet } from 'hucre';
import { closestMatch } from '../../command-line/plurals.ts';
import { printable } from '../../command-line/printable.ts';
import { UserError } from '../../command-line/user-error.ts';
import type { Patch } from '../catalogue/records.ts';
import { type Cell, readCell, toWord } from './cells.ts';
import {
  AS_OF,
  type Column,
  EXPORT_LABEL,
  fieldPath,
  LISTS,
  READ_ME,
  SHEET_NAMES,
  SHEETS,
  type SheetName,
  setValue,
} from './columns.ts';
import { openSheets } from './open-workbook.ts';
import { withKey } from './parse.ts';
import type { FieldProblem, FileLocation, ImportProblem, Reason } from './problem.ts';
import { rejectPartialSort } from './sorted-alone.ts';

/** A row of a sheet. */
export type SheetRow = {
  location: FileLocation;
  /** The values of its visible cells and of its hidden id. */
  cells: Patch;
  /** The hidden cell `as of`, with the mark of the export: see marks.ts. */
  markCell: unknown;
};

/** The rows of a workbook by sheet; undefined for a sheet that the workbook does not have. */
export type Sheets = Partial<Record<SheetName, SheetRow[]>>;

export type Workbook = {
  form: 'workbook';
  /** The id of the export that the workbook was made from. */
  exportId?: string | undefined;
  sheets: Sheets;
  problems: ImportProblem[];
  /** Remarks for the report about ignored sheets. */
  notes: string[];
};

type SheetRows = { rows: SheetRow[]; problems: ImportProblem[] };

/** Throws a `UserError` for a workbook of something else. */
export async function readWorkbook(bytes: Uint8Array): Promise<Workbook> {
  const { sheets, otherTabs } = await openSheets(bytes);
  const known = new Map<SheetName, SheetRows>();
  const others: Sheet[] = [];
  for (const sheet of sheets) {
    const name = SHEET_NAMES.find((each) => each === toWord(sheet.name));
    if (name !== undefined && !known.has(name)) {
      known.set(name, readSheet(name, sheet));
    } else if (toWord(sheet.name) !== READ_ME) others.push(sheet);
  }
  rejectRenamed(others, known);
  for (const [name, { rows }] of known) rejectPartialSort(name, rows);
  const ignored = others.map(({ name }) => name);
  if (known.size === 0) {
    const own = [...ignored, ...otherTabs.map(({ name }) => name)].join(', ') || READ_ME;
    const message = `the file has no sheet of a catalogue, but ${own}: name its sheets ${SHEET_NAMES.join(', ')}`;
    throw new UserError(printable(message));
  }
  return {
    form: 'workbook',
    exportId: findExportId(sheets),
    sheets: Object.fromEntries(known.entries().map(([name, { rows }]) => [name, rows])),
    notes: [
      ...ignored.map(formatIgnored),
      ...otherTabs.map(
        ({ name, kind }) => `Ignored: the tab ${JSON.stringify(name)}, which is ${kind}`,
      ),
    ],
    problems: [...known.values()].flatMap(({ problems }) => problems),
  };
}

/** A sheet with the header of a missing one was renamed: it has the changes of an editor. */
function rejectRenamed(sheets: readonly Sheet[], known: ReadonlyMap<SheetName, unknown>): void {
  const missing = SHEET_NAMES.filter((name) => !known.has(name));
  const renamed = sheets.flatMap(({ name, rows }) => {
    const header = (rows[0] ?? []).filter((cell) => !isBlankCell(cell));
    const columnsOf = (each: SheetName) =>
      header.map((cell) => findColumn(cell, SHEETS[each].columns));
    const countOf = (each: SheetName) => columnsOf(each).filter(Boolean).length;
    const [meant] = missing
      .filter((each) => !headerFault(each, columnsOf(each)) && 2 * countOf(each) > header.length)
      .sort((a, b) => countOf(b) - countOf(a));
    if (meant === undefined) return [];
    const sheet = `the sheet ${JSON.stringify(name)}`;
    return `${sheet} has the columns of the missing sheet ${meant}: give it that name`;
  });
  if (renamed.length > 0) throw new UserError(printable(renamed.join('\n')));
}

/** e.g. `Ignored: the sheet "Photo", did you mean photos?` */
function formatIgnored(name: string): string {
  const meant = closestMatch(name, SHEET_NAMES);
  const question = meant === undefined ? '' : `, did you mean ${meant}?`;
  return `Ignored: the sheet ${JSON.stringify(name)}${question}`;
}

function findExportId(sheets: readonly Sheet[]): string | undefined {
  const readMe = sheets.find(({ name }) => toWord(name) === READ_ME);
  const [, id] = readMe?.rows.find(([label]) => label === EXPORT_LABEL) ?? [];
  return typeof id === 'string' ? id.trim() : undefined;
}

/** Names a cell as a spreadsheet does, e.g. `photos!C12`. Row and column count from 0. */
function cellName(sheet: SheetName, row: number, column: number): string {
  return `${sheet}!${colToLetter(column)}${row + 1}`;
}

function readSheet(sheet: SheetName, { rows, cells, merges = [] }: Sheet): SheetRows {
  const [header = []] = rows;
  const columns = header.map((cell) => findColumn(cell, SHEETS[sheet].columns));
  const problems: ImportProblem[] = [];
  const reject = (row: number, at: number, reason: Reason) => {
    const location: FileLocation = { kind: 'cell', position: cellName(sheet, row, at) };
    problems.push({ location, path: '', ...reason });
  };
  const fault = headerFault(sheet, columns);
  if (fault !== undefined) {
    reject(0, 0, fault);
    return { rows: [], problems };
  }
  for (const { startRow, startCol } of merges) {
    const message = 'begins merged cells: unmerge them, and fill in each of them';
    reject(startRow, startCol, { message });
  }
  for (const [at, cell] of header.entries()) {
    const found = columnFault(cell, at, columns, SHEETS[sheet].columns);
    if (found !== undefined) reject(0, at, found);
  }
  const read = rows.slice(1).flatMap((row, index): SheetRow[] => {
    const stray = row.findIndex((cell, at) => isBlankCell(header[at]) && !isBlankCell(cell));
    if (stray !== -1) {
      const head = cellName(sheet, 0, stray);
      const message = `is in a column without a name: delete it, or write # into ${head}`;
      reject(index + 1, stray, { value: row[stray], message });
    }
    if (row.every((cell, at) => columns[at] === undefined || isBlankCell(cell))) return [];
    const typed = row.map((value, at): Cell => ({ ...cells?.get(`${index + 1},${at}`), value }));
    const { faults, ...found } = readRow(sheet, index + 1, columns, typed);
    problems.push(...faults.map((each) => ({ location: found.location, ...each })));
    return [found];
  });
  return { rows: read, problems };
}

function isBlankCell(cell: Cell['value'] | undefined): boolean {
  return cell == null || (typeof cell === 'string' && toWord(cell) === '');
}

/** Finds a column by its header in any case, or by the name of its field in JSON. */
function findColumn(header: Cell['value'], columns: readonly Column[]): Column | undefined {
  const name = typeof header === 'string' ? toWord(header) : '';
  return columns.find((each) => each.name === name || each.field === name);
}

/** Why the first row is no header. */
function headerFault(sheet: SheetName, found: readonly (Column | undefined)[]): Reason | undefined {
  const { keys } = SHEETS[sheet];
  const names = found.flatMap((each) => each?.name ?? []);
  const isKeyed = keys.some((key) => names.includes(key));
  if (isKeyed && (!(sheet in LISTS) || names.includes('listing'))) return undefined;
  const column = isKeyed ? 'listing' : keys.join(' or ');
  return { message: `is no header with the column ${column}, which the sheet ${sheet} needs` };
}

function columnFault(
  header: Cell['value'],
  at: number,
  found: readonly (Column | undefined)[],
  columns: readonly Column[],
): Reason | undefined {
  const column = found[at];
  if (column !== undefined) {
    const message = 'heads two columns: delete one, or begin its name with #';
    return found.indexOf(column) < at ? { value: header, message } : undefined;
  }
  const name = typeof header === 'string' ? header.trim() : String(header ?? '');
  if (name === '' || name.startsWith('#')) return undefined;
  const all = columns.map((each) => each.name);
  const meant = closestMatch(name, all) ?? all.find((each) => each.startsWith(name.toLowerCase()));
  const advice =
    meant === undefined ? 'delete it, or begin its name with #' : `did you mean ${meant}?`;
  return { value: header, message: `is no column of this sheet: ${advice}` };
}

/** Reads the cells of a row. `row` and the places of the columns count from 0. */
function readRow(
  sheet: SheetName,
  row: number,
  columns: readonly (Column | undefined)[],
  cells: readonly Cell[],
): SheetRow & { faults: FieldProblem[] } {
  const value: Patch = {};
  const faults: FieldProblem[] = [];
  for (const [at, column] of columns.entries()) {
    if (column === undefined) continue;
    const cell = cells[at] ?? { value: null };
    const read = readCell(column, cell);
    if ('message' in read) {
      faults.push({ path: fieldPath(column), ...read, value: cell.value ?? undefined });
    }
    // A faulty cell is kept, so that the field is not missing too. `distinct` drops its second fault.
    const own = 'message' in read ? cell.value : read.value;
    // An empty id follows from the other keys.
    if (column.field === 'id' && own === null) continue;
    setValue(value, column, own);
  }
  const cellAt = (path: string) => {
    const isAt = (each: Column | undefined) =>
      each !== undefined && `${path}.`.startsWith(`${each.field}.${each.locale ?? ''}`);
    const at = columns.findIndex(isAt);
    const first = columns.findIndex((each) => each !== undefined);
    return {
      cell: cellName(sheet, row, at === -1 ? first : at),
      column: columns[at]?.name ?? path,
      text: `${cells[at]?.value}`,
    };
  };
  const { kind } = SHEETS[sheet];
  const name: FileLocation = { kind, position: cellAt('').cell, findCell: cellAt };
  // The report never names a photo by its id.
  const keys = sheet in LISTS ? { slug: value.listing } : value;
  const { [AS_OF.field]: markCell, ...values } = value;
  return { location: withKey(name, keys), cells: values, markCell, faults };
}
