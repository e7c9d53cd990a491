/** An event is accepted once, under every fault of the network and the stores. */

import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { v5 } from 'uuid';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { bookingCreated, expectEvent, ingest, ingestInit } from '../support/events.ts';
import {
  CONNECTION_LOST,
  failingD1,
  gatedD1,
  KV_FAULTS,
  meddledKv,
  OUT_OF_ORDER,
  silentD1,
} from '../support/faults.ts';
import {
  API_KEY,
  callWith,
  expectDocumented,
  expectError,
  expectStatus,
  sendWith,
} from '../support/http.ts';
import { tapD1 } from '../support/tap.ts';

const PATH = '/api/public/events/ingest';
const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const HOUR_MS = 3_600_000;

const A = bookingCreated({ payload: { guests: 1 } });
const B = bookingCreated({ payload: { guests: 2 } });
const C = bookingCreated({ payload: { guests: 3 } });

const freshKey = () => crypto.randomUUID();
const ingestWith = (changes: Partial<Env>, body: unknown, key?: string) =>
  sendWith(changes, PATH, ingestInit(body, key));

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Sends all bodies at once and returns the ids of the responses by status. */
async function raceOf(bodies: unknown[], send: (body: unknown) => Promise<Response>) {
  const responses = await Promise.all(bodies.map(send));
  const ids: Record<number, unknown[]> = {};
  for (const response of responses) {
    const { id } = await response.json<{ id?: string }>();
    ids[response.status] = [...(ids[response.status] ?? []), id];
  }
  return ids;
}

async function storedUnder(key: string): Promise<number | null> {
  return env.DB.prepare('SELECT count(*) AS n FROM events WHERE key_id = ?')
    .bind(v5(key, NAMESPACE))
    .first<number>('n');
}

const twins = Array.from({ length: 8 }, () => A);
const rivals = Array.from({ length: 8 }, (_, guests) =>
  bookingCreated({ payload: { guests: guests + 1 } }),
);

const KVS: [name: string, kv: () => KVNamespace][] = [['a KV that works', () => env.IDEMPOTENCY]];
for (const [name, taps] of Object.entries(KV_FAULTS)) {
  KVS.push([`a KV that ${name}`, () => meddledKv(env.IDEMPOTENCY, taps)]);
}

describe.each(KVS)('beside %s', (_, kv) => {
  it('exactly one of concurrent identical requests is accepted, the rest replay its id', async () => {
    const key = freshKey();
    const IDEMPOTENCY = kv();
    const ids = await raceOf(twins, (body) => ingestWith({ IDEMPOTENCY }, body, key));
    expect(Object.keys(ids)).toEqual(['200', '202']);
    expect(ids[202]).toEqual([v5(key, NAMESPACE)]);
    expect(new Set(ids[200])).toEqual(new Set(ids[202]));
    expect(await storedUnder(key)).toBe(1);
  });

  it('exactly one of concurrent different bodies is accepted, the rest are refused', async () => {
    const key = freshKey();
    const IDEMPOTENCY = kv();
    const ids = await raceOf(rivals, (body) => ingestWith({ IDEMPOTENCY }, body, key));
    expect(ids[202]).toHaveLength(1);
    expect(ids[409]).toHaveLength(7);
    expect(await storedUnder(key)).toBe(1);
  });

  it('a retry replays and another body is refused', async () => {
    const key = freshKey();
    const IDEMPOTENCY = kv();
    const first = await expectEvent(await ingestWith({ IDEMPOTENCY }, A, key), 202);
    const replay = await expectEvent(await ingestWith({ IDEMPOTENCY }, A, key), 200);
    expect(replay).toEqual({ ...first, status: 'idempotent' });
    await expectStatus(await ingestWith({ IDEMPOTENCY }, B, key), 409);
  });
});

it.each(['never answers a read', 'never answers a write'] as const)(
  'a response does not wait for a KV that %s',
  async (fault) => {
    // The deadline of KV is a timer that stands still, so a request that waits for KV waits for ever.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const IDEMPOTENCY = meddledKv(env.IDEMPOTENCY, KV_FAULTS[fault]);
    const { response, settled } = await callWith({ IDEMPOTENCY }, PATH, ingestInit(A, freshKey()));
    await expectEvent(response, 202);
    await vi.advanceTimersByTimeAsync(1_000);
    await settled;
  },
);

