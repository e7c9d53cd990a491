/** The problems of a listings file. report/problem-lines.ts prints them. Pure. */

import { closestMatch } from 'leven';

export type RecordName = {
  kind: 'file' | 'cell' | 'location' | 'amenity' | 'listing';
  /** e.g. `properties[3]`, `photos!C12`, `the file` */
  place: string;
  /** Finds the cell of a path in a workbook, e.g. `photos!C12` in the column `url`. */
  cellAt?: (path: string) => { cell: string; column: string };
  key?: { field: string; value: string } | undefined;
};

/** Code → the end of a sentence that begins with the path and the value. Details are in braces. */
export const SENTENCES = {
  not_a_workbook: 'is no readable workbook ({why}): save it as .xlsx without a password',
  unpacks_too_large:
    'would unpack to {megabytes} MiB, at most {most}: delete sheets, pictures and empty rows, and save it again',
  grouped_rows:
    'has grouped rows, or rows that are repeated on each printed page, which cannot be read from an .ods: save it as .xlsx',
  no_record:
    'has no record: with --patch, {"properties": [{"slug": "casa-marea", "price_from": 121000}]} changes a price',
  no_row:
    'has no row below its headers: fill one in, or edit the file that `npm run -s export-listings -- --out catalogue.xlsx` writes',
  not_utf8: 'is not UTF-8 text: save it as UTF-8',
  not_json: 'is neither JSON ({why}) nor a workbook: save a spreadsheet as .xlsx',
  too_deep: 'is nested too deep',
  twice: 'appears twice in the same object',
  too_large_number: 'is a number that is too large',
  rounded: 'is a number that JavaScript would round to {number}',
  later_header: 'is no header, which is in row {row}: delete the rows before that one',
  no_sheet: 'has no sheet of a catalogue, but {own}: name its sheets {names}',
  renamed_sheet: 'has the columns of the missing sheet {meant}: give it that name',
  no_key_column: 'is no header with the column {column}, which the sheet {sheet} needs',
  merged: 'begins merged cells: unmerge them, and fill in each of them',
  column_twice: 'heads two columns: delete one, or begin its name with #',
  unknown_column: 'is no column of this sheet: {advice}',
  unnamed_column: 'is in a column without a name: delete it, or write # into {head}',
  not_a_number: 'is no number: format the cell as a number, and write {number}',
  not_a_text: 'is no text: format the cell as text, and write it again',
  not_a_choice: 'must be a text, one of {choices}',
  not_a_boolean: 'must be yes or no',
  too_many_digits:
    'is a number with more than 15 digits, which a spreadsheet rounds: format the cell as text, and write it again',
  date: 'is a date: format the cell as text, and write it again',
  date_not_number: 'is a date: format the cell as a number, and write it again',
  formula_error: 'is the error of a formula: correct the formula, or write its value',
  formula_without_value:
    'is a formula without a value: open the workbook in a spreadsheet program, and save it',
  formula_unfinished:
    'is a formula that Google Sheets had not computed: open the sheet, wait for its values, and download it again',
  no_listing: 'must be the slug of a listing',
  two_heroes: 'is a second hero photo: one photo of a listing may have yes',
  unknown_field: 'is not a field of this resource',
  // The schemas have these two sentences.
  missing: '{message}',
  invalid: '{message}',
  two_names: 'must not be combined with {other}',
  repeats: 'repeats {first}',
  unclear_copy:
    'has the hidden id of {first}, and neither has its stored slug: clear {cell} in the copy',
  hero_id: 'must be the id of one of the photos of this listing',
  hero_address: 'must be the address of one of the photos of this listing',
  slug_taken: 'is the slug of the stored {holder}{advice}',
  id_taken:
    'gives the id of the stored {holder}, which had this {idField} before: give the new one another id, or name the stored one by its id or {key}',
  hid_repeats: 'is the hid of {holder} too',
  unclear_hid: 'is the hid of several stored listings: name one by its slug or id',
  names_no_listing: 'names no listing: give its slug, hid or id',
  incomplete: 'no {kind} is stored under this {key}, and a new one needs {fields}',
  not_stored: 'no stored listing has the slug {slug}',
  not_known: 'is not known',
  too_large: 'is too large to {use}: {bytes} bytes, at most {most}',
  changed_since: 'has changed since the file was made, {by}: the file would change {changes}',
  cell_changed: '{written} is {stored} in the store now, changed {by}',
  removed_since:
    'has been removed from the store since the export: delete the row, or clear its hidden cells to add it again',
  lost_id:
    'has no id, and the listing of its mark has the slug {slug} now: give it that slug, or clear "as of" of a new listing',
  moved_alone:
    'has the value of another row, as {count} of the {all} changed cells of this column: it was sorted or shifted alone. --many imports it',
  too_many: 'would {counts} of the {all}, more than a fifth. --many imports it',
} as const;

export type Fault = {
  code: keyof typeof SENTENCES;
  details?: Readonly<Record<string, string | number>>;
  /** Dotted: `photos.0.url`; `""` for the record as a whole. */
  path: string;
  value?: unknown;
  /** Shown instead of path and value: `amenity "jacuzi"`. */
  subject?: string;
  /** An unknown name, and the known ones, for a suggestion. */
  unknown?: { name: string; known: readonly string[] };
};

export type ImportProblem = Fault & { record: RecordName };

export const THE_FILE: RecordName = { kind: 'file', place: 'the file' };

/** e.g. `properties[3] (slug "casa-marea")` */
export function formatName({ place, key }: RecordName): string {
  return key === undefined || key.value === place
    ? place
    : `${place} (${key.field} ${JSON.stringify(key.value)})`;
}

/** Leaves out later problems of a value: an unreadable cell is a wrong value too. */
export function distinct(first: ImportProblem[], later: ImportProblem[]): ImportProblem[] {
  const nameValue = ({ record, path }: ImportProblem) =>
    record.cellAt?.(path).cell ?? `${record.place} ${path}`;
  const known = new Set(first.map(nameValue));
  return [...first, ...later.filter((each) => each.path === '' || !known.has(nameValue(each)))];
}

/**
 * Returns the candidate that a misspelt word most likely means. Allows an edit for each third
 * character, and at most three. The case is no edit.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const maxDistance = Math.min(3, Math.round(word.length / 3));
  const byLowerCase = new Map(candidates.map((each) => [each.toLowerCase(), each]));
  const found = closestMatch(word.toLowerCase(), [...byLowerCase.keys()], { maxDistance });
  return found === undefined ? found : byLowerCase.get(found);
}

/** e.g. `1 listing`, `2 amenities` */
export function counted(count: number, one: string): string {
  return `${count} ${count === 1 ? one : pluralize(one)}`;
}

export function pluralize(one: string): string {
  return `${one.replace(/y$/, 'ie')}s`;
}
