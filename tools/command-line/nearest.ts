/** The word that a misspelt one most likely means. Pure. */

/** Returns the nearest candidate, if at most a third of the characters differ. Case is ignored. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let found: string | undefined;
  let limit = Math.round(word.length / 3);
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > limit) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance > limit) continue;
    found = candidate;
    limit = distance - 1;
  }
  return found;
}

/** Returns the end of a sentence, e.g. `: did you mean photos?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const found = nearest(word, candidates);
  return found === undefined ? '' : `: did you mean ${found}?`;
}

/** Returns the characters to insert, delete or replace (Levenshtein), e.g. 1 for `photo` and `photos`. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, character] of [...from].entries()) {
    const above = row;
    row = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const [diagonal = 0, upper = 0, left = 0] = [above[column], above[column + 1], row[column]];
      row.push(Math.min(diagonal + (character === other ? 0 : 1), upper + 1, left + 1));
    }
  }
  return row.at(-1) ?? 0;
}