it.each([
  ['with a key', 'hang-up'],
  ['without a key', undefined],
])(
  'the commit of an event %s, and the work after it, go on when the client hangs up',
  async (_, prefix) => {
    const gate = Promise.withResolvers<void>();
    const order: string[] = [];
    const DB = tapD1(env.DB, async (call) => {
      await gate.promise;
      const results = await call();
      order.push('committed');
      return results;
    });
    const kept: Promise<unknown>[] = [];
    const ctx: ExecutionContext = Object.assign(createExecutionContext(), {
      waitUntil: (work: Promise<unknown>) => kept.push(work),
    });
    const key = prefix && `${prefix}-${freshKey()}`;
    const init = ingestInit(bookingCreated(), key);
    const headers = { ...init.headers, 'x-api-key': API_KEY };
    const request = new Request(`https://api.example.com${PATH}`, { ...init, headers });
    const answer = createApp().fetch(request, { ...env, DB }, ctx);
    // The counting of the request, which ends by itself, and the ingest.
    await vi.waitFor(() => expect(kept).toHaveLength(2));
    const isKept = Promise.all(kept).then(() => order.push('nothing is kept any more'));
    gate.resolve();
    const response = await answer;
    await expectDocumented(request, response);
    const { id } = await expectEvent(response, 202);
    await isKept;
    expect(order).toEqual(['committed', 'nothing is kept any more']);
    await Promise.all(kept);
    expect(await env.IDEMPOTENCY.get(id)).toEqual(key === undefined ? null : expect.any(String));
  },
);

describe('while D1 is down', () => {
  const DB = failingD1(env.DB, { when: 'before commit' });

  it('a retry that KV knows is replayed', async () => {
    const key = freshKey();
    const first = await expectEvent(await ingestWith({}, A, key), 202);
    const response = await ingestWith({ DB }, A, key);
    expect(response.headers.get('Idempotent-Replayed')).toBe('true');
    expect(await expectEvent(response, 200)).toEqual({ ...first, status: 'idempotent' });
  });

  it('another body under a key that KV knows is refused without details', async () => {
    const key = freshKey();
    await ingestWith({}, A, key);
    const error = await expectError(
      await ingestWith({ DB }, B, key),
      409,
      'idempotency_key_in_use',
    );
    expect(error.details).toBeUndefined();
  });

  it('a key that KV does not know gets a 500 and stays free', async () => {
    const key = freshKey();
    const error = await expectError(await ingestWith({ DB }, A, key), 500, 'internal_error');
    expect(error.message).not.toContain('out of order');
    expect(await storedUnder(key)).toBe(0);
    await expectEvent(await ingestWith({}, B, key), 202);
  });

  it('an entry older than its 24 hours has no effect', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const key = freshKey();
    await ingestWith({}, A, key);
    vi.setSystemTime(Date.now() + 24 * HOUR_MS);
    await expectError(await ingestWith({ DB }, A, key), 500, 'internal_error');
    await expectError(await ingestWith({ DB }, B, key), 500, 'internal_error');
  });

  it('an entry is valid until the last millisecond of its 24 hours', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const key = freshKey();
    await ingestWith({}, A, key);
    vi.setSystemTime(Date.now() + 24 * HOUR_MS - 1);
    await expectEvent(await ingestWith({ DB }, A, key), 200);
  });

  it('an invalid body under a key that KV knows is refused by the key', async () => {
    const key = freshKey();
    await ingestWith({}, A, key);
    await expectStatus(
      await ingestWith({ DB }, bookingCreated({ payload: { guests: 0 } }), key),
      409,
    );
  });

  it('an event without a key gets a 500', async () => {
    await expectError(await ingestWith({ DB }, A), 500, 'internal_error');
  });
});

