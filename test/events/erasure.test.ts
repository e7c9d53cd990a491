/** The service's responses after an aggregate's events have been erased. */

import { env } from 'cloudflare:workers';
import { beforeEach, expect, it, vi } from 'vitest';
import { eraseAggregates } from '../../tools/erasure/erase.ts';
import { bookingCreated, expectEvent, ingest, ingestInit, listEvents } from '../support/events.ts';
import { expectError, get, sendWith } from '../support/http.ts';
import { interceptMethods } from '../support/interceptor.ts';

const INGEST = '/api/public/events/ingest';
const AGGREGATE = { type: 'booking', id: 'bk_1' };
const GUEST = 'guest-anna-example';
const DAY_MS = 86_400_000;
const missing = interceptMethods(env.IDEMPOTENCY, async () => null);

const body = bookingCreated({ payload: { note: GUEST, guests: 2 } });

const erase = (now = Date.now()) => eraseAggregates(env.DB, [{ ...AGGREGATE, erasedAt: now }]);

beforeEach(async () => {
  await env.DB.exec('DELETE FROM events');
});

it("erases only the payloads of one aggregate's events", async () => {
  const other = bookingCreated({ aggregate_id: 'bk_2', payload: { note: 'another guest' } });
  // The aggregate of the invoice has the same id but a different type.
  const invoice = bookingCreated({ aggregate_type: 'invoice', payload: { note: 'an invoice' } });
  for (const event of [body, other, body, invoice]) await expectEvent(await ingest(event), 202);
  const before = (await listEvents('order=asc')).data;
  const now = Date.now();
  expect(await erase(now)).toBe(2);
  const after = (await listEvents('order=asc')).data;
  const erased = { payload: {}, erased_at: new Date(now).toISOString() };
  expect(after).toEqual(
    before.map((event, index) => (index % 2 === 0 ? { ...event, ...erased } : event)),
  );
  expect(await (await get(`/api/v1/events/${after[0]?.id}`)).json()).toEqual(after[0]);
  const { results } = await env.DB.prepare('SELECT * FROM events').all();
  expect(JSON.stringify(results)).not.toContain(GUEST);
});

it.each([0, 2])('replays the response to a retry %i days after the erasure', async (days) => {
  const key = crypto.randomUUID();
  const first = await expectEvent(await ingest(body, key), 202);
  await erase();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * DAY_MS });
  const retried = await sendWith({ IDEMPOTENCY: missing }, INGEST, ingestInit(body, key));
  expect(await expectEvent(retried, 200)).toEqual({ ...first, status: 'idempotent' });
  expect((await listEvents()).data).toMatchObject([{ id: first.id, payload: {} }]);
});

it('omits the details of a 409 for the key of an erased event', async () => {
  const key = crypto.randomUUID();
  const other = bookingCreated({ payload: { guests: 3 } });
  await ingest(body, key);
  await erase();
  const rejected = await expectError(await ingest(other, key), 409, 'idempotency_key_in_use');
  expect(rejected.details).toBeUndefined();
  const invalid = bookingCreated({ payload: { guests: 'three' } });
  const lookedUp = await expectError(await ingest(invalid, key), 409, 'idempotency_key_in_use');
  expect(lookedUp.details).toBeUndefined();
});
