/**
 * Payloads as booking systems send them, and values that cannot mean their field: payloads.json has
 * them as they are sent.
 */

import { expect, it } from 'vitest';
import { document, findProblems } from '../support/documented.ts';
import {
  batchItem,
  bookingCreated,
  expectEvent,
  ingest,
  ingestInit,
  listEvents,
} from '../support/events.ts';
import { expectProblems, send } from '../support/http.ts';
import { rejected, taken } from './payloads.json';

const problemsOfDocument = (event: object) =>
  findProblems(document.components.schemas.IngestRequest ?? {}, event);

it.each(taken)(
  '$about: taken, alone and in a batch, and read as it was sent',
  async ({ event_type, payload }) => {
    const aggregate_id = crypto.randomUUID();
    const event = bookingCreated({ event_type, aggregate_id, payload });
    await expectEvent(await ingest(event), 202);
    await expectEvent(await ingest(event, crypto.randomUUID()), 202);
    const events = [batchItem(event)];
    const batch = await send('/api/public/events/ingest/batch', ingestInit({ events }));
    expect(await batch.json()).toMatchObject({ data: [{ outcome: 'accepted' }] });
    const { data } = await listEvents(`aggregate_id=${aggregate_id}`);
    expect(data.map((stored) => stored.payload)).toEqual([payload, payload, payload]);
    expect(problemsOfDocument(event)).toEqual([]);
  },
);

/** The samples of a message; a number also as text. */
function samplesIn(message: string): unknown[] {
  const samples = [...message.matchAll(/such as (\{.*?\}|\S+?)(?=[,.] )/g)];
  return samples.flatMap(([, sample = '']) => {
    if (/^[{[]/.test(sample)) return [JSON.parse(sample)];
    return /^[\d.]+$/.test(sample) ? [sample, Number(sample)] : [sample];
  });
}

it.each(rejected)(
  'a $field that means nothing is rejected, with a sample of each form that is taken',
  async ({ field, event_type, samples, values, fault = '' }) => {
    const eventOf = (value: unknown) => bookingCreated({ event_type, payload: { [field]: value } });
    let message = '';
    for (const value of values) {
      const problems = await expectProblems(await ingest(eventOf(value)), [`payload.${field}`]);
      [message = ''] = problems;
      expect(message).toMatch(/must be .* The field may be left out\.$/);
      expect(message.startsWith(fault)).toBe(true);
      expect(problemsOfDocument(eventOf(value))).not.toEqual([]);
    }
    expect(samplesIn(message)).toHaveLength(samples);
    for (const sample of samplesIn(message)) await expectEvent(await ingest(eventOf(sample)), 202);
  },
);

it.each([
  ['currency', { currency: 'ZZZ' }],
  ['check_out', { check_in: '2027-07-03', check_out: '2027-07-02' }],
  ['check_out', { check_in: '2027-07-03T15:00:00Z', check_out: '2027-07-01' }],
  ['check_out', { check_in: '2027-07-03', check_out: '2027-07-01T10:00', guests: [] }],
])('a wrong %s is rejected by the service alone: %j', async (field, payload) => {
  const event = bookingCreated({ event_type: 'booking.updated', payload });
  await expectProblems(await ingest(event), [`payload.${field}`]);
  expect(problemsOfDocument(event)).toEqual([]);
});
