/**
 * Batches of events. Each event in a batch has the same guarantee as a single event. A batch is stored
 * completely or not at all.
 */

import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import type { IngestResult } from '../../src/events/openapi/event.ts';
import { countCosts } from '../support/counting.ts';
import { batchItem, bookingCreated, ingest, ingestInit, listEvents } from '../support/events.ts';
import { expectError, expectProblems, expectStatus, sendWith } from '../support/http.ts';
import { interceptD1 } from '../support/interceptor.ts';
import { deriveEventId } from '../support/keys.ts';

const PATH = '/api/public/events/ingest/batch';

type Item = Record<string, unknown>;
const freshKey = () => crypto.randomUUID();
const item = (key: string, fields: Item = {}) => batchItem({ ...fields, idempotency_key: key });
const items = (count: number, fields: Item = {}) =>
  Array.from({ length: count }, () => batchItem(fields));
const sendBatch = (events: unknown, changes: Partial<Env> = {}, init: RequestInit = {}) =>
  sendWith(changes, PATH, { ...ingestInit({ events }), ...init });

async function readResults(response: Response): Promise<IngestResult[]> {
  await expectStatus(response, 200);
  const list = await response.json<{
    data: IngestResult[];
    has_more: boolean;
    next_cursor: null;
  }>();
  expect(list).toMatchObject({ object: 'list', has_more: false, next_cursor: null });
  return list.data;
}

const readOutcomes = async (response: Response) =>
  (await readResults(response)).map(({ outcome }) => outcome);

const countEvents = (aggregateId: string) =>
  env.DB.prepare('select count(*) as n from events where aggregate_id = ?')
    .bind(aggregateId)
    .first<number>('n');

describe('POST /api/public/events/ingest/batch', () => {
  it('stores the events in the order sent, with ids derived from their keys', async () => {
    const aggregate_id = freshKey();
    const events = items(5, { aggregate_id });
    const results = await readResults(await sendBatch(events));
    const ids = events.map(({ idempotency_key }) => deriveEventId(String(idempotency_key)));
    expect(results).toEqual(
      events.map(({ idempotency_key }, index) => ({
        object: 'ingest_result',
        idempotency_key,
        outcome: 'accepted',
        event: {
          object: 'event',
          id: ids[index],
          type: 'booking.created',
          status: 'pending',
          created_at: expect.any(String),
        },
        error: null,
      })),
    );
    const { data } = await listEvents(`order=asc&aggregate_id=${aggregate_id}`);
    expect(data.map(({ id }) => id)).toEqual(ids);
  });

  it('accepts, replays or rejects each item according to its key', async () => {
    const [storedKey, usedKey, newKey] = [freshKey(), freshKey(), freshKey()];
    await ingest(bookingCreated(), storedKey);
    await ingest(bookingCreated(), usedKey);
    const results = await readResults(
      await sendBatch([
        item(usedKey, { payload: { guests: 3, currency: 'EUR' } }),
        item(newKey),
        item(storedKey),
      ]),
    );
    expect(results.map(({ outcome }) => outcome)).toEqual(['conflict', 'accepted', 'replayed']);
    expect(results[0]).toMatchObject({
      event: null,
      error: { code: 'idempotency_key_in_use', details: [{ path: 'payload.guests' }] },
    });
    await expectStatus(await ingest(bookingCreated(), newKey), 200);
  });

  it('reads the stored bodies of only the first four conflicts', async () => {
    const payload = { text: 'x'.repeat(200 * 1_024) };
    const keys = Array.from({ length: 8 }, freshKey);
    for (const some of [keys.slice(0, 4), keys.slice(4)]) {
      await sendBatch(some.map((key) => item(key, { payload })));
    }
    const bytes: number[] = [];
    const DB = interceptD1(env.DB, async (call) => {
      const results = await call();
      bytes.push(JSON.stringify(results).length);
      return results;
    });
    const results = await readResults(
      await sendBatch(
        keys.map((key, index) => item(key, index % 2 === 0 ? {} : { payload: { guests: -1 } })),
        { DB },
      ),
    );
    expect(results.map(({ outcome }) => outcome)).toEqual(Array(8).fill('conflict'));
    expect(results.map(({ error }) => error?.details !== undefined)).toEqual([
      ...Array(4).fill(true),
      ...Array(4).fill(false),
    ]);
    const [lookedUp = 0, inserted = 0, compared = 0, ...others] = bytes;
    expect(lookedUp + inserted).toBeLessThan(16_384);
    expect(compared).toBeLessThan(1_048_576);
    expect(others).toEqual([]);
  });

  it('uses a separate round trip to look up the key of an invalid item', async () => {
    const usedKey = freshKey();
    await ingest(bookingCreated(), usedKey);
    const { env: counted, costs } = countCosts(env);
    const batch = [item(usedKey, { payload: { guests: -1 }, extra: 1 }), item(freshKey())];
    expect(await readOutcomes(await sendBatch(batch, counted))).toEqual(['conflict', 'accepted']);
    // D1 is called to look up the keys, to insert the event, and to read the stored body.
    expect(costs).toMatchObject({ d1RoundTrips: 3, d1RowsWritten: 4 });
  });
});

