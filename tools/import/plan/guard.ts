/** An import that hides or empties many listings needs the permission of its user. Pure. */

import { counted, type ImportProblem, THE_FILE } from '../problem.ts';
import type { Catalogue } from '../store.ts';
import type { Effect } from './compare.ts';

/** Returns the problems of `compare`, and one if too many listings are emptied. */
export function guard(
  { problems, emptiedListings }: Effect,
  stored: Catalogue,
  mayEmpty = false,
): ImportProblem[] {
  return mayEmpty
    ? problems
    : [...problems, ...shareProblems('empties_too_many', emptiedListings, stored)];
}

/** Of the public listings. More are hidden or emptied only if the user allows it. */
const MAX_SHARE = 1 / 5;

export function shareProblems(
  code: 'prunes_too_many' | 'empties_too_many',
  count: number,
  stored: Catalogue,
): ImportProblem[] {
  const all = publicIdsOf(stored).length;
  if (count <= all * MAX_SHARE) return [];
  const details = [count, counted(all, 'public listing')];
  return [{ record: THE_FILE, path: '', code, details }];
}

export function publicIdsOf({ heads }: Catalogue): string[] {
  return [...heads.values()].filter(({ status }) => status !== 'hidden').map(({ id }) => id);
}
