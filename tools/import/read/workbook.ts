/** Reads the rows of a workbook's sheets, and reports every cell that cannot be read. */

import type { Sheet } from 'hucre';
import { closestMatch } from '../../command-line/plurals.ts';
import { printable } from '../../command-line/printable.ts';
import { UserError } from '../../command-line/user-error.ts';
import type { Fields } from '../catalogue/records.ts';
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
import { type OpenedWorkbook, openSheets } from './open-workbook.ts';
import { withKey } from './parse.ts';
import {
  type FieldProblem,
  type FileLocation,
  type ImportProblem,
  nameCell,
  type Reason,
} from './problem.ts';
import { rejectPartialSort } from './sorted-alone.ts';

export type SheetRow = {
  location: FileLocation;
  /** The values of the row's visible cells and its hidden id. */
  cells: Fields;
  /** The content of the hidden cell `as of`, which holds the row mark: see marks.ts. */
  markCell: unknown;
};

/** The rows of each sheet; undefined for a sheet that the workbook does not have. */
export type Sheets = Partial<Record<SheetName, SheetRow[]>>;

export type Workbook = {
  form: 'workbook';
  /** Id of the export that the workbook comes from. */
  exportId?: string | undefined;
  sheets: Sheets;
  problems: ImportProblem[];
  /** Lines for the report about ignored sheets. */
  notes: string[];
};

type SheetRows = { rows: SheetRow[]; problems: ImportProblem[] };

/**
 * Reads a workbook. Throws a `UserError` if the file is not a workbook, or contains no
 * catalogue sheet.
 */
export async function readWorkbook(bytes: Uint8Array): Promise<Workbook> {
  return readOpenedWorkbook(await openSheets(bytes));
}

export function readOpenedWorkbook({ sheets, otherTabs }: OpenedWorkbook): Workbook {
  const sheetRows = new Map<SheetName, SheetRows>();
  const otherSheets: Sheet[] = [];
  for (const sheet of sheets) {
    const name = SHEET_NAMES.find((candidate) => candidate === toWord(sheet.name));
    if (name !== undefined && !sheetRows.has(name)) {
      sheetRows.set(name, readSheet(name, sheet));
    } else if (toWord(sheet.name) !== READ_ME) otherSheets.push(sheet);
  }
  rejectRenamed(otherSheets, sheetRows);
  for (const [name, { rows }] of sheetRows) rejectPartialSort(name, rows);
  const otherNames = otherSheets.map(({ name }) => name);
  if (sheetRows.size === 0) {
    const names = [...otherNames, ...otherTabs.map(({ name }) => name)].join(', ') || READ_ME;
    const message = `The workbook has no sheet of a catalogue, only ${names}. The names of its sheets are ${SHEET_NAMES.join(', ')}.`;
    throw new UserError(printable(message));
  }
  return {
    form: 'workbook',
    exportId: findExportId(sheets),
    sheets: Object.fromEntries(sheetRows.entries().map(([name, { rows }]) => [name, rows])),
    notes: [
      ...otherNames.map(formatIgnored),
      ...otherTabs.map(
        ({ name, kind }) => `Ignored: the tab ${JSON.stringify(name)}, which is ${kind}`,
      ),
    ],
    problems: [...sheetRows.values()].flatMap(({ problems }) => problems),
  };
}

/**
 * Throws a `UserError` if an unknown sheet has the header of a missing sheet. It was probably
 * renamed, and may contain an editor's changes.
 */
function rejectRenamed(sheets: readonly Sheet[], sheetRows: ReadonlyMap<SheetName, unknown>): void {
  const missingNames = SHEET_NAMES.filter((name) => !sheetRows.has(name));
  const messages = sheets.flatMap(({ name, rows }) => {
    const header = (rows[0] ?? []).filter((cell) => !isBlankCell(cell));
    const findColumns = (candidate: SheetName) =>
      header.map((cell) => findColumn(cell, SHEETS[candidate].columns));
    const countColumns = (candidate: SheetName) => findColumns(candidate).filter(Boolean).length;
    const [missingName] = missingNames
      .filter(
        (candidate) =>
          !checkHeader(candidate, findColumns(candidate)) &&
          2 * countColumns(candidate) > header.length,
      )
      .sort((a, b) => countColumns(b) - countColumns(a));
    if (missingName === undefined) return [];
    const sheet = `The sheet ${JSON.stringify(name)}`;
    return `${sheet} has the columns of the missing sheet ${missingName}. Rename it to ${missingName}.`;
  });
  if (messages.length > 0) throw new UserError(printable(messages.join('\n')));
}

/**
 * Formats the note about an ignored sheet, e.g. `Ignored: the sheet "Photo", did you mean photos?`
 */
function formatIgnored(name: string): string {
  const match = closestMatch(name, SHEET_NAMES);
  const question = match === undefined ? '' : `, did you mean ${match}?`;
  return `Ignored: the sheet ${JSON.stringify(name)}${question}`;
}

function findExportId(sheets: readonly Sheet[]): string | undefined {
  const readMe = sheets.find(({ name }) => toWord(name) === READ_ME);
  const [, id] = readMe?.rows.find(([label]) => label === EXPORT_LABEL) ?? [];
  return typeof id === 'string' ? id.trim() : undefined;
}

