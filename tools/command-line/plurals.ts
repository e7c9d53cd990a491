/** Formats plurals and suggests spellings in messages. */

import { closestMatch as closestByDistance } from 'leven';

/** Formats a count and its noun, e.g. `1 listing` or `2 amenities`. */
export function formatCount(count: number, singular: string): string {
  return `${count} ${count === 1 ? singular : pluralize(singular)}`;
}

export function pluralize(singular: string): string {
  return `${singular.replace(/y$/, 'ie')}s`;
}

/**
 * Returns the candidate that a misspelt term most likely means; undefined if none is similar. The
 * comparison ignores case and allows one edit per three characters, up to three.
 */
export function closestMatch(term: string, candidates: readonly string[]): string | undefined {
  const maxDistance = Math.min(3, Math.round(term.length / 3));
  const byLowerCase = new Map(candidates.map((candidate) => [candidate.toLowerCase(), candidate]));
  const match = closestByDistance(term.toLowerCase(), [...byLowerCase.keys()], { maxDistance });
  return match === undefined ? undefined : byLowerCase.get(match);
}
