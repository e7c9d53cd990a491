/** The problems of a listings file. report/problem-lines.ts prints them. Pure. */

export type FileLocation = {
  kind: 'file' | 'cell' | 'location' | 'amenity' | 'listing';
  /** e.g. `properties[3]`, `photos!C12`, `the file` */
  position: string;
  /** Finds the cell of a path in a workbook, e.g. `photos!C12` in the column `url`, and its text. */
  findCell?: (path: string) => { cell: string; column: string; text?: string };
  key?: { field: string; value: string } | undefined;
};

export type FieldProblem = {
  /** Dotted: `photos.0.url`; `""` for the record as a whole. */
  path: string;
  value?: unknown;
  /** Follows the path and the value, e.g. `must be yes or no`. */
  message: string;
  /** What to do, in a sentence of its own, e.g. `Format the cell as a number and enter 295000.` */
  advice?: string;
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
export function asTyped(word: string, { findCell }: FileLocation, path: string): string {
  const text = findCell?.(path).text ?? '';
  const at = text.toLowerCase().indexOf(word);
  return at === -1 ? word : text.slice(at, at + word.length);
}

/** Leaves out later problems of a value: an unreadable cell is a wrong value too. */
export function mergeProblems(first: ImportProblem[], later: ImportProblem[]): ImportProblem[] {
  const nameValue = ({ location, path }: ImportProblem) =>
    location.findCell?.(path).cell ?? `${location.position} ${path}`;
  const known = new Set(first.map(nameValue));
  return [...first, ...later.filter((each) => each.path === '' || !known.has(nameValue(each)))];
}
