/** Which D1 errors are retried and for how long, and how the service responds to a failure. */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../src/http/errors.ts';
import { readD1, writeD1 } from '../../src/storage/d1.ts';
import { CONNECTION_LOST } from '../support/faults.ts';

/** Number of attempts for each D1 error that Cloudflare documents or that occurred in production. */
const ATTEMPTS: readonly [attempts: number, message: string][] = [
  [5, CONNECTION_LOST],
  [5, 'D1_ERROR: D1 DB reset because its code was updated.'],
  [5, 'D1_ERROR: Internal error while starting up D1 DB storage caused object to be reset.'],
  [5, 'D1_ERROR: Internal error in D1 DB storage caused object to be reset.'],
  [5, 'D1_ERROR: Cannot resolve D1 DB due to transient issue on remote node.'],
  [5, 'D1_ERROR: Replica disconnected from primary.'],
  [5, "D1_ERROR: Can't read from request stream because client disconnected."],
  [5, 'D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.'],
  [5, 'D1_ERROR: internal error; reference = e_5f0c2a7e'],
  [5, 'D1_ERROR: this D1 DB instance is no longer active.'],
  [1, 'D1_ERROR: database is locked: SQLITE_BUSY'],
  [1, 'D1_ERROR: no such table: nothing'],
  [1, 'D1_ERROR: D1 DB is overloaded. Requests queued for too long.'],
  [1, 'D1_ERROR: D1 DB is overloaded. Too many requests queued.'],
  [1, "D1_ERROR: D1 DB's isolate exceeded its memory limit and was reset."],
  [1, 'D1_ERROR: D1 DB exceeded its CPU time limit and was reset.'],
];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

/**
 * Reads in virtual time. Each attempt takes `attemptMs`, and all attempts fail for `failsForMs`. Returns
 * the result, the number of attempts and the duration.
 */
async function read(message: string, { failsForMs = 120_000, attemptMs = 0 } = {}) {
  const startedAt = Date.now();
  let attempts = 0;
  const call = async () => {
    attempts += 1;
    await new Promise((resolve) => setTimeout(resolve, attemptMs));
    if (Date.now() - startedAt < failsForMs) throw new Error(message);
    return 'read';
  };
  const outcome = readD1(call)
    .catch((error: unknown) => error)
    .then((result) => ({ result, attempts, tookMs: Date.now() - startedAt }));
  await vi.advanceTimersByTimeAsync(20_000);
  return outcome;
}

describe('a read', () => {
  it.each(ATTEMPTS)(
    'is attempted %i times within 1.5 s for the error %s',
    async (expected, message) => {
      const { result, attempts, tookMs } = await read(message);
      expect(String(Object(result).cause)).toContain(message);
      expect(attempts).toBe(expected);
      expect(tookMs).toBeLessThanOrEqual(1_500);
    },
  );

  // The third attempt ends after 1.7 s, so there is no fourth attempt.
  it('is not retried after 1.5 s', async () => {
    expect((await read(CONNECTION_LOST, { attemptMs: 500 })).attempts).toBe(3);
  });

  it('returns the result of a later attempt', async () => {
    expect((await read(CONNECTION_LOST, { failsForMs: 1_000 })).result).toBe('read');
  });
});

describe('Retry-After', () => {
  it('increases while D1 keeps failing', async () => {
    const jitter = vi.spyOn(Math, 'random').mockReturnValue(0);
    const startedAt = Date.now();
    for (const [second, seconds] of [
      [0, 2],
      [44, 11],
      [104, 26],
      [164, 30],
      // The previous failure is more than a minute ago, so this failure begins a new series.
      [225, 2],
    ]) {
      vi.setSystemTime(startedAt + Number(second) * 1_000);
      const { result } = await read('D1_ERROR: no such table');
      expect(result).toBeInstanceOf(ApiError);
      expect(result).toMatchObject({ status: 500, code: 'internal_error' });
      expect(result).toMatchObject({ headers: { 'Retry-After': String(seconds) } });
    }
    await read('', { failsForMs: 0 });
    // Jitter prevents all clients from retrying at the same time.
    jitter.mockReturnValue(0.99);
    const { result } = await read('D1_ERROR: no such table');
    expect(result).toMatchObject({ headers: { 'Retry-After': '3' } });
  });
});

describe('the size of the database', () => {
  it('is logged hourly once it reaches 70 % of 10 GB', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    /** Writes a statement and a batch. Returns the total number of log lines. */
    const countLinesAfter = async (size_after: number, milliseconds = 0) => {
      vi.setSystemTime(Date.now() + milliseconds);
      const result = await env.DB.prepare('SELECT 1').run();
      const sized = { ...result, meta: { ...result.meta, size_after } };
      await writeD1(async () => sized);
      await writeD1(async () => [sized]);
      return log.mock.calls.length;
    };
    expect(await countLinesAfter(6_999_999_999)).toBe(0);
    expect(await countLinesAfter(7_000_000_000)).toBe(1);
    expect(String(log.mock.lastCall?.[0])).toContain('7000000000 bytes are 70 % of');
    expect(await countLinesAfter(7_100_000_000, 3_599_000)).toBe(1);
    expect(await countLinesAfter(7_100_000_000, 1_000)).toBe(2);
  });
});
