/** Tests that the development Worker waits while the local database is locked. */

import { env } from 'cloudflare:workers';
import { beforeEach, expect, it, vi } from 'vitest';
import { waitForLocks } from '../../src/development/local-lock.ts';
import { interceptD1 } from '../support/interceptor.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

/** Returns a database whose calls fail for the given time, wrapped as in the development Worker. */
function failingDatabase(message: string, forMs: number): D1Database {
  const endsAt = Date.now() + forMs;
  const failing = interceptD1(env.DB, async (call) => {
    if (Date.now() < endsAt) throw new Error(message);
    return call();
  });
  return waitForLocks(failing);
}

it.each([
  ['D1_ERROR: database is locked: SQLITE_BUSY', 4_000, 7],
  ['D1_ERROR: Failed to get session commit token: internal error', 4_000, 7],
  ['D1_ERROR: database is locked: SQLITE_BUSY', 20_000, 'SQLITE_BUSY'],
  ['D1_ERROR: no such table: nothing', 4_000, 'no such table'],
])('waitForLocks turns the error "%s" for %i ms into %s', async (message, forMs, expected) => {
  const statement = failingDatabase(message, forMs).prepare('select ? as value').bind(7);
  const outcome = statement.first('value').catch(String);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(String(await outcome)).toContain(String(expected));
});

it('waitForLocks retries a batch of a session', async () => {
  const session = failingDatabase('SQLITE_BUSY', 4_000).withSession('first-primary');
  const values = [1, 2].map((value) => session.prepare('select ? as value').bind(value));
  const batch = session.batch(values);
  await vi.advanceTimersByTimeAsync(11_000);
  const results = await batch;
  expect(results.map(({ results: rows }) => rows)).toEqual([[{ value: 1 }], [{ value: 2 }]]);
});