describe('while D1 is slow', () => {
  it('KV replays at once, and the pending call of D1 writes nothing', async () => {
    const key = freshKey();
    await ingestWith({}, A, key);
    const gate = Promise.withResolvers<void>();
    const DB = gatedD1(env.DB, gate.promise);
    const { response, settled } = await callWith({ DB }, PATH, ingestInit(A, key));
    await expectEvent(response, 200);
    gate.resolve();
    await settled;
    expect(await storedUnder(key)).toBe(1);
  });

  it('KV answers when D1 fails before KV does', async () => {
    const key = freshKey();
    const first = await expectEvent(await ingestWith({}, A, key), 202);
    const gate = Promise.withResolvers<void>();
    const DB = tapD1(env.DB, async () => {
      gate.resolve();
      throw new Error(OUT_OF_ORDER);
    });
    const IDEMPOTENCY = meddledKv(env.IDEMPOTENCY, {
      get: async (call) => {
        await gate.promise;
        // A turn of the event loop later D1's failure has arrived.
        await scheduler.wait(0);
        return call();
      },
    });
    expect(await expectEvent(await ingestWith({ DB, IDEMPOTENCY }, A, key), 200)).toEqual({
      ...first,
      status: 'idempotent',
    });
    const error = await expectError(
      await ingestWith({ DB, IDEMPOTENCY }, B, key),
      409,
      'idempotency_key_in_use',
    );
    expect(error.details).toBeUndefined();
  });

  it('a mismatch in KV waits for D1', async () => {
    const key = freshKey();
    await ingestWith({}, A, key);
    const gate = Promise.withResolvers<void>();
    const DB = gatedD1(env.DB, gate.promise);
    const fromKv = Promise.withResolvers<void>();
    const IDEMPOTENCY = meddledKv(env.IDEMPOTENCY, {
      get: (call) => call().finally(() => fromKv.resolve()),
    });
    const answer = callWith({ DB, IDEMPOTENCY }, PATH, ingestInit(B, key));
    const isAnswered = vi.fn();
    void answer.then(isAnswered);
    await fromKv.promise;
    // A turn of the event loop later an answer that is made from KV's would be there.
    await scheduler.wait(0);
    expect(isAnswered).not.toHaveBeenCalled();
    gate.resolve();
    const error = await expectError((await answer).response, 409, 'idempotency_key_in_use');
    expect(error.details).toEqual([{ path: 'payload.guests', message: expect.any(String) }]);
  });
});

describe('a fault that the caller does not see is logged under the request id', () => {
  const requestId = 'seen-in-the-log';
  const withId = (body: unknown, key: string) => {
    const init = ingestInit(body, key);
    return { ...init, headers: { ...init.headers, 'X-Request-ID': requestId } };
  };
  const spyOnLog = () => vi.spyOn(console, 'error').mockReturnValue(undefined);
  const faultsIn = (log: ReturnType<typeof spyOnLog>) =>
    log.mock.calls.map(([line]) => JSON.parse(String(line)));

  it.each([
    ['before KV replays', A, 200],
    ['before KV refuses', B, 409],
  ])('when D1 fails %s', async (_, body, status) => {
    const key = freshKey();
    await ingestWith({}, A, key);
    const log = spyOnLog();
    const DB = failingD1(env.DB, { when: 'before commit' });
    await expectStatus(await sendWith({ DB }, PATH, withId(body, key)), status);
    expect(faultsIn(log)).toEqual([
      expect.objectContaining({
        message: 'D1 failed; KV answered',
        request_id: requestId,
        cause: expect.stringContaining(OUT_OF_ORDER),
      }),
    ]);
  });

  it('when D1 fails after KV has replayed', async () => {
    const key = freshKey();
    await ingestWith({}, A, key);
    const log = spyOnLog();
    const gate = Promise.withResolvers<void>();
    const DB = gatedD1(failingD1(env.DB, { when: 'before commit' }), gate.promise);
    const { response, settled } = await callWith({ DB }, PATH, withId(A, key));
    await expectEvent(response, 200);
    expect(faultsIn(log)).toEqual([]);
    gate.resolve();
    await settled;
    expect(faultsIn(log)).toEqual([
      expect.objectContaining({ message: 'D1 failed; KV answered', request_id: requestId }),
    ]);
  });

  it('when KV fails', async () => {
    const log = spyOnLog();
    const IDEMPOTENCY = meddledKv(env.IDEMPOTENCY, KV_FAULTS['fails on read and on write']);
    await expectStatus(await sendWith({ IDEMPOTENCY }, PATH, withId(A, freshKey())), 202);
    expect(faultsIn(log)).toEqual([
      expect.objectContaining({ message: 'KV read failed', request_id: requestId }),
      expect.objectContaining({ message: 'KV write failed', request_id: requestId }),
    ]);
  });
});

