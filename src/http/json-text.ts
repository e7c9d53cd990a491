/** Texts of JSON. */

/** Parses JSON text, such as that of `.dev.vars`. A schema rejects other text. */
export function parseJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (value.trim() === '') return [];
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** A text, the begin or end of an object, or the colon after a name. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}:]/g;

/**
 * Returns each name that occurs again in one object: `JSON.parse` keeps only its last value. `text` is
 * well-formed JSON.
 */
export function repeatedNames(text: string): string[] {
  const repeated = new Set<string>();
  const objects: Set<string>[] = [];
  let lastText = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{') objects.push(new Set());
    else if (token === '}') objects.pop();
    else if (token !== ':') lastText = token;
    else {
      const name = JSON.parse(lastText);
      const names = objects.at(-1);
      if (names?.has(name)) repeated.add(name);
      names?.add(name);
    }
  }
  return [...repeated];
}
