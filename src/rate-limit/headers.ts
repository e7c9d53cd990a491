/**
 * Both families of rate-limit headers: the specification's, and those of the IETF's draft
 * (draft-ietf-httpapi-ratelimit-headers-10).
 */

import type { CounterName } from './counter.ts';
import { type Count, WINDOW_SECONDS } from './window.ts';

/** Puts the headers of a counted request on its response. */
export function setRateLimitHeaders(
  headers: Headers,
  counter: CounterName,
  { limit, remaining, resetMs }: Omit<Count, 'outcome'>,
): void {
  const reset = resetSeconds(resetMs);
  headers.set('X-RateLimit-Limit', String(limit));
  headers.set('X-RateLimit-Remaining', String(remaining));
  headers.set('X-RateLimit-Reset', String(reset));
  headers.set('RateLimit-Policy', `"${counter}";q=${limit};w=${WINDOW_SECONDS}`);
  headers.set('RateLimit', `"${counter}";r=${remaining};t=${reset}`);
}

/** Whole seconds, never less than it takes. */
export function resetSeconds(resetMs: number): number {
  return Math.max(1, Math.ceil(resetMs / 1_000));
}
