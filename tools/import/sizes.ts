/**
 * Listings that are too large to store. D1 holds 2 MB a row, for the source and for its document and card,
 * so each of the two may take a little less than half of that. Pure.
 */

import { cardOf, render } from '../../src/properties/render.ts';
import type { Source } from '../../src/properties/source.ts';
import type { ImportProblem } from './problem.ts';
import { stagedRowOf } from './rows.ts';

const MAX_BYTES = 900_000;

/** Returns a problem for a listing that is too large. `record` names it. */
export function sizeProblems(
  listing: Source,
  record: string,
  publicSiteUrl: string,
): ImportProblem[] {
  const bytes = Buffer.byteLength(stagedRowOf(listing).json);
  if (bytes > MAX_BYTES) {
    const message = `is too large to store: ${bytes} bytes, at most ${MAX_BYTES}`;
    return [{ record, path: '', message }];
  }
  const document = render(listing, publicSiteUrl);
  const rendered = Buffer.byteLength(JSON.stringify([document, document && cardOf(document)]));
  if (rendered > MAX_BYTES) {
    const message = `is too large to show: ${rendered} bytes, at most ${MAX_BYTES}`;
    return [{ record, path: '', message }];
  }
  return [];
}
