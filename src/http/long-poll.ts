/**
 * Implements long polling (RFC 6202) for the query parameter `wait`. A request reads its list once a
 * second until the list has an item.
 *
 * If the client disconnects, Cloudflare cancels the request without running `finally` blocks
 * (developers.cloudflare.com/workers/platform/limits, "Duration"). Each poll therefore has an end time.
 * Other runtimes abort the request's signal, which ends the poll immediately.
 */

import type { Context } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { withMetadata } from '../schema/metadata.ts';
import { wholeNumber } from '../schema/numbers.ts';
import { ApiError } from './errors.ts';
import { logError } from './log.ts';

const MAX_WAIT_SECONDS = 25;
const POLL_MS = 1_000;
/** Maximum number of concurrent polls per isolate. Requests beyond this number do not poll. */
const MAX_POLLS = 50;
/** Maximum number of concurrent polls per client and list, in one isolate. */
const MAX_POLLS_PER_CLIENT = 5;

/**
 * Makes the schema of the parameter `wait`. Its description mentions `requiredParameter`, e.g.
 * `order=asc`, and `items`, e.g. `an event`.
 */
export function makeWaitParameter(requiredParameter: string, items: string) {
  const description = `Whole seconds, only with \`${requiredParameter}\`. If the response would be empty, the service waits for ${items}, for at most this time.`;
  return withMetadata(wholeNumber(1, MAX_WAIT_SECONDS).exactOptional(), description);
}

/** `pollerKey` identifies a client and its list. `endsAt` is in milliseconds since the epoch. */
type Poll = { pollerKey: string; endsAt: number };

const polls = new Set<Poll>();

/**
 * Reads immediately, then once a second while the result is empty. Stops after `seconds`, or when the
 * client disconnects. `read` receives the previous result. If a later read fails, the poll continues.
 * If there are too many polls, returns an empty result after a second, because the client would repeat
 * its request immediately.
 */
export async function pollWhileEmpty<Result>(
  c: Context<AppEnv>,
  read: (last?: Result) => Promise<Result>,
  isEmpty: (result: Result) => boolean,
  seconds = 0,
): Promise<Result> {
  let result = await read();
  if (seconds === 0 || !isEmpty(result)) return result;
  const poll = startPoll(c, seconds);
  if (poll === undefined) {
    await pause(POLL_MS);
    return result;
  }
  const { signal } = c.req.raw;
  try {
    let remainingMs = seconds * 1_000;
    while (remainingMs > 0 && isEmpty(result) && !signal.aborted) {
      await pause(Math.min(remainingMs, POLL_MS));
      if (signal.aborted) break;
      result = await read(result).catch((error) => keepResultAfterFailure(error, result));
      remainingMs = poll.endsAt - Date.now();
    }
    return result;
  } finally {
    polls.delete(poll);
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Starts a poll. Returns undefined if too many polls are in progress. */
function startPoll(c: Context<AppEnv>, seconds: number): Poll | undefined {
  const now = Date.now();
  for (const poll of polls) if (poll.endsAt <= now) polls.delete(poll);
  const pollerKey = `${c.get('client')} ${c.req.path}`;
  const pollsOfClient = [...polls].filter((poll) => poll.pollerKey === pollerKey).length;
  if (polls.size >= MAX_POLLS || pollsOfClient >= MAX_POLLS_PER_CLIENT) return undefined;
  const poll = { pollerKey, endsAt: now + seconds * 1_000 };
  polls.add(poll);
  return poll;
}

/** Logs a failed read, and returns the previous result. Rethrows a 4xx. */
function keepResultAfterFailure<Result>(error: unknown, result: Result): Result {
  if (error instanceof ApiError && error.status < 500) throw error;
  logError('a waiting request reads again after a failure', error);
  return result;
}
