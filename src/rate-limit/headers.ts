/**
 * Both families of rate-limit headers: `X-RateLimit-*`, and those of the IETF's draft
 * (draft-ietf-httpapi-ratelimit-headers-10).
 */

import { WINDOW_SECONDS } from '../http/errors.ts';
import type { CounterName } from './counter.ts';
import type { Count } from './window.ts';

/** Sets the headers of a counted request. */
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

/** Rounds up to whole seconds, at least 1: nobody is told to come back too early. */
export function resetSeconds(resetMs: number): number {
  return Math.max(1, Math.ceil(resetMs / 1_000));
}
