/**
 * The query parameter `wait`: a request reads its list once a second until the list has an item. If
 * its client disconnects, the platform cancels the request without running any `finally`
 * (developers.cloudflare.com/workers/platform/limits, "Duration"). So a wait also has a latest end.
 * A runtime that aborts the request's signal instead lets the wait end at once.
 */

import type { Context } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { withMetadata } from '../schema/metadata.ts';
import { wholeNumber } from '../schema/numbers.ts';
import { ApiError } from './errors.ts';
import { logError } from './log.ts';

const MAX_WAIT_SECONDS = 25;
const POLL_MS = 1_000;
/** Per isolate, and per client and list. A further request does not poll. */
const MAX_WAITING = 50;
const MAX_WAITING_PER_CLIENT = 5;

/** `wait` needs the parameter `needed`, and waits for `awaited`. */
export function waitParameter(needed: string, awaited: string) {
  const description = `Whole seconds, only with \`${needed}\`. If the response would be empty, the service waits for ${awaited}, for at most this time.`;
  return withMetadata(wholeNumber(1, MAX_WAIT_SECONDS).exactOptional(), description);
}

/** `owner` is a client and its list. `endsAt`: milliseconds since the epoch. */
type Wait = { owner: string; endsAt: number };

const waits = new Set<Wait>();

/**
 * Reads at once, and then once a second while the result is empty, for `seconds` at most and until
 * the client disconnects. `read` gets the previous result. A later read that fails is repeated. An
 * empty result of a request that may not poll comes after a second: its client would ask again.
 */
export async function pollWhile<Result>(
  c: Context<AppEnv>,
  read: (last?: Result) => Promise<Result>,
  isEmpty: (result: Result) => boolean,
  seconds = 0,
): Promise<Result> {
  let result = await read();
  if (seconds === 0 || !isEmpty(result)) return result;
  const wait = startWait(c, seconds);
  if (wait === undefined) {
    await pause(POLL_MS);
    return result;
  }
  const { signal } = c.req.raw;
  try {
    let remainingMs = seconds * 1_000;
    while (remainingMs > 0 && isEmpty(result) && !signal.aborted) {
      await pause(Math.min(remainingMs, POLL_MS));
      if (signal.aborted) break;
      result = await read(result).catch((error) => keepResultAfterFault(error, result));
      remainingMs = wait.endsAt - Date.now();
    }
    return result;
  } finally {
    waits.delete(wait);
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Undefined if too many wait already. */
function startWait(c: Context<AppEnv>, seconds: number): Wait | undefined {
  const now = Date.now();
  for (const other of waits) if (other.endsAt <= now) waits.delete(other);
  const wait = { owner: `${c.get('client')} ${c.req.path}`, endsAt: now + seconds * 1_000 };
  const ofOwner = [...waits].filter(({ owner }) => owner === wait.owner).length;
  if (waits.size >= MAX_WAITING || ofOwner >= MAX_WAITING_PER_CLIENT) return undefined;
  waits.add(wait);
  return wait;
}

/** Throws a 4xx, and logs a fault. */
function keepResultAfterFault<Result>(error: unknown, result: Result): Result {
  if (error instanceof ApiError && error.status < 500) throw error;
  logError('a waiting request reads again after a failure', error);
  return result;
}
