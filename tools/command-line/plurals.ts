/** Words of messages: numbers of things, and suggestions for misspelt words. */

import { closestMatch as closestByDistance } from 'leven';

/** e.g. `1 listing`, `2 amenities` */
export function formatCount(count: number, one: string): string {
  return `${count} ${count === 1 ? one : pluralize(one)}`;
}

export function pluralize(one: string): string {
  return `${one.replace(/y$/, 'ie')}s`;
}

/**
 * Returns the candidate that a misspelt word most likely means. Allows an edit for each third
 * character, and at most three. The case does not count.
 */
export function closestMatch(word: string, candidates: readonly string[]): string | undefined {
  const maxDistance = Math.min(3, Math.round(word.length / 3));
  const byLowerCase = new Map(candidates.map((candidate) => [candidate.toLowerCase(), candidate]));
  const match = closestByDistance(word.toLowerCase(), [...byLowerCase.keys()], { maxDistance });
  return match === undefined ? undefined : byLowerCase.get(match);
}