describe('a batch', () => {
  it('is rejected with every problem before any item is stored', async () => {
    const aggregate_id = freshKey();
    const [twice, usedKey] = [freshKey(), freshKey()];
    await ingest(bookingCreated({ aggregate_id: 'used' }), usedKey);
    const response = await sendBatch(
      [
        item(freshKey(), { aggregate_id }),
        item(freshKey(), { aggregate_id, payload: { check_in: 'soon' }, event_id: 'x' }),
        { ...bookingCreated({ aggregate_id }) },
        item(twice, { aggregate_id }),
        'text',
        item(twice, { aggregate_id }),
        item(usedKey, { aggregate_id }),
        item(usedKey, { aggregate_id }),
        item('', { aggregate_id, event_type: 'none' }),
      ],
      {},
    );
    await expectProblems(response, [
      'events.1.payload.check_in',
      'events.1.event_id',
      'events.2.idempotency_key',
      'events.4',
      'events.5.idempotency_key',
      'events.7.idempotency_key',
      'events.8.idempotency_key',
      'events.8.event_type',
    ]);
    expect(await countEvents(aggregate_id)).toBe(0);
  });

  it.each([' k', 'k\t', 'a\nb', 'a\u007f'])(
    'is rejected for the key %j, which a header cannot carry',
    async (key) => {
      await expectProblems(await sendBatch([item(key)]), ['events.0.idempotency_key']);
    },
  );

  it.each<[bound: string, events: unknown, path: string, message: RegExp]>([
    ['no events', [], 'events', /at least 1/],
    ['101 events', items(101), 'events', /at most 100/],
    ['an object instead of a list', { 0: item('k') }, 'events', /array/],
  ])('is rejected if it contains %s', async (_, events, path, message) => {
    const messages = await expectProblems(await sendBatch(events), [path]);
    expect(messages).toEqual([expect.stringMatching(message)]);
  });

  it('may have 256 KiB of canonical JSON per event and 1 MiB in total', async () => {
    // With its comma, each number takes 5 bytes as sent and 17 bytes as canonical JSON.
    const numbers = (count: number) => ({ numbers: Array(count).fill('1e15') });
    const sendNumbers = (count: number, events: number) => {
      const sent = JSON.stringify({ events: items(events, { payload: numbers(count) }) });
      return sendBatch([], {}, { body: sent.replaceAll('"1e15"', '1e15') });
    };
    const [message] = await expectProblems(await sendNumbers(16_000, 1), ['events.0']);
    expect(message).toContain('at most 262144 bytes');
    await expectProblems(await sendNumbers(14_000, 5), ['events']);
    await expectStatus(await sendNumbers(14_000, 4), 200);
  });

  it('may have a body of up to 1 MiB', async () => {
    const filled = (bytes: number) => {
      const text = JSON.stringify({ events: items(100) });
      return text + ' '.repeat(bytes - text.length);
    };
    const body = (bytes: number) => ({ body: filled(bytes) });
    await expectStatus(await sendBatch([], {}, body(1_048_576)), 200);
    await expectError(await sendBatch([], {}, body(1_048_577)), 413, 'payload_too_large');
  });

  it('is rejected for both an unknown field and an Idempotency-Key header', async () => {
    const init = ingestInit({ events: items(1), source: 'outbox' }, freshKey());
    const response = await sendWith({}, PATH, init);
    const [, message] = await expectProblems(response, ['source', 'Idempotency-Key']);
    expect(message).toContain('idempotency_key');
  });
});
