/**
 * Events that a rewind of the database has undone, and that their senders send again. KV still has
 * them for 24 hours: see "After a restore" in the runbook.
 */

import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { bookingCreated, expectEvent, ingestInit, listEvents } from '../support/events.ts';
import { DOWN } from '../support/faults.ts';
import { callWith, expectError, expectStatus, sendWith } from '../support/http.ts';

const SINGLE = '/api/public/events/ingest';
const BATCH = `${SINGLE}/batch`;
const A = bookingCreated();

/** Accepts an event, and undoes it as a rewind does: its row is gone, and KV keeps its response. */
async function undone(): Promise<{ key: string; id: string }> {
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

it('is stored again by the request that KV replays', async () => {
  const { key, id } = await undone();
  const { response, settled } = await callWith({}, SINGLE, ingestInit(A, key));
  expect(await expectEvent(response, 200)).toMatchObject({ id, status: 'idempotent' });
  await settled;
  expect((await listEvents()).data).toMatchObject([{ id }]);
});

it('is never acknowledged before it is stored where it comes in a batch', async () => {
  const { key, id } = await undone();
  const init = ingestInit({ events: [{ ...A, idempotency_key: key }] });
  await expectError(await sendWith(DOWN, BATCH, init), 500, 'internal_error');
  const response = await sendWith({}, BATCH, init);
  await expectStatus(response, 200);
  expect(await response.json()).toMatchObject({ data: [{ outcome: 'accepted', event: { id } }] });
  expect((await listEvents()).data).toMatchObject([{ id }]);
});
