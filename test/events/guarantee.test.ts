/**
 * The guarantee that each event is accepted exactly once. This file has one example for each rule about
 * idempotency keys and for each fault of D1 and KV. test/simulation checks the same rules with random
 * sequences of requests and faults, and test/faults.test.ts checks the status for each fault.
 */

import { createExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { v5 } from 'uuid';
import { describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { bookingCreated, expectEvent, ingest, ingestInit } from '../support/events.ts';
import {
  CONNECTION_LOST,
  DOWN,
  delayD1,
  failingD1,
  MODES,
  OUT_OF_ORDER,
} from '../support/faults.ts';
import {
  API_KEY,
  callWith,
  expectDocumented,
  expectError,
  expectStatus,
  sendWith,
} from '../support/http.ts';
import { interceptD1, interceptMethods } from '../support/interceptor.ts';
import { deriveEventId, sha256 } from '../support/keys.ts';
import { watchLog } from '../support/log.ts';

const PATH = '/api/public/events/ingest';
const HOUR_MS = 3_600_000;

const A = bookingCreated({ payload: { guests: 1 } });
const B = bookingCreated({ payload: { guests: 2 } });
const C = bookingCreated({ payload: { guests: 3 } });
const INVALID = bookingCreated({ payload: { guests: -1 } });

const freshKey = () => crypto.randomUUID();
const ingestWith = (changes: Partial<Env>, body: unknown, key?: string) =>
  sendWith(changes, PATH, ingestInit(body, key));

/** Stops the clock. Returns a function that advances it. */
function stopClock() {
  vi.useFakeTimers({ toFake: ['Date'] });
  return (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);
}

/** Sends all bodies concurrently. Returns the event ids in the responses, grouped by status. */
async function raceBodies(bodies: unknown[], key: string) {
  const responses = await Promise.all(bodies.map((body) => ingestWith({}, body, key)));
  const ids: Record<number, unknown[]> = {};
  for (const response of responses) {
    const { id } = await response.json<{ id?: string }>();
    ids[response.status] = [...(ids[response.status] ?? []), id];
  }
  return ids;
}

async function countStored(key: string): Promise<number | null> {
  return env.DB.prepare('SELECT count(*) AS n FROM events WHERE key_id = ?')
    .bind(deriveEventId(key))
    .first<number>('n');
}

it('accepts exactly one of several concurrent requests with the same key', async () => {
  const [twinKey, rivalKey] = [freshKey(), freshKey()];
  const twins = await raceBodies(Array(8).fill(A), twinKey);
  const id = deriveEventId(twinKey);
  expect(twins).toEqual({ 200: Array(7).fill(id), 202: [id] });
  const bodies = Array.from({ length: 8 }, (_, guests) =>
    bookingCreated({ payload: { guests: guests + 1 } }),
  );
  const rivals = await raceBodies(bodies, rivalKey);
  expect(rivals[202]).toHaveLength(1);
  expect(rivals[409]).toHaveLength(7);
  expect([await countStored(twinKey), await countStored(rivalKey)]).toEqual([1, 1]);
});

it.each([
  ['with a key', 'disconnect'],
  ['without a key', undefined],
])('commits an event %s even if the client disconnects', async (_, prefix) => {
  const start = Promise.withResolvers<void>();
  const order: string[] = [];
  const DB = interceptD1(env.DB, async (call) => {
    await start.promise;
    const results = await call();
    order.push('committed');
    return results;
  });
  const backgroundWork: Promise<unknown>[] = [];
  const ctx: ExecutionContext = Object.assign(createExecutionContext(), {
    waitUntil: (work: Promise<unknown>) => backgroundWork.push(work),
  });
  const key = prefix && `${prefix}-${freshKey()}`;
  const init = ingestInit(bookingCreated(), key, { 'x-api-key': API_KEY });
  const request = new Request(`https://api.example.com${PATH}`, init);
  const responding = createApp().fetch(request, { ...env, DB }, ctx);
  await vi.waitFor(() => expect(backgroundWork).toHaveLength(1));
  const settled = Promise.all(backgroundWork).then(() => order.push('settled'));
  start.resolve();
  const response = await responding;
  await expectDocumented(request, response);
  const { id } = await expectEvent(response, 202);
  await settled;
  expect(order).toEqual(['committed', 'settled']);
  await Promise.all(backgroundWork);
  expect(await env.IDEMPOTENCY.get(id)).toEqual(key === undefined ? null : expect.any(String));
});

it.each<[how: string, misbehave: () => Promise<never>]>([
  ['cannot be read', () => Promise.reject(new Error(OUT_OF_ORDER))],
  ['does not arrive within a second', () => new Promise(() => undefined)],
])('omits the details of a 409 if the stored body %s', async (_, misbehave) => {
  const key = freshKey();
  await expectEvent(await ingestWith({}, A, key), 202);
  const log = vi.spyOn(console, 'error').mockReturnValue(undefined);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const secondCall = Promise.withResolvers<void>();
  let calls = 0;
  const DB = interceptD1(env.DB, (call) => {
    calls += 1;
    if (calls === 1) return call();
    secondCall.resolve();
    return misbehave();
  });
  const responding = callWith({ DB }, PATH, ingestInit(B, key));
  await secondCall.promise;
  await vi.advanceTimersByTimeAsync(1_000);
  const { details } = await expectError((await responding).response, 409, 'idempotency_key_in_use');
  expect(details).toBeUndefined();
  expect(log.mock.calls.join()).toContain('bodies of conflicts');
});

describe('while D1 is down', () => {
  it('replays the response from KV but rejects other bodies without details', async () => {
    const key = freshKey();
    const first = await expectEvent(await ingestWith({}, A, key), 202);
    const response = await ingestWith(DOWN, A, key);
    expect(response.headers.get('Idempotent-Replayed')).toBe('true');
    expect(await expectEvent(response, 200)).toEqual({ ...first, status: 'idempotent' });
    for (const other of [B, INVALID]) {
      const conflict = await ingestWith(DOWN, other, key);
      const error = await expectError(conflict, 409, 'idempotency_key_in_use');
      expect(error.details).toBeUndefined();
    }
  });

  it('uses a KV entry for exactly 24 hours', async () => {
    const advance = stopClock();
    const key = freshKey();
    await ingestWith({}, A, key);
    advance(24 * HOUR_MS - 1);
    await expectEvent(await ingestWith(DOWN, A, key), 200);
    advance(1);
    await expectError(await ingestWith(DOWN, A, key), 500, 'internal_error');
    await expectError(await ingestWith(DOWN, B, key), 500, 'internal_error');
  });
});

describe('a fault of D1 or KV that the caller does not notice', () => {
  const IDEMPOTENCY = interceptMethods(env.IDEMPOTENCY, MODES['fails at once']());

  it.each([
    ['D1 fails and KV replays', DOWN, A, 200, 'D1 failed; KV responded'],
    ['D1 fails and KV rejects', DOWN, B, 409, 'D1 failed; KV responded'],
    ['KV fails to read', { IDEMPOTENCY }, A, 200, 'KV read failed'],
    ['KV fails to write', { IDEMPOTENCY }, A, 202, 'KV write failed'],
  ])('is logged with the request id when %s', async (_, changes, body, status, message) => {
    const key = freshKey();
    if (status !== 202) await ingestWith({}, A, key);
    const faults = watchLog('error');
    const init = ingestInit(body, key, { 'X-Request-ID': 'in-the-log' });
    await expectStatus(await sendWith(changes, PATH, init), status);
    expect(faults()).toContainEqual(expect.objectContaining({ message, request_id: 'in-the-log' }));
  });
});

it('logs a D1 error that occurs after KV has replayed the response', async () => {
  const key = freshKey();
  await ingestWith({}, A, key);
  const log = vi.spyOn(console, 'error').mockReturnValue(undefined);
  const d1Response = Promise.withResolvers<never>();
  const DB = delayD1(env.DB, d1Response.promise);
  const { response, settled } = await callWith({ DB }, PATH, ingestInit(A, key));
  await expectStatus(response, 200);
  d1Response.reject(new Error(OUT_OF_ORDER));
  await settled;
  expect(log.mock.calls.join()).toContain('D1 failed; KV responded');
});

describe("when D1's response is lost after the commit", () => {
  const lost = (times: number, message = CONNECTION_LOST) =>
    failingD1(env.DB, { isAfterCommit: true, message, times });

  it('returns 202 if a retry finds the event that the first attempt committed', async () => {
    const key = freshKey();
    await expectEvent(await ingestWith({ DB: lost(1) }, A, key), 202);
    expect(await countStored(key)).toBe(1);
    await expectEvent(await ingestWith(DOWN, A, key), 200);
  });

  it('stores an event without a key only once', async () => {
    const aggregate_id = freshKey();
    const response = await ingestWith({ DB: lost(2) }, { ...A, aggregate_id });
    const { id } = await expectEvent(response, 202);
    const { results } = await env.DB.prepare('SELECT id FROM events WHERE aggregate_id = ?')
      .bind(aggregate_id)
      .all();
    expect(results).toEqual([{ id }]);
  });
});

describe('after 24 hours', () => {
  it('accepts a new body under the key without changing the ids of earlier bodies', async () => {
    const advance = stopClock();
    const key = freshKey();
    const keyId = deriveEventId(key);
    const a = await expectEvent(await ingest(A, key), 202);
    expect(a.id).toBe(keyId);

    advance(24 * HOUR_MS - 1);
    await expectStatus(await ingest(A, key), 200);
    await expectStatus(await ingest(B, key), 409);
    // The replay does not extend the 24 hours.
    advance(1);
    const b = await expectEvent(await ingest(B, key), 202);
    const canonical =
      '{"aggregate_id":"bk_1","aggregate_type":"booking","event_type":"booking.created","payload":{"guests":2}}';
    expect(b.id).toBe(v5(await sha256(canonical), keyId));
    await expectStatus(await ingest(A, key), 409);
    await expectStatus(await ingest(C, key), 409);
    expect((await expectEvent(await ingest(B, key), 200)).id).toBe(b.id);

    advance(24 * HOUR_MS);
    expect(await expectEvent(await ingest(A, key), 200)).toEqual({ ...a, status: 'idempotent' });
    expect((await expectEvent(await ingest(B, key), 200)).id).toBe(b.id);
    expect(await countStored(key)).toBe(2);

    const c = await expectEvent(await ingest(C, key), 202);
    expect(new Set([a.id, b.id, c.id]).size).toBe(3);
    await expectStatus(await ingest(A, key), 409);
    await expectStatus(await ingest(B, key), 409);
  });
});

describe('a key in use', () => {
  it('replays the response to a body that the current schema rejects', async () => {
    const advance = stopClock();
    const key = freshKey();
    const keyId = deriveEventId(key);
    const body =
      '{"aggregate_id":"b","aggregate_type":"booking","event_type":"booking.former","payload":{"guests":"two"}}';
    // An earlier release accepted this event type, which the service now rejects.
    await env.DB.prepare(
      `INSERT INTO events (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, payload, created_at)
       VALUES (?1, ?1, ?2, 'r', 'booking.former', 'booking', 'b', '{"guests":"two"}', ?3)`,
    )
      .bind(keyId, await sha256(body), Date.now())
      .run();
    const replay = { id: keyId, type: 'booking.former', status: 'idempotent' };
    expect(await expectEvent(await ingest(body, key), 200)).toMatchObject(replay);
    advance(25 * HOUR_MS);
    expect(await expectEvent(await ingest(body, key), 200)).toMatchObject(replay);
  });

  it('rejects an invalid body with a 409 for 24 hours', async () => {
    const advance = stopClock();
    const key = freshKey();
    await ingest(A, key);
    const other = { event_type: 'none', extra: 1, payload: { guests: -1 } };
    const error = await expectError(await ingest(other, key), 409, 'idempotency_key_in_use');
    expect(error.details?.map(({ path }) => path)).toEqual([
      'event_type',
      'extra',
      'payload.guests',
      'aggregate_id',
      'aggregate_type',
    ]);
    advance(24 * HOUR_MS);
    await expectStatus(await ingest(INVALID, key), 400);
  });
});
