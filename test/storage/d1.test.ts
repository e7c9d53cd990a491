/**
 * The faults after which a call of D1 is repeated, for how long, and the response and the log of a
 * failure.
 */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../src/http/errors.ts';
import { readD1, writeD1 } from '../../src/storage/d1.ts';

/** The passing faults of D1's list, and one that operators have seen. */
const PASSING = [
  'D1_ERROR: Network connection lost.',
  'D1_ERROR: D1 DB reset because its code was updated.',
  'D1_ERROR: Internal error while starting up D1 DB storage caused object to be reset.',
  'D1_ERROR: Internal error in D1 DB storage caused object to be reset.',
  'D1_ERROR: Cannot resolve D1 DB due to transient issue on remote node.',
  'D1_ERROR: Replica disconnected from primary.',
  "D1_ERROR: Can't read from request stream because client disconnected.",
  'D1_ERROR: D1 DB storage operation exceeded timeout which caused object to be reset.',
  'D1_ERROR: internal error; reference = e_5f0c2a7e',
  'D1_ERROR: this D1 DB instance is no longer active.',
];
const LASTING = [
  'D1_ERROR: database is locked: SQLITE_BUSY',
  'D1_ERROR: no such table: nothing',
  'D1_ERROR: D1 DB is overloaded. Requests queued for too long.',
  'D1_ERROR: D1 DB is overloaded. Too many requests queued.',
  "D1_ERROR: D1 DB's isolate exceeded its memory limit and was reset.",
  'D1_ERROR: D1 DB exceeded its CPU time limit and was reset.',
];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

/**
 * Makes a read that fails for some time, in virtual time. Returns the outcome, the attempts and the
 * milliseconds.
 */
async function read(message: string, failsForMs = 120_000) {
  const startedAt = Date.now();
  let attempts = 0;
  const call = async () => {
    attempts += 1;
    if (Date.now() - startedAt < failsForMs) throw new Error(message);
    return 'read';
  };
  const outcome = readD1(call)
    .catch((error: unknown) => error)
    .then((result) => ({ result, attempts, took: Date.now() - startedAt }));
  await vi.advanceTimersByTimeAsync(20_000);
  return outcome;
}

describe('a read', () => {
  it.each(PASSING)('is repeated for 1.5 s, at most five times in all: %s', async (message) => {
    expect((await read(message, 1_000)).result).toBe('read');
    const { result, attempts, took } = await read(message);
    expect(String(Object(result).cause)).toContain(message);
    expect(attempts).toBe(5);
    expect(took).toBeLessThanOrEqual(1_500);
  });

  it('is not repeated after 1.5 s: attempts of half a second are three', async () => {
    let attempts = 0;
    const outcome = readD1(async () => {
      attempts += 1;
      await new Promise((resolve) => setTimeout(resolve, 500));
      throw new Error('D1_ERROR: Network connection lost.');
    }).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await outcome).toBeInstanceOf(Error);
    expect(attempts).toBe(3);
  });

  it.each(LASTING)('is not repeated: %s', async (message) => {
    expect((await read(message)).attempts).toBe(1);
  });
});

describe('a failure', () => {
  const secondsOf = async () => {
    const { result } = await read('D1_ERROR: no such table');
    if (!(result instanceof ApiError)) throw new Error('no error');
    expect(result).toMatchObject({ status: 500, code: 'internal_error' });
    return Number(result.headers['Retry-After']);
  };

  it('asks clients to wait for a few seconds, and for longer the longer D1 fails', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    expect((await read('', 0)).result).toBe('read');
    expect(await secondsOf()).toBe(2);
    vi.setSystemTime(Date.now() + 40_001 - 20_000);
    expect(await secondsOf()).toBe(11);
    for (let minute = 0; minute < 3; minute += 1) {
      vi.setSystemTime(Date.now() + 39_000);
      await secondsOf();
    }
    expect(await secondsOf()).toBe(30);
    vi.setSystemTime(Date.now() + 41_000);
    expect(await secondsOf()).toBe(2);
    expect((await read('', 0)).result).toBe('read');
    // Clients get different pauses.
    vi.spyOn(Math, 'random').mockReturnValue(0.99);
    expect(await secondsOf()).toBe(3);
  });
});

it('the size of the database is logged from 70 % of 10 GB on, once per hour', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  /** Returns the number of lines after two writes, a statement and a batch. */
  const linesAfter = async (size_after: number, milliseconds = 0) => {
    vi.setSystemTime(Date.now() + milliseconds);
    const result = await env.DB.prepare('SELECT 1').run();
    const sized = { ...result, meta: { ...result.meta, size_after } };
    await writeD1(async () => sized);
    await writeD1(async () => [sized]);
    return log.mock.calls.length;
  };
  expect(await linesAfter(6_999_999_999)).toBe(0);
  expect(await linesAfter(7_000_000_000)).toBe(1);
  expect(String(log.mock.lastCall?.[0])).toContain('7000000000 bytes are 70 % of');
  expect(await linesAfter(7_100_000_000, 3_599_000)).toBe(1);
  expect(await linesAfter(7_100_000_000, 1_000)).toBe(2);
});
