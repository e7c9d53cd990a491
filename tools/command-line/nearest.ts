/** The word that a misspelt one most likely means. Pure. */

const MAX_EDITS = 3;

/** Allows three edits, and one for each third character. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let found: string | undefined;
  let limit = Math.min(MAX_EDITS, Math.round(word.length / 3));
  for (const candidate of candidates) {
    while (isNear(word.toLowerCase(), candidate.toLowerCase(), limit)) {
      found = candidate;
      limit -= 1;
    }
  }
  return found;
}

/** Returns the end of a sentence, e.g. `: did you mean photos?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const found = nearest(word, candidates);
  return found === undefined ? '' : `: did you mean ${found}?`;
}

/** An edit deletes, adds, replaces or swaps characters. */
function isNear(from: string, to: string, limit: number): boolean {
  if (Math.abs(from.length - to.length) > limit) return false;
  if (from === to) return true;
  const [a, b] = [from.slice(1), to.slice(1)];
  if (from[0] === to[0]) return isNear(a, b, limit);
  const isSwapped = from[0] === to[1] && from[1] === to[0];
  if (isSwapped && isNear(a.slice(1), b.slice(1), limit - 1)) return true;
  const left = limit - 1;
  return isNear(a, b, left) || isNear(a, to, left) || isNear(from, b, left);
}
