/** Parses JSON text leniently, and finds the names and numbers that `JSON.parse` would lose. */

/**
 * Parses JSON text. Returns `[]` for blank text, such as an empty var. Returns malformed JSON, and
 * values that are not text, unchanged, so that a schema can reject them.
 */
export function parseJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (value.trim() === '') return [];
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** Matches a string, the start or the end of an object, or the colon after a name. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}:]/g;
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/**
 * Returns each name that occurs twice in one object, because `JSON.parse` keeps only the last value.
 * `text` must be well-formed JSON.
 */
export function findRepeatedNames(text: string): string[] {
  const repeated = new Set<string>();
  const objects: Set<string>[] = [];
  let lastToken = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (token !== ':') lastToken = token;
    else {
      const name = JSON.parse(lastToken);
      const names = objects.at(-1);
      if (names?.has(name)) repeated.add(name);
      names?.add(name);
    }
  }
  return [...repeated];
}

/**
 * Parses well-formed JSON text. Returns each number as a string, exactly as it was sent.
 *
 * @example parseNumbersAsText('{"n":9007199254740993}') // { n: '9007199254740993' }
 */
export function parseNumbersAsText(text: string): unknown {
  const quote = (token: string) => (token.startsWith('"') ? token : `"${token}"`);
  return JSON.parse(text.replace(STRING_OR_NUMBER, quote));
}
