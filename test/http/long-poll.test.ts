/** Requests with `wait`: when they poll, when they end, and how many can poll at the same time. */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { bookingCreated, expectEvent, ingest } from '../support/events.ts';
import { OUT_OF_ORDER } from '../support/faults.ts';
import { callWith, expectError, expectStatus, freshAddress } from '../support/http.ts';
import { interceptD1 } from '../support/interceptor.ts';

const MAX_WAITING = 50;

/** Returns the path of a list of events that is empty. */
const emptyList = (aggregateId: string = crypto.randomUUID()) =>
  `/api/v1/events?order=asc&wait=25&aggregate_id=${aggregateId}`;

const store = async (aggregate_id: string) =>
  expectEvent(await ingest(bookingCreated({ aggregate_id }), crypto.randomUUID()), 202);

const countItems = async (response: Response) => {
  await expectStatus(response, 200);
  return (await response.json<{ data: unknown[] }>()).data.length;
};

/** Sends a request that waits. Returns the number of items in its list. */
const wait = async (DB: D1Database, path = emptyList()) =>
  countItems(await waitAt(freshAddress(), DB, path));

const waitAt = async (address: string, DB: D1Database, path = emptyList()) =>
  (await callWith({ DB }, path, { headers: { 'CF-Connecting-IP': address } })).response;

/**
 * Counts the polls, which are round trips to D1, and the rows that they read. Detects when the requests
 * sleep between two polls.
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
     * Resolves when this number of polls has ended and this number of timers is left, because the
     * time limits of calls are then cleared.
     */
    async untilAsleep(polls: number, timers = 1): Promise<void> {
      do await scheduler.wait(0);
      while (rows.length !== polls || vi.getTimerCount() !== timers);
    },
  };
}

/** Advances the time until all waiting requests poll for the last time. */
async function endAll(): Promise<void> {
  vi.setSystemTime(Date.now() + 25_000);
  await vi.advanceTimersByTimeAsync(1_000);
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});

describe('a request that waits', () => {
  it('responds with the new event a second after its last poll', async () => {
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

  it('responds with an empty list after 26 polls in 25 seconds', async () => {
    const { DB, count, untilAsleep } = pollCounter();
    const waiting = wait(DB);
    for (let second = 1; second <= 25; second += 1) {
      await untilAsleep(second);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect([await waiting, count()]).toEqual([0, 26]);
  });

  it('continues each poll where the last one ended', async () => {
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

  it('polls again when a poll fails', async () => {
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

  it('does not poll after its signal is aborted', async () => {
    const { DB, count, untilAsleep } = pollCounter();
    const hangUp = new AbortController();
    const waiting = callWith({ DB }, emptyList(), { signal: hangUp.signal });
    await untilAsleep(1);
    hangUp.abort();
    await vi.advanceTimersByTimeAsync(1_000);
    await waiting;
    expect(count()).toBe(1);
  });

  it('is rejected when the database is rewound, during its wait or before', async () => {
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
  it('lets at most five requests per client and list poll', async () => {
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
    // The five have polled again.
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

  it('lets at most 50 requests poll, including disconnected ones', async () => {
    const { DB, untilAsleep } = pollCounter();
    const blocked = Promise.withResolvers<void>();
    // The platform cancels a request during its work. Here, the second poll never ends.
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
    // Each poll that never ends has a time limit.
    await next.untilAsleep(1, MAX_WAITING + 1);
    blocked.resolve();
    await Promise.all(cancelled);
    await endAll();
    expect(await waiting).toBe(0);
  });
});