function readSheet(sheet: SheetName, { rows, cells, merges = [] }: Sheet): SheetRows {
  const [header = []] = rows;
  const columns = header.map((cell) => findColumn(cell, SHEETS[sheet].columns));
  const problems: ImportProblem[] = [];
  const reject = (row: number, column: number, reason: Reason | undefined) => {
    if (reason === undefined) return;
    const location: FileLocation = { kind: 'cell', position: nameCell(sheet, row, column) };
    problems.push({ location, path: '', ...reason });
  };
  reject(0, 0, checkHeader(sheet, columns));
  if (problems.length > 0) return { rows: [], problems };
  for (const { startRow, startCol } of merges) {
    const hint = 'Unmerge them and fill in each cell.';
    reject(startRow, startCol, { message: 'is the first of several merged cells', hint });
  }
  for (const [at, cell] of header.entries()) {
    reject(0, at, checkColumn(cell, at, columns, SHEETS[sheet].columns));
  }
  const sheetRows = rows.slice(1).flatMap((row, index): SheetRow[] => {
    const stray = row.findIndex((cell, at) => isBlankCell(header[at]) && !isBlankCell(cell));
    if (stray !== -1) {
      const hint = `Delete the cell, or enter # into ${nameCell(sheet, 0, stray)}.`;
      const message = 'is in a column without a name';
      reject(index + 1, stray, { value: row[stray], message, hint });
    }
    if (row.every((cell, at) => columns[at] === undefined || isBlankCell(cell))) return [];
    const typed = row.map((value, at): Cell => ({ ...cells?.get(`${index + 1},${at}`), value }));
    const { fieldProblems, ...sheetRow } = readRow(sheet, index + 1, columns, typed);
    problems.push(...fieldProblems.map((problem) => ({ location: sheetRow.location, ...problem })));
    return [sheetRow];
  });
  return { rows: sheetRows, problems };
}

function isBlankCell(cell: Cell['value'] | undefined): boolean {
  return cell == null || (typeof cell === 'string' && toWord(cell) === '');
}

/** Finds a column by its header or by the name of its JSON field, regardless of case. */
function findColumn(header: Cell['value'], columns: readonly Column[]): Column | undefined {
  const name = typeof header === 'string' ? toWord(header) : '';
  return columns.find((column) => column.name === name || column.field === name);
}

/** Explains why the first row is not a valid header; undefined if it is. */
function checkHeader(
  sheet: SheetName,
  columns: readonly (Column | undefined)[],
): Reason | undefined {
  const { keys } = SHEETS[sheet];
  const names = columns.flatMap((column) => column?.name ?? []);
  const hasKey = keys.some((key) => names.includes(key));
  if (hasKey && (!(sheet in LISTS) || names.includes('listing'))) return undefined;
  return {
    message: `is not a header with the column ${hasKey ? 'listing' : keys.join(' or ')}`,
    hint: `The sheet ${sheet} needs this column, and its header in the first row.`,
  };
}

/** Explains why the header cell at `at` does not name a column; undefined if it does. */
function checkColumn(
  header: Cell['value'],
  at: number,
  headerColumns: readonly (Column | undefined)[],
  columns: readonly Column[],
): Reason | undefined {
  const column = headerColumns[at];
  if (column !== undefined) {
    if (headerColumns.indexOf(column) === at) return undefined;
    const hint = 'Delete one, or begin its name with #.';
    return { value: header, message: 'heads two columns', hint };
  }
  const name = typeof header === 'string' ? header.trim() : String(header ?? '');
  if (name === '' || name.startsWith('#')) return undefined;
  const names = columns.map((candidate) => candidate.name);
  const match =
    closestMatch(name, names) ??
    names.find((candidate) => candidate.startsWith(name.toLowerCase()));
  const hint =
    match === undefined ? 'Delete it, or begin its name with #.' : `Did you mean ${match}?`;
  return { value: header, message: 'is not a column of this sheet', hint };
}

/** Reads a row. `row` counts from 0. */
function readRow(
  sheet: SheetName,
  row: number,
  columns: readonly (Column | undefined)[],
  cells: readonly Cell[],
): SheetRow & { fieldProblems: FieldProblem[] } {
  const values: Fields = {};
  const fieldProblems: FieldProblem[] = [];
  for (const [at, column] of columns.entries()) {
    if (column === undefined) continue;
    const cell = cells[at] ?? { value: null };
    const result = readCell(column, cell);
    if ('message' in result) {
      fieldProblems.push({ path: fieldPath(column), ...result, value: cell.value ?? undefined });
    }
    // An unreadable cell keeps its value, so that its field is not missing too. `mergeProblems` drops
    // its second problem.
    const value = 'message' in result ? cell.value : result.value;
    // An empty id is derived from the other keys.
    if (column.field === 'id' && value === null) continue;
    setValue(values, column, value);
  }
  const { kind } = SHEETS[sheet];
  const first = columns.findIndex((column) => column !== undefined);
  const location: FileLocation = {
    kind,
    position: nameCell(sheet, row, first),
    row: { sheet, index: row, columns, texts: cells.map(({ value }) => `${value}`) },
  };
  // The report never names a photo by its id.
  const keys = sheet in LISTS ? { slug: values.listing } : values;
  const { [AS_OF.field]: markCell, ...dataValues } = values;
  return { location: withKey(location, keys), cells: dataValues, markCell, fieldProblems };
}
