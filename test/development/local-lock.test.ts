/** The development Worker's wait for a local lock. */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { waitForLocks } from '../../src/development/local-lock.ts';
import { tapD1 } from '../support/tap.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

/** A database whose calls fail for some time. */
function databaseThatFails(message: string, forMs: number): D1Database {
  const endsAt = Date.now() + forMs;
  return tapD1(env.DB, async (call) => {
    if (Date.now() < endsAt) throw new Error(message);
    return call();
  });
}

/** Lets virtual time pass until the call has settled. */
async function settle<T>(calling: Promise<T>): Promise<T> {
  let isSettled = false;
  void calling
    .catch(() => {})
    .then(() => {
      isSettled = true;
    });
  for (let waited = 0; !isSettled && waited < 30_000; waited += 100) {
    await vi.advanceTimersByTimeAsync(100);
  }
  return calling;
}

describe('a call at a locked database', () => {
  it.each([
    'D1_ERROR: database is locked: SQLITE_BUSY',
    'D1_ERROR: Failed to get session commit token: internal error',
  ])('waits for the lock: %s', async (message) => {
    const database = waitForLocks(databaseThatFails(message, 4_000));
    const statement = database.prepare('select ? as value').bind(7);
    expect((await settle(statement.all())).results).toEqual([{ value: 7 }]);
  });

  it('waits in a batch of a session too', async () => {
    const database = waitForLocks(databaseThatFails('SQLITE_BUSY', 4_000));
    const session = database.withSession('first-primary');
    const batch = [1, 2].map((value) => session.prepare('select ? as value').bind(value));
    const results = await settle(session.batch(batch));
    expect(results.map((each) => each.results)).toEqual([[{ value: 1 }], [{ value: 2 }]]);
  });

  it('fails after 10 s', async () => {
    const database = waitForLocks(databaseThatFails('SQLITE_BUSY', 20_000));
    await expect(settle(database.prepare('select 1').run())).rejects.toThrow('SQLITE_BUSY');
  });
});

it('another fault is not repeated', async () => {
  const database = waitForLocks(databaseThatFails('D1_ERROR: no such table', 1_000));
  await expect(database.prepare('select 1').run()).rejects.toThrow('no such table');
});
