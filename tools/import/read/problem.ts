/** The problems of a listings file, and how values are shown. report/problem-lines.ts prints them. Pure. */

import { closestMatch } from 'leven';

export type RecordName = {
  kind: 'file' | 'location' | 'amenity' | 'listing';
  /** e.g. `properties[3]`, `row 12`, `the file` */
  place: string;
  isSheet?: boolean;
  key?: { field: string; value: string } | undefined;
};

/** Code → the end of a sentence that begins with the path and the value. Details are in braces. */
export const SENTENCES = {
  spreadsheet_file: "is a spreadsheet program's own file: export it as CSV",
  not_utf8: 'is not UTF-8 text: save it as {form}',
  not_json: 'is not JSON: {why}',
  too_deep: 'is nested too deep',
  twice: 'appears twice in the same object',
  too_large_number: 'is a number that is too large',
  rounded: 'is a number that JavaScript would round to {number}',
  not_csv: 'is not CSV: {why}',
  no_header: 'has no header row',
  later_header: 'has its header in row {row}: delete the rows before it',
  tabs: 'has tabs between its columns: save it with commas or semicolons',
  unknown_column: 'is no column of a sheet: {advice}',
  column_twice: 'heads two columns',
  unnamed_column: 'is in a column without a name',
  not_a_number: 'must be a number such as 118000 or 118000.5',
  not_whole: 'must be a whole number such as 12',
  thousands: 'has a {sign} before three digits: write {whole}, or {decimal}',
  date: 'is a date, which a spreadsheet has made of a number or a fraction: format the column as text, and write it again',
  formula_error: 'is the error of a formula',
  no_bar: 'must have a | between its entries',
  not_a_boolean: 'must be yes, no, true or false',
  unknown_field: 'is not a field of this resource',
  // The schemas have these two sentences.
  missing: '{message}',
  invalid: '{message}',
  two_names: 'must not be combined with {other}',
  repeats: 'repeats {first}',
  hero_id: 'must be the id of one of the photos of this listing',
  hero_address: 'must be the address of one of the photos of this listing',
  slug_taken: 'is the slug of the stored {holder}{advice}',
  id_taken:
    'gives the id of the stored {holder}, which had this {idField} before: give the new one another id, or name the stored one by its id or {key}',
  hid_taken: 'is the hid of the stored listing {own}, and {slug} is the slug of another one',
  hid_repeats: 'is the hid of {holder} too',
  unclear_hid: 'is the hid of several stored listings: name one by its slug or id',
  names_no_listing: 'names no listing: give its slug, hid or id',
  incomplete: 'no {kind} is stored under this {key}, and a new one needs {fields}',
  not_stored: 'no stored listing has the slug {slug}',
  not_known: 'is not known',
  too_large: 'is too large to {use}: {bytes} bytes, at most {most}',
  changed_since: 'has changed since the file was made, {by}: the file would change {changes}',
  renames_too_many:
    'would change the {field} of {count} of the {all}, more than a fifth: --allow-renamed changes them',
  prunes_too_many: 'leaves out {count} of the {all}, more than a fifth: --prune=all hides them all',
  empties_too_many:
    'would empty something of {count} of the {all}, more than a fifth: --patch keeps what a file leaves out, and --allow-emptied empties it',
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
  const nameValue = ({ record, path }: ImportProblem) => `${record.place} ${path}`;
  const known = new Set(first.map(nameValue));
  return [...first, ...later.filter((each) => each.path === '' || !known.has(nameValue(each)))];
}

const SHOWN_CHARACTERS = 60;

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

/** Formats a value as JSON of one level. A long text is cut between words. */
export function shown(value: unknown): string {
  const text =
    JSON.stringify(value, (key, inner: unknown) =>
      key !== '' && typeof inner === 'object' && inner !== null ? '…' : inner,
    ) ?? '';
  if (text.length <= SHOWN_CHARACTERS) return text;
  const cut = text.slice(0, SHOWN_CHARACTERS);
  const words = /^(.{30,}\S) /s.exec(cut)?.[1] ?? cut;
  return `${words}…${text.startsWith('"') ? '"' : ''}`;
}

/** e.g. `1 listing`, `2 amenities` */
export function counted(count: number, one: string): string {
  return `${count} ${count === 1 ? one : pluralize(one)}`;
}

export function pluralize(one: string): string {
  return `${one.replace(/y$/, 'ie')}s`;
}

/**
 * Escapes control characters, which could steer the terminal, and invisible ones, which an editor
 * has to see. An emoji may have these.
 */
export function printable(text: string): string {
  return text.replaceAll(/\p{RGI_Emoji}|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gv, (found) => {
    if (!/^[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]$/u.test(found)) return found;
    const code = found.codePointAt(0)?.toString(16).padStart(4, '0') ?? '';
    return code.length === 4 ? `\\u${code}` : `\\u{${code}}`;
  });
}
