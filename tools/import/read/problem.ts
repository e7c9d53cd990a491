/** Describes the problems of a listings file. report/problem-lines.ts prints them. */

import type { Column } from './columns.ts';

/** The location of a record in its file. */
export type FileLocation = {
  kind: 'file' | 'cell' | 'location' | 'amenity' | 'listing';
  /** The position in the file, e.g. `properties[3]`, `photos!C12` or `the file`. */
  position: string;
  key?: { field: string; value: string } | undefined;
  /** The row in a workbook; undefined for a record in JSON. */
  row?: SheetPosition;
  /** Locations of the entries in a listing's lists, by the list's field. */
  entries?: Readonly<Record<string, readonly FileLocation[]>>;
};

/** A row and the columns of its sheet, counted from 0. */
type SheetPosition = {
  sheet: string;
  index: number;
  /** The columns of the sheet; undefined for a column that an import does not read. */
  columns: readonly (Pick<Column, 'name' | 'field' | 'locale'> | undefined)[];
  /** The text of each cell as it was typed. */
  texts: readonly string[];
};

type CellReference = { cell: string; column: string; text?: string };

/**
 * Finds the cell that contains the value at a path. Returns its text, and its position in the
 * workbook, e.g. `photos!C12`. Returns undefined for a record in JSON.
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

/** Names a cell as a spreadsheet does, e.g. `photos!C12`. `row` and `column` count from 0. */
export function nameCell(sheet: string, row: number, column: number): string {
  const letters = (number: number): string =>
    number < 0
      ? ''
      : letters(Math.floor(number / 26) - 1) + String.fromCharCode(65 + (number % 26));
  return `${sheet}!${letters(column)}${row + 1}`;
}

export type FieldProblem = {
  /** Path of the value, e.g. `photos.0.url`; empty for the complete record. */
  path: string;
  value?: unknown;
  /** Completes a sentence that begins with the path and the value, e.g. `must be yes or no`. */
  message: string;
  /** Instruction in a separate sentence, e.g. `Format the cell as a number and enter 295000.` */
  hint?: string;
  /** Replaces the path and the value in the message, e.g. `amenity "jacuzi"`. */
  subject?: string;
  /** An unknown name with the valid ones, from which the closest match is suggested. */
  unknown?: { name: string; knownNames: readonly string[] };
  /** Instruction that is printed once, below all problems. */
  remedy?: string;
  /** Whether a required field is missing. */
  isMissing?: boolean;
};

/** A problem whose path is added later. */
export type Reason = Omit<FieldProblem, 'path'>;

export type ImportProblem = FieldProblem & { location: FileLocation };

export const THE_FILE: FileLocation = { kind: 'file', position: 'the file' };

/** Formats a location with the record's key, e.g. `properties[3] (slug "casa-marea")`. */
export function formatLocation({ position, key }: Pick<FileLocation, 'position' | 'key'>): string {
  return key === undefined || key.value === position
    ? position
    : `${position} (${key.field} ${JSON.stringify(key.value)})`;
}

/** Returns a word as the editor typed it, because an import reads words regardless of case. */
export function asTyped(word: string, location: FileLocation, path: string): string {
  const text = findCell(location, path)?.text ?? '';
  const at = text.toLowerCase().indexOf(word);
  return at === -1 ? word : text.slice(at, at + word.length);
}

/**
 * Combines problems from two checks, keeping only the first one of each value. An unreadable cell
 * would otherwise also be reported as a wrong value.
 */
export function mergeProblems(first: ImportProblem[], later: ImportProblem[]): ImportProblem[] {
  const nameValue = ({ location, path }: ImportProblem) =>
    findCell(location, path)?.cell ?? `${location.position} ${path}`;
  const reportedValues = new Set(first.map(nameValue));
  return [
    ...first,
    ...later.filter((problem) => problem.path === '' || !reportedValues.has(nameValue(problem))),
  ];
}