describe('when the answer of D1 is lost after the commit', () => {
  const lost = (times: number, message = CONNECTION_LOST) =>
    failingD1(env.DB, { when: 'after commit', message, times });
  /** A call is repeated within 1.5 s, and eight of them at once take a busy machine longer. */
  const stopClock = () => vi.useFakeTimers({ toFake: ['Date'] });

  it('the request recognizes its own commit and is accepted', async () => {
    const key = freshKey();
    await expectEvent(await ingestWith({ DB: lost(1) }, A, key), 202);
    expect(await storedUnder(key)).toBe(1);
    await expectEvent(await ingestWith({}, A, key), 200);
  });

  it('exactly one of concurrent identical requests is accepted', async () => {
    stopClock();
    const key = freshKey();
    const ids = await raceOf(twins, (body) => ingestWith({ DB: lost(1) }, body, key));
    expect(ids[202]).toHaveLength(1);
    expect(ids[200]).toHaveLength(7);
    expect(await storedUnder(key)).toBe(1);
  });

  it('exactly one of concurrent different bodies is accepted', async () => {
    stopClock();
    const key = freshKey();
    const ids = await raceOf(rivals, (body) => ingestWith({ DB: lost(1) }, body, key));
    expect(ids[202]).toHaveLength(1);
    expect(ids[409]).toHaveLength(7);
  });

  it('KV caches the response', async () => {
    const key = freshKey();
    await ingestWith({ DB: lost(1) }, A, key);
    await expectEvent(
      await ingestWith({ DB: failingD1(env.DB, { when: 'before commit' }) }, A, key),
      200,
    );
  });

  it('a caller that got a 500 gets a replay when it retries', async () => {
    const key = freshKey();
    await expectStatus(await ingestWith({ DB: lost(1, OUT_OF_ORDER) }, A, key), 500);
    expect(await storedUnder(key)).toBe(1);
    expect((await expectEvent(await ingestWith({}, A, key), 200)).id).toBe(v5(key, NAMESPACE));
  });

  it('an event without a key is stored once', async () => {
    const aggregate_id = freshKey();
    const { id } = await expectEvent(
      await ingestWith({ DB: lost(2) }, { ...A, aggregate_id }),
      202,
    );
    const { results } = await env.DB.prepare('SELECT id FROM events WHERE aggregate_id = ?')
      .bind(aggregate_id)
      .all();
    expect(results).toEqual([{ id }]);
  });

  it('an event is accepted although earlier attempts failed before the commit', async () => {
    const key = freshKey();
    const DB = failingD1(env.DB, { when: 'before commit', message: CONNECTION_LOST, times: 2 });
    await expectEvent(await ingestWith({ DB }, A, key), 202);
  });
});

it('a request waits 10 seconds at most for a D1 that commits and never answers', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const key = freshKey();
  const asked = Promise.withResolvers<void>();
  const DB = tapD1(silentD1(env.DB), (call) => {
    asked.resolve();
    return call();
  });
  const answer = ingestWith({ DB }, A, key);
  const isAnswered = vi.fn();
  void answer.then(isAnswered);
  await asked.promise;
  await vi.advanceTimersByTimeAsync(9_999);
  expect(isAnswered).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await expectStatus(await answer, 500);
  await expectEvent(await ingestWith({}, A, key), 200);
});

