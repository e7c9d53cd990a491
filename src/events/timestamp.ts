/** ISO 8601 timestamps as callers write them: `Z` or an offset, and a year of four digits. */

import * as z from 'zod';

/** Checked, and given as it was written. */
export const timestamp = z.iso
  .datetime({
    offset: true,
    error: 'must be an ISO 8601 timestamp with Z or an offset, such as 2027-06-01T12:00:00Z',
  })
  .meta({ examples: ['2027-06-01T12:00:00Z'] });

/**
 * The first whole millisecond since the epoch that is not before the instant: events have whole
 * milliseconds, timestamps may be finer, and `Date.parse` cuts them off.
 */
export function millisecondFrom(text: string): number {
  const isFiner = /\.\d{3}\d*[1-9]/.test(text);
  return Date.parse(text) + (isFiner ? 1 : 0);
}
