/** Finds violations of the rate limit's guarantees in the requests and counts of a run. */

import { WINDOW_SECONDS } from '../support/vars.ts';
import { type Environment, type Exchange, formatTime } from './environment.ts';
import type { Violation } from './simulation.ts';

export const WINDOW_MS = WINDOW_SECONDS * 1_000;
export const BUCKET_MS = 5_000;
/**
 * The shortest time for which a request counts. A request counts until its bucket leaves the
 * window, and its bucket may have begun up to `BUCKET_MS` before it.
 */
const SHORTEST_WINDOW_MS = WINDOW_MS - BUCKET_MS;
/** How long a request may wait for its counter. */
export const LONGEST_WAIT_MS = 300;

const isAdmitted = ({ status }: Exchange) => status !== 429;
const isRejected = ({ status }: Exchange) => status === 429;

/** The start times of the admitted requests, in ascending order. */
class Admissions {
  readonly #starts: readonly number[];

  constructor(exchanges: readonly Exchange[]) {
    const starts = exchanges.filter(isAdmitted).map(({ start }) => start);
    this.#starts = starts.sort((a, b) => a - b);
  }

  /** Counts the requests that began after `from` and no later than `until`. */
  countBetween(from: number, until: number): number {
    return Math.max(0, this.#countUntil(until) - this.#countUntil(from));
  }

  #countUntil(time: number): number {
    let [low, high] = [0, this.#starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] ?? 0) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Finds windows in which a client had more than `most` admitted requests. */
export function findExcess(
  exchanges: readonly Exchange[],
  most: number,
  clocksDifferMs: number,
): Violation[] {
  const admissions = new Admissions(exchanges);
  const withinMs = SHORTEST_WINDOW_MS - clocksDifferMs;
  return exchanges
    .map(({ start }) => ({ start, admitted: admissions.countBetween(start - withinMs, start) }))
    .filter(({ admitted }) => admitted > most)
    .map(({ start, admitted }) => ({
      promise: 'a client gets at most its limit, and a fifth for each additional isolate',
      how: `${admitted} of at most ${most} were admitted in ${withinMs} ms until ${formatTime(start)}`,
    }));
}

/**
 * Finds rejected requests in whose window fewer requests had been admitted than the limit permits.
 * With several isolates, `slackMs` allows for late reports, and another isolate may have used the
 * last permit.
 */
export function findUnfairRejections(
  exchanges: readonly Exchange[],
  limit: number,
  slackMs: number,
): Violation[] {
  const admissions = new Admissions(exchanges);
  const soonMs = slackMs === 0 ? 0 : LONGEST_WAIT_MS;
  return exchanges
    .filter(isRejected)
    .map(({ task, start }) => {
      const admitted = admissions.countBetween(start - WINDOW_MS - slackMs, start + soonMs);
      return { task, start, admitted };
    })
    .filter(({ admitted }) => admitted < limit)
    .map(({ task, start, admitted }) => ({
      promise: 'no request is rejected before a limit was admitted in the last window',
      how: `${task} at ${formatTime(start)}, when ${admitted} were admitted`,
    }));
}

/**
 * Finds rejected requests whose `Retry-After` is too short, because a retry would be rejected
 * again.
 */
export function findShortRetries(exchanges: readonly Exchange[], limit: number): Violation[] {
  const admissions = new Admissions(exchanges);
  return exchanges
    .filter(isRejected)
    .filter(({ end, headers }) => {
      const retryAt = end + 1_000 * Number(headers?.get('Retry-After'));
      return admissions.countBetween(retryAt - SHORTEST_WINDOW_MS, end) >= limit;
    })
    .map(({ task, headers }) => ({
      promise: 'Retry-After is never shorter than the wait',
      how: `${task}: ${headers?.get('Retry-After')} s`,
    }));
}

/**
 * Finds requests that waited too long for their counter. Ignores requests whose isolate was killed.
 */
export function findLongWaits(exchanges: readonly Exchange[]): Violation[] {
  return exchanges
    .filter(({ status }) => status !== undefined)
    .filter(({ start, end }) => end - start > LONGEST_WAIT_MS)
    .map(({ task, start, end }) => ({
      promise: 'a request waits for its counter for 300 ms at most',
      how: `${task} from ${formatTime(start)} to ${formatTime(end)}`,
    }));
}

/** Finds stored counts that exceed the number of requests admitted in their bucket. */
export function findCountedRejections({ exchanges, objects, reporters }: Environment): Violation[] {
  const makeKey = ({ instance, request }: Exchange, bucket: number) =>
    `${instance}, client ${request.client}, bucket ${bucket}`;
  const admitted = new Map<string, number>();
  for (const exchange of exchanges.filter(isAdmitted)) {
    const key = makeKey(exchange, Math.floor(exchange.clock / BUCKET_MS));
    admitted.set(key, (admitted.get(key) ?? 0) + 1);
  }
  const violations: Violation[] = [];
  for (const { largestCounts } of objects.values()) {
    for (const [bucket, counts] of largestCounts) {
      for (const [reporter, count] of counts) {
        const exchange = reporters.get(reporter);
        const key = exchange === undefined ? 'an unknown reporter' : makeKey(exchange, bucket);
        const most = admitted.get(key) ?? 0;
        if (count > most) {
          violations.push({
            promise: 'a rejected request is not counted',
            how: `${key}: ${most} admitted, ${count} counted`,
          });
        }
      }
    }
  }
  return violations;
}