describe('after 24 hours', () => {
  const advance = (hours: number) => vi.setSystemTime(Date.now() + hours * HOUR_MS);

  it('each body of a key keeps its id, and the newest holds the key', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const key = freshKey();
    const keyId = v5(key, NAMESPACE);
    const a = await expectEvent(await ingest(A, key), 202);
    expect(a.id).toBe(keyId);

    advance(24);
    const b = await expectEvent(await ingest(B, key), 202);
    const canonical =
      '{"aggregate_id":"bk_1","aggregate_type":"booking","event_type":"booking.created","payload":{"guests":2}}';
    expect(b.id).toBe(v5(await sha256(canonical), keyId));
    await expectStatus(await ingest(A, key), 409);
    await expectStatus(await ingest(C, key), 409);
    expect((await expectEvent(await ingest(B, key), 200)).id).toBe(b.id);

    advance(24);
    expect(await expectEvent(await ingest(A, key), 200)).toEqual({ ...a, status: 'idempotent' });
    expect((await expectEvent(await ingest(B, key), 200)).id).toBe(b.id);
    expect(await storedUnder(key)).toBe(2);

    const c = await expectEvent(await ingest(C, key), 202);
    expect(new Set([a.id, b.id, c.id]).size).toBe(3);
    await expectStatus(await ingest(A, key), 409);
    await expectStatus(await ingest(B, key), 409);
  });

  it('the window ends with its last millisecond', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const key = freshKey();
    await ingest(A, key);
    vi.setSystemTime(Date.now() + 24 * HOUR_MS - 1);
    await expectStatus(await ingest(B, key), 409);
    vi.setSystemTime(Date.now() + 1);
    await expectEvent(await ingest(B, key), 202);
  });

  it('a replay neither lengthens a window nor starts one', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const key = freshKey();
    await ingest(A, key);
    advance(23);
    await expectStatus(await ingest(A, key), 200);
    advance(1);
    await expectStatus(await ingest(A, key), 200);
    await expectEvent(await ingest(B, key), 202);
  });

  it('an expired entry that KV still returns has no effect', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const key = freshKey();
    await ingestWith({}, A, key);
    const old = await env.IDEMPOTENCY.get(v5(key, NAMESPACE), 'json');
    expect(old).not.toBeNull();
    const IDEMPOTENCY = meddledKv(env.IDEMPOTENCY, { get: async () => old });
    advance(24);
    await expectEvent(await ingestWith({ IDEMPOTENCY }, B, key), 202);
    await expectStatus(await ingestWith({ IDEMPOTENCY }, A, key), 409);
    await expectEvent(await ingestWith({ IDEMPOTENCY }, B, key), 200);
  });

  it('exactly one of concurrent different bodies is accepted', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const key = freshKey();
    await ingest(C, key);
    advance(24);
    const ids = await raceOf(
      Array.from({ length: 8 }, (_, index) => (index % 2 ? A : B)),
      (body) => ingest(body, key),
    );
    expect(ids[202]).toHaveLength(1);
    expect(ids[200]).toHaveLength(3);
    expect(ids[409]).toHaveLength(4);
    expect(await storedUnder(key)).toBe(2);
  });

  it('the var IDEMPOTENCY_RETENTION_SECONDS sets the window', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const key = freshKey();
    const IDEMPOTENCY_RETENTION_SECONDS = '60';
    await ingestWith({ IDEMPOTENCY_RETENTION_SECONDS }, A, key);
    vi.setSystemTime(Date.now() + 59_999);
    await expectStatus(await ingestWith({ IDEMPOTENCY_RETENTION_SECONDS }, B, key), 409);
    vi.setSystemTime(Date.now() + 1);
    await expectEvent(await ingestWith({ IDEMPOTENCY_RETENTION_SECONDS }, B, key), 202);
  });
});

describe('the stored events of a key decide before the schema', () => {
  /** Stores an event that an older catalogue accepted and the present one refuses. */
  async function storeUnderOlderSchema(key: string) {
    const keyId = v5(key, NAMESPACE);
    const canonical =
      '{"aggregate_id":"b","aggregate_type":"booking","event_type":"booking.former","payload":{"guests":"two"}}';
    await env.DB.prepare(
      `INSERT INTO events (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, payload, created_at)
       VALUES (?1, ?1, ?2, 'r', 'booking.former', 'booking', 'b', '{"guests":"two"}', ?3)`,
    )
      .bind(keyId, await sha256(canonical), Date.now())
      .run();
    return { keyId, body: canonical };
  }

  it('replays a body that is no longer valid, within 24 hours and after', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const key = freshKey();
    const { keyId, body } = await storeUnderOlderSchema(key);
    expect(await expectEvent(await ingest(body, key), 200)).toMatchObject({
      id: keyId,
      type: 'booking.former',
      status: 'idempotent',
    });
    vi.setSystemTime(Date.now() + 25 * HOUR_MS);
    await expectEvent(await ingest(body, key), 200);
  });

  it('refuses another body with a 409, even an invalid one', async () => {
    const key = freshKey();
    await ingest(A, key);
    const error = await expectError(
      await ingest({ event_type: 'none', extra: 1, payload: { guests: 0 } }, key),
      409,
      'idempotency_key_in_use',
    );
    expect(error.details?.map(({ path }) => path)).toEqual([
      'event_type',
      'extra',
      'payload.guests',
      'aggregate_id',
      'aggregate_type',
    ]);
  });

  it('refuses an invalid body with a 400 once the key is free again', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const key = freshKey();
    await ingest(A, key);
    vi.setSystemTime(Date.now() + 24 * HOUR_MS);
    await expectStatus(await ingest(bookingCreated({ payload: { guests: 0 } }), key), 400);
  });

  it('checks the limits of a body first', async () => {
    const key = freshKey();
    await ingest(A, key);
    await expectStatus(await ingest('[]', key), 400);
    await expectStatus(await ingest('{', key), 400);
    await expectStatus(
      await ingest(bookingCreated({ payload: { x: 'x'.repeat(300_000) } }), key),
      413,
    );
    await expectStatus(await ingest('{"a":9007199254740993}', key), 400);
  });
});

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
