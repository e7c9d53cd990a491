/**
 * Reads the text of a JSON document (RFC 8259) for what `JSON.parse` leaves out: the place of a
 * fault, and the names that occur twice in one object, of which `JSON.parse` keeps the last.
 */

/** Deeper texts are rejected anyway, and each level takes memory. */
const MAX_LEVELS = 100;

type Path = (string | number)[];

/** `names` has whether a repeat was noted. `current` is the index in a list, or the name in an object. */
type Level = { names?: Map<string, boolean>; current: string | number };

type Expected = 'value' | 'first value' | 'name' | 'first name' | 'colon' | 'separator';

type Scan = {
  /** Offset of the first character that cannot follow; undefined if the scan met no fault. */
  faultAt: number | undefined;
  /** What could follow there. */
  expected: Expected;
  /** Each path once, in the order of the text. */
  repeatedNames: Path[];
};

const SPACE = /[ \t\n\r]*/y;
/** Without its last quotation mark: a match ends where the string is malformed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in a string.
const STRING = /"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[^"\\\x00-\x1f]*)*/y;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null)/y;

/**
 * Finds the first fault, and at most `maxRepeated` names that occur twice: none are looked for if it
 * is 0. Ends early at the last of these names, and at `MAX_LEVELS`.
 */
export function scanJson(text: string, maxRepeated: number): Scan {
  const levels: Level[] = [];
  const repeatedNames: Path[] = [];
  let expected: Expected = 'value';
  let at = 0;
  const fault = (faultAt: number | undefined): Scan => ({ faultAt, expected, repeatedNames });
  for (;;) {
    at = endOf(SPACE, text, at);
    const level = levels.at(-1);
    if (levels.length > MAX_LEVELS) return fault(undefined);
    const isComplete = level === undefined && expected === 'separator';
    if (isComplete) return fault(at < text.length ? at : undefined);
    const character = text[at];
    const isObject = typeof level?.current === 'string';
    const closing = isObject ? '}' : ']';
    const mayClose = expected === 'separator' || expected.startsWith('first');
    if (level !== undefined && mayClose && character === closing) {
      levels.pop();
      expected = 'separator';
      at += 1;
    } else if (expected === 'separator') {
      if (character !== ',') return fault(at);
      if (level !== undefined && typeof level.current === 'number') level.current += 1;
      expected = isObject ? 'name' : 'value';
      at += 1;
    } else if (expected === 'colon') {
      if (character !== ':') return fault(at);
      expected = 'value';
      at += 1;
    } else if (character === '"') {
      const end = endOf(STRING, text, at);
      if (text[end] !== '"') return fault(end);
      if (expected.endsWith('name')) {
        if (level !== undefined && maxRepeated > 0) {
          level.current = readName(text.slice(at, end + 1));
          level.names ??= new Map();
          const isNoted = level.names.get(level.current);
          if (isNoted === false) repeatedNames.push(levels.map(({ current }) => current));
          if (repeatedNames.length >= maxRepeated) return fault(undefined);
          level.names.set(level.current, isNoted !== undefined);
        }
        expected = 'colon';
      } else expected = 'separator';
      at = end + 1;
    } else if (expected.endsWith('name')) {
      return fault(at);
    } else if (character === '{') {
      levels.push({ current: '' });
      expected = 'first name';
      at += 1;
    } else if (character === '[') {
      levels.push({ current: 0 });
      expected = 'first value';
      at += 1;
    } else {
      const end = endOf(SCALAR, text, at);
      if (end === at) return fault(at);
      expected = 'separator';
      at = end;
    }
  }
}

/** The end of the match at `at`, or `at`. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function readName(quoted: string): string {
  return quoted.includes('\\') ? JSON.parse(quoted) : quoted.slice(1, -1);
}

/** Says what is wrong with a text that `JSON.parse` rejects, for its sender. */
export function describeFault(text: string): string {
  if (text.trim() === '') return 'The body is empty.';
  const { faultAt, expected } = scanJson(text, 0);
  if (faultAt === undefined) return 'The body is not well-formed JSON, and nested too deeply.';
  const lines = text.slice(0, faultAt).split('\n');
  const column = [...(lines.at(-1) ?? '')].length + 1;
  const place = `line ${lines.length}, column ${column}`;
  return `The body is not well-formed JSON at ${place}: ${advise(text, faultAt, expected)}.`;
}

function advise(text: string, faultAt: number, expected: Expected): string {
  const rest = text.slice(faultAt, faultAt + 10);
  if (rest === '') return 'it ends before it is complete';
  const before = text.slice(0, faultAt).trimEnd();
  if (/^[}\]]/.test(rest) && before.endsWith(',')) return 'remove the comma before this place';
  if (/^[-+]?(NaN|Infinity)/.test(rest)) return 'JSON has no such number; send null';
  if (/^(True|False|None)/.test(rest)) return 'write true, false or null';
  if (/^['‘’“”]/.test(rest)) return 'put names and texts in double quotation marks';
  if (expected.endsWith('name')) return 'a name in double quotation marks is expected';
  if (expected === 'colon') return 'a colon is expected';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in a string.
  if (/^[\x00-\x1f]/.test(rest)) return 'escape the control character, such as \\n for a new line';
  if (rest.startsWith('\\')) return 'this escape is not one of JSON';
  if (expected.endsWith('value')) return 'a value is expected';
  const isComplete = isWellFormed(before);
  return isComplete
    ? 'the JSON is complete before this place; send one object, and several events as a batch'
    : 'a comma or the end of the list or object is expected';
}

function isWellFormed(text: string): boolean {
  return scanJson(text, 0).faultAt === undefined;
}
