/** When requests with `wait` poll, when they end, and how many can poll concurrently. */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { bookingCreated, expectEvent, ingest } from '../support/events.ts';
import { OUT_OF_ORDER } from '../support/faults.ts';
import { callWith, expectError, expectStatus, freshAddress } from '../support/http.ts';
import { interceptD1 } from '../support/interceptor.ts';

const MAX_WAITING = 50;

/** Returns the path of a request that waits for the first event of an aggregate. */
const emptyList = (aggregateId: string = crypto.randomUUID()) =>
  `/api/v1/events?order=asc&wait=25&aggregate_id=${aggregateId}`;

const store = async (aggregate_id: string) =>
  expectEvent(await ingest(bookingCreated({ aggregate_id }), crypto.randomUUID()), 202);

const countItems = async (response: Response) => {
  await expectStatus(response, 200);
  return (await response.json<{ data: unknown[] }>()).data.length;
};

/** Sends a request with `wait`. Returns the number of items in the response. */
const wait = async (DB: D1Database, path = emptyList()) =>
  countItems(await waitAt(freshAddress(), DB, path));

const waitAt = async (address: string, DB: D1Database, path = emptyList()) =>
  (await callWith({ DB }, path, { headers: { 'CF-Connecting-IP': address } })).response;

/**
 * Counts the polls and the rows that they read. Each poll is a round trip to D1. Detects when the
 * requests sleep between two polls.
 */
function pollCounter() {
  const rows: number[] = [];
  const DB = interceptD1(env.DB, async (call) => {
    const results = await call();
    rows.push(results.reduce((sum, { meta }) => sum + meta.rows_read, 0));
    return results;
  });
  return {
    DB,
    rows,
    count: () => rows.length,
    /**
     * Resolves when `polls` polls have ended and only `timers` timers are left. By then, the timers
     * that limit the duration of each call have been cleared.
     */
    async untilAsleep(polls: number, timers = 1): Promise<void> {
      do await scheduler.wait(0);
      while (rows.length !== polls || vi.getTimerCount() !== timers);
    },
  };
}

/** Advances the clock until all waiting requests have polled for the last time. */
async function endAll(): Promise<void> {
  vi.setSystemTime(Date.now() + 25_000);
  await vi.advanceTimersByTimeAsync(1_000);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});

describe('a request with wait', () => {
  it('returns a new event one second after the previous poll', async () => {
    const { DB, count, untilAsleep } = pollCounter();
    const aggregateId = crypto.randomUUID();
    const waiting = wait(DB, emptyList(aggregateId));
    await untilAsleep(1);
    await store(aggregateId);
    await vi.advanceTimersByTimeAsync(999);
    expect(count()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect([await waiting, count()]).toEqual([1, 2]);
  });

  it('returns an empty list after 26 polls in 25 seconds', async () => {
    const { DB, count, untilAsleep } = pollCounter();
    const waiting = wait(DB);
    for (let second = 1; second <= 25; second += 1) {
      await untilAsleep(second);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect([await waiting, count()]).toEqual([0, 26]);
  });

  it('starts each poll where the previous one ended', async () => {
    await env.DB.exec(
      "WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 500) INSERT INTO events (id, type, aggregate_type, aggregate_id, payload, created_at) SELECT 'row ' || value, 'booking.created', 'booking', 'b', '{}', value FROM n",
    );
    const { DB, rows, untilAsleep } = pollCounter();
    const waiting = wait(DB, '/api/v1/events?order=asc&wait=25&type=none');
    await untilAsleep(1);
    await vi.advanceTimersByTimeAsync(1_000);
    await untilAsleep(2);
    await endAll();
    expect(await waiting).toBe(0);
    expect(rows[0]).toBeGreaterThan(500);
    expect(Math.max(...rows.slice(1))).toBeLessThanOrEqual(3);
  });

  it('polls again after a failed poll', async () => {
    const { DB: counted, count, untilAsleep } = pollCounter();
    const DB = interceptD1(counted, async (call) => {
      const results = await call();
      if (count() === 2) throw new Error(OUT_OF_ORDER);
      return results;
    });
    const aggregateId = crypto.randomUUID();
    const waiting = wait(DB, emptyList(aggregateId));
    await untilAsleep(1);
    await store(aggregateId);
    await vi.advanceTimersByTimeAsync(1_000);
    await untilAsleep(2);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await waiting).toBe(1);
  });

  it('stops polling when its signal is aborted', async () => {
    const { DB, count, untilAsleep } = pollCounter();
    const hangUp = new AbortController();
    const waiting = callWith({ DB }, emptyList(), { signal: hangUp.signal });
    await untilAsleep(1);
    hangUp.abort();
    await vi.advanceTimersByTimeAsync(1_000);
    await waiting;
    expect(count()).toBe(1);
  });

  it('is rejected if the database is rewound before or during the wait', async () => {
    const { DB, untilAsleep } = pollCounter();
    const path = emptyList();
    const { response } = await callWith({}, path.replace('&wait=25', ''));
    const { resume_cursor } = await response.json<{ resume_cursor: string }>();
    const send = async () => (await callWith({ DB }, `${path}&cursor=${resume_cursor}`)).response;
    const waiting = send();
    await untilAsleep(1);
    await env.DB.exec(`update database_identity set generation = 'another'`);
    await vi.advanceTimersByTimeAsync(1_000);
    await expectError(await waiting, 400, 'invalid_cursor');
    await expectError(await send(), 400, 'invalid_cursor');
  });
});

describe('an isolate', () => {
  it('limits the polling requests of a client to five per list', async () => {
    const { DB, untilAsleep } = pollCounter();
    const changes = '/api/v1/web/property-changes';
    const { response } = await callWith({}, changes);
    const { resume_cursor } = await response.json<{ resume_cursor: string }>();
    const address = freshAddress();
    const waiters = Array.from({ length: 5 }, () => waitAt(address, DB));
    await untilAsleep(5, 5);
    const further = waitAt(address, DB);
    await untilAsleep(6, 6);
    await vi.advanceTimersByTimeAsync(999);
    await untilAsleep(6, 6);
    await vi.advanceTimersByTimeAsync(1);
    // The first five requests have polled again.
    await untilAsleep(11, 5);
    const others = [
      waitAt(address, DB, `${changes}?wait=25&after=${resume_cursor}`),
      waitAt(freshAddress(), DB),
    ];
    await untilAsleep(13, 7);
    await endAll();
    for (const response of await Promise.all([...waiters, further, ...others])) {
      expect(response.headers.has('Retry-After')).toBe(false);
      expect(await countItems(response)).toBe(0);
    }
  });

  it('limits all polling requests to 50, including disconnected ones', async () => {
    const { DB, untilAsleep } = pollCounter();
    const blocked = Promise.withResolvers<void>();
    // The platform may cancel a request while it polls. Here, the second poll never ends.
    const cancelled = Array.from({ length: MAX_WAITING }, () => {
      let polls = 0;
      const stopping = interceptD1(DB, async (call) => {
        polls += 1;
        if (polls > 1) await blocked.promise;
        return call();
      });
      return wait(stopping);
    });
    await untilAsleep(MAX_WAITING, MAX_WAITING);
    const further = wait(DB);
    await untilAsleep(MAX_WAITING + 1, MAX_WAITING + 1);
    await endAll();
    expect(await further).toBe(0);

    const next = pollCounter();
    const waiting = wait(next.DB);
    // The timers of the cancelled polls are still running.
    await next.untilAsleep(1, MAX_WAITING + 1);
    blocked.resolve();
    await Promise.all(cancelled);
    await endAll();
    expect(await waiting).toBe(0);
  });
});
