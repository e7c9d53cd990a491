/** Problems of a listings file, and the lines that report them: one line for each cause. Pure. */

/** The record of a problem, by which the editor finds it. */
export type RecordName = {
  /** `properties[3]`, `row 12` of a sheet, the slug in the arguments of a command, `the file`, `the stored listing`. */
  place: string;
  /** A key of the record, or its name: `slug`, `casa-marea`. */
  key?: { field: string; value: string } | undefined;
};

export type ImportProblem = {
  record: RecordName;
  /** Dotted: `photos.0.url`; `""` for the record as a whole. */
  path: string;
  /** The end of a sentence that begins with the path and the value. */
  message: string;
  /** The value at fault, where it is known. */
  value?: unknown;
  /** The beginning of the sentence, in place of path and value: `amenity "jacuzi"`. */
  subject?: string;
};

export const THE_FILE: RecordName = { place: 'the file' };

/** Returns `properties[3] (slug "casa-marea")`. */
export function nameOf({ place, key }: RecordName): string {
  return key === undefined || key.value === place
    ? place
    : `${place} (${key.field} ${JSON.stringify(key.value)})`;
}

const SHOWN_CHARACTERS = 60;
/** A cause shows so many values. */
const SHOWN_VALUES = 5;

/** Returns a line for each cause: the problem, its number, and its first place. */
export function problemLines(problems: readonly ImportProblem[]): string[] {
  const causes = Map.groupBy(problems, causeOf);
  return [...causes.values()].map((same) => printable(causeLine(same)));
}

/** Returns a problem as one line: `properties[3] (slug "x"): photos.0.url "htp:/y" must be …`. */
export function problemLine(problem: ImportProblem): string {
  const { record, path, message, value, subject } = problem;
  const sentence = isOfSheet(record)
    ? [subject ?? shown(value), message]
    : [subject ?? [path, shown(value)].filter(Boolean).join(' '), message];
  return `${whereOf(problem)}: ${sentence.filter(Boolean).join(' ')}`;
}

/** Shows a value in a line: as JSON of one level, a long one cut. Undefined shows as nothing. */
export function shown(value: unknown): string {
  const text =
    JSON.stringify(value, (key, inner: unknown) =>
      key !== '' && typeof inner === 'object' && inner !== null ? '…' : inner,
    ) ?? '';
  if (text.length <= SHOWN_CHARACTERS) return text;
  return `${text.slice(0, SHOWN_CHARACTERS).toWellFormed()}…${text.startsWith('"') ? '"' : ''}`;
}

/** Returns `1 listing`, `2 listings`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** Escapes control characters, so that a file's text cannot steer the terminal or begin a line. */
export function printable(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not reach a terminal
    /[\u0000-\u001f\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Problems of one cause have the same text but for the record, the place in a list and the value. */
function causeOf({ record, path, message, subject }: ImportProblem): string {
  const section = record.place.replace(/\W.*/, '');
  return JSON.stringify([section, subject ?? path.replace(/\.\d+/g, '.*'), message]);
}

function causeLine(problems: readonly ImportProblem[]): string {
  const [first] = problems;
  if (first === undefined) return '';
  if (problems.length === 1) return problemLine(first);
  const { record, path, message, subject } = first;
  const field = isOfSheet(record) ? columnOf(path) : path.replace(/\.\d+/g, '.*');
  const cause = [subject ?? field, message].filter(Boolean).join(' ');
  const records = new Set(problems.map((each) => each.record.place)).size;
  const often = `${problems.length === records ? '' : `${problems.length} times in `}${counted(records, ...nounOf(record))}`;
  const where =
    record.key === undefined ? whereOf(first) : `${record.key.value} (${placeOf(first)})`;
  const examples = subject === undefined ? examplesOf(problems) : '';
  return `${cause}: ${often}, first ${where}${examples}`;
}

/** Shows the values at fault: of those that differ in their digits only, the first one. */
function examplesOf(problems: readonly ImportProblem[]): string {
  const examples = new Map<string, string>();
  for (const { value } of problems) {
    const text = shown(value);
    const kind = text.replace(/\d+/g, '0');
    if (text !== '' && !examples.has(kind)) examples.set(kind, text);
  }
  const all = [...examples.values()];
  const more = all.length > SHOWN_VALUES ? ' and others' : '';
  return all.length === 0 ? '' : `: ${all.slice(0, SHOWN_VALUES).join(', ')}${more}`;
}

function nounOf({ place }: RecordName): [string, string] {
  if (place.startsWith('locations')) return ['location', 'locations'];
  if (place.startsWith('amenities')) return ['amenity', 'amenities'];
  return ['listing', 'listings'];
}

/** Returns the place of a problem as a reader of the file or the sheet looks for it. */
function placeOf({ record, path }: ImportProblem): string {
  const column = isOfSheet(record) ? columnOf(path) : path;
  return column === '' ? record.place : `${record.place}, ${column}`;
}

/** Returns the place with the key of the record. The sentence after it names a path of JSON itself. */
function whereOf(problem: ImportProblem): string {
  const { record } = problem;
  return nameOf(isOfSheet(record) ? { ...record, place: placeOf(problem) } : record);
}

function isOfSheet({ place }: RecordName): boolean {
  return place.startsWith('row ');
}

/** The column of a sheet is a field, or a language of one: lists have one column. */
function columnOf(path: string): string {
  return path.replace(/\.\d.*/, '');
}
