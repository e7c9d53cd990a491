/**
 * Events that a rewind of the database has removed and that their senders send again. KV keeps the
 * responses for 24 hours. See "After a restore" in the runbook.
 */

import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { bookingCreated, expectEvent, ingestInit, listEvents } from '../support/events.ts';
import { DOWN } from '../support/faults.ts';
import { callWith, expectError, expectStatus, sendWith } from '../support/http.ts';

const SINGLE = '/api/public/events/ingest';
const BATCH = `${SINGLE}/batch`;
const A = bookingCreated();

/** Sends an event, then deletes its row as a rewind would. KV keeps the response. */
async function removeEvent(): Promise<{ key: string; id: string }> {
  const key = crypto.randomUUID();
  const { response, settled } = await callWith({}, SINGLE, ingestInit(A, key));
  const { id } = await expectEvent(response, 202);
  await settled;
  await env.DB.batch([
    env.DB.prepare('DELETE FROM events'),
    env.DB.prepare('UPDATE database_identity SET generation = lower(hex(randomblob(16)))'),
  ]);
  return { key, id };
}

it('stores a removed event again although KV replays its response', async () => {
  const { key, id } = await removeEvent();
  const { response, settled } = await callWith({}, SINGLE, ingestInit(A, key));
  expect(await expectEvent(response, 200)).toMatchObject({ id, status: 'idempotent' });
  await settled;
  expect((await listEvents()).data).toMatchObject([{ id }]);
});

it('stores a removed event again before it acknowledges a batch', async () => {
  const { key, id } = await removeEvent();
  const init = ingestInit({ events: [{ ...A, idempotency_key: key }] });
  await expectError(await sendWith(DOWN, BATCH, init), 500, 'internal_error');
  const response = await sendWith({}, BATCH, init);
  await expectStatus(response, 200);
  expect(await response.json()).toMatchObject({ data: [{ outcome: 'accepted', event: { id } }] });
  expect((await listEvents()).data).toMatchObject([{ id }]);
});
