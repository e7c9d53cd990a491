/** The effect of a failed import, as far as that is known. */

import { NoAnswer } from '../cloudflare/api.ts';

/** An import failed, and it was read back from the store that it was not applied. */
export class NotApplied extends Error {
  override readonly name = 'NotApplied';
}

/** An import sent its transaction, and it cannot be read back whether it was applied. */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown';
}

/**
 * Returns the sentence that follows the fault. A file that is refused, or a command that lacks something,
 * has changed no listing.
 */
export function consequenceOf(error: unknown): string {
  if (error instanceof OutcomeUnknown) {
    return 'It is not known whether the listings were changed. Run the same command again: it ends in the same state either way.';
  }
  if (error instanceof NoAnswer) return 'The import had not come so far as to change a listing.';
  return 'Nothing was changed.';
}
