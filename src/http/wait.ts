/**
 * The query parameter `wait`: a request reads its list once a second until the list has an item.
 * When its client disconnects, the platform cancels the request, which then runs no `finally`
 * (developers.cloudflare.com/workers/platform/limits, "Duration"). So each wait is counted until
 * its latest end.
 */

import type { Context } from 'hono';
import type { AppEnv } from '../config.ts';
import { described, wholeNumber } from '../schema.ts';
import { ApiError } from './errors.ts';
import { logFault } from './log.ts';

const MAX_WAIT_SECONDS = 25;
const POLL_MS = 1_000;
/** Per isolate, and per client and list. A further request does not wait. */
const MAX_WAITING = 50;
const MAX_WAITING_PER_CLIENT = 5;

/** Makes the query parameter, in whole seconds. It needs `needed`, and waits for `awaited`. */
export function waitParameter(needed: string, awaited: string) {
  const description = `Whole seconds, only with \`${needed}\`. If the response would be empty, the service waits for ${awaited}, for at most this time.`;
  return described(wholeNumber(1, MAX_WAIT_SECONDS).exactOptional(), description);
}

/** The waits of this isolate. `endsAt` is the latest end, in milliseconds since the epoch. */
const waits = new Set<{ owner: string; endsAt: number }>();

/** `headers` has `Retry-After` if the request could not wait. */
type Waited<Result> = { result: Result; headers: Record<string, string> };

/**
 * Reads at once, and then once a second until the result is not empty, `seconds` have passed or the
 * client disconnects. A later read that fails is repeated.
 *
 * @example await lookUntil(c, () => readPage(cursor), (page) => page.items.length === 0, 20)
 */
export async function lookUntil<Result>(
  c: Context<AppEnv>,
  look: () => Promise<Result>,
  isEmpty: (result: Result) => boolean,
  seconds = 0,
): Promise<Waited<Result>> {
  let result = await look();
  if (seconds === 0 || !isEmpty(result)) return { result, headers: {} };
  const now = Date.now();
  for (const other of waits) if (other.endsAt <= now) waits.delete(other);
  const own = { owner: `${c.get('client')} ${c.req.path}`, endsAt: now + seconds * 1_000 };
  const ofClient = [...waits].filter(({ owner }) => owner === own.owner).length;
  if (waits.size >= MAX_WAITING || ofClient >= MAX_WAITING_PER_CLIENT) {
    return { result, headers: { 'Retry-After': '1' } };
  }
  waits.add(own);
  const { signal } = c.req.raw;
  try {
    for (let left = seconds * 1_000; left > 0 && isEmpty(result) && !signal.aborted; ) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, POLL_MS)));
      if (!signal.aborted) result = await look().catch((error) => unlessFault(error, result));
      left = own.endsAt - Date.now();
    }
    return { result, headers: {} };
  } finally {
    waits.delete(own);
  }
}

/** Returns the result of the last read if this one failed by a fault. Throws any other error. */
function unlessFault<Result>(error: unknown, result: Result): Result {
  if (error instanceof ApiError && error.status < 500) throw error;
  logFault('a waiting request reads again after a failure', error);
  return result;
}
