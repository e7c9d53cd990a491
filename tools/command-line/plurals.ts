/** Words of messages: how many there are of something, and what a misspelt word means. Pure. */

import { closestMatch } from 'leven';

/** e.g. `1 listing`, `2 amenities` */
export function counted(count: number, one: string): string {
  return `${count} ${count === 1 ? one : pluralize(one)}`;
}

export function pluralize(one: string): string {
  return `${one.replace(/y$/, 'ie')}s`;
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
