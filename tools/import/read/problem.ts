/** Problems of a listings file, reported in one line for each cause. Pure. */

import { closestMatch } from 'leven';

export type RecordName = {
  kind: 'file' | 'location' | 'amenity' | 'listing';
  /** e.g. `properties[3]`, `row 12`, `the file` */
  place: string;
  isSheet?: boolean;
  key?: { field: string; value: string } | undefined;
};

/** Code → the end of a sentence that begins with the path and the value. Details are in braces. */
const SENTENCES = {
  not_utf8: 'is not UTF-8 text: save it as {form}',
  not_json: 'is not JSON: {why}',
  too_deep: 'is nested too deep',
  twice: 'appears twice in the same object',
  too_large_number: 'is a number that is too large',
  rounded: 'is a number that JavaScript would round to {number}',
  not_csv: 'is not CSV: {why}',
  no_header: 'has no header row',
  unknown_column: 'is no column of a sheet: {advice}',
  column_twice: 'heads two columns',
  unnamed_column: 'is in a column without a name',
  not_a_number: 'must be a number such as 118000 or 118000.5',
  not_whole: 'must be a whole number such as 12',
  thousands: 'has a dot before three digits: write {whole}, or {decimal}',
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
  unclear_hid: 'is the hid of several stored listings: name one by its slug or id',
  names_no_listing: 'names no listing: give its slug, hid or id',
  incomplete: 'no {kind} is stored under this {key}, and a new one needs {fields}',
  not_stored: 'no stored listing has the slug {slug}',
  not_known: 'is not known',
  too_large: 'is too large to {use}: {bytes} bytes, at most {most}',
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
const SHOWN_VALUES = 5;

/** Returns a line for each cause, with the number of its problems and its first place. */
export function problemLines(problems: readonly ImportProblem[]): string[] {
  // Problems of one cause differ only in the record, the index and the value.
  const causes = Map.groupBy(problems, ({ record, ...own }) =>
    JSON.stringify([record.kind, own.subject ?? anyEntry(own.path), formatSentence(own)]),
  );
  return [...causes.values()].map((same) => printable(causeLine(same)));
}

function causeLine(problems: readonly ImportProblem[]): string {
  const [first, ...others] = problems;
  if (first === undefined) return '';
  if (others.length === 0) return problemLine(first);
  const { record, subject = anyEntry(pathIn(first)) } = first;
  const cause = [subject, formatSentence(first)].filter(Boolean).join(' ');
  const records = new Set(problems.map((each) => formatName(each.record))).size;
  const times = problems.length === records ? '' : `${problems.length} times in `;
  const often = `${times}${counted(records, record.kind)}`;
  const where =
    record.key === undefined ? formatPlace(first) : `${record.key.value} (${describePlace(first)})`;
  return `${cause}: ${often}, first ${where}${formatExamples(problems)}${suggest(first)}`;
}

/** e.g. `properties[3] (slug "x"): photos.0.url "htp:/y" must be …` */
function problemLine(problem: ImportProblem): string {
  const { record, path, value, subject } = problem;
  const about = record.isSheet ? [shown(value)] : [path, shown(value)];
  const sentence = [...(subject === undefined ? about : [subject]), formatSentence(problem)];
  return `${formatPlace(problem)}: ${sentence.filter(Boolean).join(' ')}${suggest(problem)}`;
}

function formatExamples(problems: readonly ImportProblem[]): string {
  const all = [...new Set(problems.map(({ value }) => shown(value)))].filter(Boolean);
  const more = all.length > SHOWN_VALUES ? ' and others' : '';
  return all.length === 0 ? '' : `: ${all.slice(0, SHOWN_VALUES).join(', ')}${more}`;
}

function formatPlace(problem: ImportProblem): string {
  const { record } = problem;
  return formatName(record.isSheet ? { ...record, place: describePlace(problem) } : record);
}

/** e.g. `row 12, price_from` */
function describePlace(problem: ImportProblem): string {
  return [problem.record.place, pathIn(problem)].filter(Boolean).join(', ');
}

/** Returns the column of a sheet, e.g. `photos` for `photos.0.url`, or the path. */
function pathIn({ record, path }: ImportProblem): string {
  return record.isSheet ? path.replace(/\.\d.*/, '') : path;
}

/** e.g. `photos.0.url` → `photos.*.url` */
function anyEntry(path: string): string {
  return path.replace(/\.\d+/g, '.*');
}

/** e.g. `: did you mean photos?` */
function suggest({ unknown }: Fault): string {
  const found = unknown && nearest(unknown.name, unknown.known);
  return found === undefined ? '' : `: did you mean ${found}?`;
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

function formatSentence({ code, details = {} }: Fault): string {
  return SENTENCES[code].replaceAll(/\{(\w+)\}/g, (_, name: string) => String(details[name]));
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

/** Escapes control characters: a file's text must not steer the terminal. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
