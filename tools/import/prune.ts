/** Pruning: the file is the whole catalogue, so public listings that it does not name become hidden. Pure. */

import type { ListingsFile } from './file.ts';
import type { ImportProblem } from './problem.ts';

/** `some`: at most a fifth of the public listings. */
export type Pruning = 'none' | 'some' | 'all';

const MAX_SHARE = 1 / 5;

/** The public listings that a file does not name, or the problem that there are too many of them. */
export type Pruned = { ids: string[]; problems: ImportProblem[] };

/** Returns what is to be hidden of the public listings. */
export function prune(file: ListingsFile, publicIds: readonly string[], pruning: Pruning): Pruned {
  const named = new Set(file.properties.map(({ keys }) => keys.id));
  const ids = publicIds.filter((id) => !named.has(id));
  if (pruning === 'all' || ids.length <= publicIds.length * MAX_SHARE) return { ids, problems: [] };
  const message = `leaves out ${ids.length} of the ${publicIds.length} public listings, more than a fifth: --prune=all hides them all`;
  return { ids, problems: [{ record: 'the file', path: '', message }] };
}
