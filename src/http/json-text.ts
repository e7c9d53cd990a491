/** Finds what `JSON.parse` drops silently: of equal names in one object, it keeps the last. */

/** A text in well-formed JSON, and the colon after a name. */
const STRING = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g;

/** One of these names occurs twice in one object. Others were in a value that was dropped. */
export function droppedNames(text: string, value: unknown): string[] {
  const counts = countNames(text);
  for (const [name, kept] of countNames(JSON.stringify(value))) {
    if (counts.get(name) === kept) counts.delete(name);
  }
  return [...counts.keys()];
}

function countNames(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [, quoted = '', colon] of text.matchAll(STRING)) {
    if (colon === undefined) continue;
    const name = JSON.parse(quoted);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
