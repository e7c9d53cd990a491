/** Limits how many listings an import may hide, clear or rename without `--many`. */

import { formatCount } from '../../command-line/plurals.ts';
import type { Catalogue } from '../catalogue/store.ts';
import type { ListingsFile } from '../read/file.ts';
import { type ImportProblem, THE_FILE } from '../read/problem.ts';
import type { ListingChange } from './changes.ts';

/** Maximum share of the public listings without `--many`. */
const MAX_SHARE = 1 / 5;

/**
 * Returns a problem if a file hides, clears or renames too many of the public listings. A patch may hide
 * and clear any number, because it names each listing and each field.
 */
export function checkShare(
  listings: readonly ListingChange[],
  form: ListingsFile['form'],
  stored: Catalogue,
): ImportProblem[] {
  const changes = listings.filter(({ old }) => old !== undefined && old.status !== 'hidden');
  const hidden = changes.filter(({ listing }) => listing.status === 'hidden').length;
  const clearing = changes.filter(({ cleared }) => cleared.length > 0).length;
  const renamed = changes.filter((change) => change.isRenamed).length;
  const all = listPublicIds(stored).length;
  const most = all * MAX_SHARE;
  const isRejected = form !== 'patch' && (hidden > most || clearing > most);
  // One listing may always be renamed.
  if (!isRejected && renamed <= Math.max(1, most)) return [];
  const counts = Object.entries({
    hide: hidden,
    'clear fields of': clearing,
    'change the slug or hid of': renamed,
  }).flatMap(([verb, count]) => (count === 0 ? [] : `${verb} ${count}`));
  const message = `would ${counts.join(', ')} of the ${formatCount(all, 'public listing')}, more than a fifth. --many imports it`;
  return [{ location: THE_FILE, path: '', message }];
}

export function listPublicIds({ listings }: Catalogue): string[] {
  return [...listings.values()].filter(({ status }) => status !== 'hidden').map(({ id }) => id);
}
