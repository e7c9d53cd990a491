/**
 * The query parameter `wait`: a request waits until its list has something to show.
 *
 * A waiting request reads its list once a second, and sleeps in between without processor time. When its client
 * disconnects, the platform cancels the request (developers.cloudflare.com/workers/platform/limits, "Duration").
 * A cancelled request runs no `finally`. So each wait is counted until its latest end.
 */

import * as z from 'zod';
import { wholeNumber } from './whole-number.ts';

const MAX_WAIT_SECONDS = 25;
const POLL_MS = 1_000;
/** The most requests that wait in one isolate. A further request does not wait. */
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
 * Reads at once, and then once a second until the result is not empty, `seconds` have passed or `signal` is aborted.
 * Returns the last result.
 *
 * @example await lookUntil(() => readPage(cursor), (page) => page.items.length === 0, c.req.raw.signal, 20)
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
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, POLL_MS)));
      if (!signal.aborted) result = await look();
      left = own.endsAt - Date.now();
    }
    return result;
  } finally {
    waits.delete(own);
  }
}
