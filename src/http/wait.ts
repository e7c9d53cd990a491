/**
 * Holds a request until its list has something to show: the query parameter `wait`.
 *
 * A waiting request looks once a second and sleeps in between, which costs no processor time. When its client hangs up,
 * the platform cancels the request and with it the wait, unless a promise of `waitUntil` keeps the request alive
 * (developers.cloudflare.com/workers/platform/limits, "Duration"). Locally workerd does not notice it: the wait goes on
 * unless the request's signal is aborted. A cancelled request runs no `finally`. So each wait is counted with its
 * latest end: a cancelled wait is no longer counted once this end is over.
 */

import * as z from 'zod';
import { wholeNumber } from './whole-number.ts';

const MAX_WAIT_SECONDS = 25;
const LOOK_EVERY_MS = 1_000;
/** The most requests that wait in one isolate. Further requests are answered at once. */
const MAX_WAITING = 50;

/** Makes the query parameter: whole seconds. It needs the parameter `needed`, and waits for `awaited`. */
export function waitParameter(needed: string, awaited: string) {
  return wholeNumber(1, MAX_WAIT_SECONDS)
    .exactOptional()
    .register(z.globalRegistry, {
      description: `Whole seconds, only with \`${needed}\`. If the answer would be empty, the service waits for ${awaited}, for at most this time.`,
      override: { type: 'integer', format: 'int32', minimum: 1, maximum: MAX_WAIT_SECONDS },
    });
}

/** The waits of this isolate, each with its latest end in milliseconds since the epoch. */
const waits = new Set<{ endsAt: number }>();

/**
 * Looks at once, and then once a second, until the result is not empty, the time is over or `signal` is aborted.
 * Returns the last result. Without `seconds` it looks once.
 */
export async function lookUntil<Result>(
  look: () => Promise<Result>,
  isEmpty: (result: Result) => boolean,
  signal: AbortSignal,
  seconds = 0,
): Promise<Result> {
  let result = await look();
  if (seconds === 0 || !isEmpty(result)) return result;
  const now = Date.now();
  for (const other of waits) if (other.endsAt <= now) waits.delete(other);
  if (waits.size >= MAX_WAITING) return result;
  const own = { endsAt: now + seconds * 1_000 };
  waits.add(own);
  try {
    for (let left = seconds * 1_000; left > 0 && isEmpty(result) && !signal.aborted; ) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, LOOK_EVERY_MS)));
      if (!signal.aborted) result = await look();
      left = own.endsAt - Date.now();
    }
    return result;
  } finally {
    waits.delete(own);
  }
}
