/** The problems of a listings file. report/problem-lines.ts prints them. */

import type { Column } from './columns.ts';

/** The place of a record in its file, as plain data. */
export type FileLocation = {
  kind: 'file' | 'cell' | 'location' | 'amenity' | 'listing';
  /** e.g. `properties[3]`, `photos!C12`, `the file` */
  position: string;
  key?: { field: string; value: string } | undefined;
  /** The row of a workbook; undefined for a record of JSON. */
  row?: SheetPosition;
  /** The rows of the entries of a listing's lists, by field. */
  entries?: Readonly<Record<string, readonly FileLocation[]>>;
};

/** A row and the columns of its sheet, counted from 0. */
type SheetPosition = {
  sheet: string;
  index: number;
  /** undefined for a column that an import does not read. */
  columns: readonly (Pick<Column, 'name' | 'field' | 'locale'> | undefined)[];
  /** The texts of the cells, as they were typed. */
  texts: readonly string[];
};

type CellReference = { cell: string; column: string; text?: string };

/**
 * Finds the cell of a path in a workbook, e.g. `photos!C12` in the column `url`, and its text. Returns
 * undefined for a record of JSON.
 *
 * @example findCell(location, 'photos.3.alt.en') // { cell: 'photos!E12', column: 'alt.en', … }
 */
export function findCell(location: FileLocation, path: string): CellReference | undefined {
  if (location.row === undefined) return undefined;
  const [field = '', index, ...rest] = path.split('.');
  const entry = location.entries?.[field]?.[Number(index ?? 0)];
  if (entry !== undefined) {
    return findCell(entry, rest.join('.')) ?? { cell: entry.position, column: '' };
  }
  const { sheet, index: row, columns, texts } = location.row;
  const isAt = (column: (typeof columns)[number]) =>
    column !== undefined && `${path}.`.startsWith(`${column.field}.${column.locale ?? ''}`);
  const at = columns.findIndex(isAt);
  const first = columns.findIndex((column) => column !== undefined);
  return {
    cell: nameCell(sheet, row, at === -1 ? first : at),
    column: columns[at]?.name ?? path,
    text: `${texts[at]}`,
  };
}

/** Names a cell as a spreadsheet does, e.g. `photos!C12`. Row and column count from 0. */
export function nameCell(sheet: string, row: number, column: number): string {
  const letters = (number: number): string =>
    number < 0
      ? ''
      : letters(Math.floor(number / 26) - 1) + String.fromCharCode(65 + (number % 26));
  return `${sheet}!${letters(column)}${row + 1}`;
}

export type FieldProblem = {
  /** Dotted: `photos.0.url`; `""` for the record as a whole. */
  path: string;
  value?: unknown;
  /** Follows the path and the value, e.g. `must be yes or no`. */
  message: string;
  /** What to do, in a sentence of its own, e.g. `Format the cell as a number and enter 295000.` */
  hint?: string;
  /** Shown instead of path and value: `amenity "jacuzi"`. */
  subject?: string;
  /** An unknown name, and the known ones, for a suggestion. */
  unknown?: { name: string; knownNames: readonly string[] };
  /** Printed once, below all problems. */
  remedy?: string;
  /** Whether a field that the record needs is not there. */
  isMissing?: boolean;
};

/** A problem whose path is not known yet. */
export type Reason = Omit<FieldProblem, 'path'>;

export type ImportProblem = FieldProblem & { location: FileLocation };

export const THE_FILE: FileLocation = { kind: 'file', position: 'the file' };

/** e.g. `properties[3] (slug "casa-marea")` */
export function formatLocation({ position, key }: Pick<FileLocation, 'position' | 'key'>): string {
  return key === undefined || key.value === position
    ? position
    : `${position} (${key.field} ${JSON.stringify(key.value)})`;
}

/** Returns a word as its cell has it: an import reads words in any case. */
export function asTyped(word: string, location: FileLocation, path: string): string {
  const text = findCell(location, path)?.text ?? '';
  const at = text.toLowerCase().indexOf(word);
  return at === -1 ? word : text.slice(at, at + word.length);
}

/** Leaves out later problems of a value, because an unreadable cell is a wrong value too. */
export function mergeProblems(first: ImportProblem[], later: ImportProblem[]): ImportProblem[] {
  const nameValue = ({ location, path }: ImportProblem) =>
    findCell(location, path)?.cell ?? `${location.position} ${path}`;
  const reportedValues = new Set(first.map(nameValue));
  return [
    ...first,
    ...later.filter((problem) => problem.path === '' || !reportedValues.has(nameValue(problem))),
  ];
}
