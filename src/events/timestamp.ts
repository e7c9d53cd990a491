/** ISO 8601 timestamps with `Z` or an offset and a year of four digits. */

import * as z from 'zod';

/** Validates a timestamp and leaves it as it was written. */
export const timestamp = z.iso
  .datetime({
    offset: true,
    error: 'must be an ISO 8601 timestamp with Z or an offset, such as 2027-06-01T12:00:00Z',
  })
  .meta({ examples: ['2027-06-01T12:00:00Z'] });

/**
 * Returns the first whole millisecond since the epoch that is not before the instant. Events have
 * whole milliseconds, a timestamp may be finer, and `Date.parse` cuts the rest off.
 */
export function millisecondFrom(text: string): number {
  const isFiner = /\.\d{3}\d*[1-9]/.test(text);
  return Date.parse(text) + (isFiner ? 1 : 0);
}
