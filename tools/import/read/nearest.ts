/** The word that a misspelt one most likely means. Pure. */

import { closestMatch } from 'leven';

const MAX_EDITS = 3;

/** Allows three edits, and one for each third character. The case is no edit. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const maxDistance = Math.min(MAX_EDITS, Math.round(word.length / 3));
  const byLowerCase = new Map([...candidates].map((each) => [each.toLowerCase(), each]));
  const found = closestMatch(word.toLowerCase(), [...byLowerCase.keys()], { maxDistance });
  return found === undefined ? found : byLowerCase.get(found);
}

/** Returns the end of a sentence, e.g. `: did you mean photos?`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const found = nearest(word, candidates);
  return found === undefined ? '' : `: did you mean ${found}?`;
}
