/**
 * Payloads that booking systems send, and values that are invalid for their fields. payloads.json
 * contains all of them.
 */

import { describe, expect, it } from 'vitest';
import { document, findProblems } from '../support/documented.ts';
import {
  batchItem,
  bookingCreated,
  expectEvent,
  ingest,
  ingestInit,
  listEvents,
} from '../support/events.ts';
import { expectProblems, get, send } from '../support/http.ts';
import { accepted, rejected } from './payloads.json';

const compareWithDocument = (event: object) =>
  findProblems(document.components.schemas.IngestRequest ?? {}, event);

/** Returns the sample values in a message. A number is returned both as text and as a number. */
function findSamples(message: string): unknown[] {
  const samples = [...message.matchAll(/such as (\{.*?\}|\S+?)(?=[,.] )/g)];
  return samples.flatMap(([, sample = '']) => {
    if (/^[{[]/.test(sample)) return [JSON.parse(sample)];
    return /^[\d.]+$/.test(sample) ? [sample, Number(sample)] : [sample];
  });
}

describe('a payload', () => {
  it.each(accepted)('is read back unchanged with $about', async ({ event_type, payload }) => {
    const aggregate_id = crypto.randomUUID();
    const event = bookingCreated({ event_type, aggregate_id, payload });
    await expectEvent(await ingest(event), 202);
    await expectEvent(await ingest(event, crypto.randomUUID()), 202);
    const events = [batchItem(event)];
    const batch = await send('/api/public/events/ingest/batch', ingestInit({ events }));
    expect(await batch.json()).toMatchObject({ data: [{ outcome: 'accepted' }] });
    const { data } = await listEvents(`aggregate_id=${aggregate_id}`);
    // The payloads are compared as text, because the order of their fields matters.
    const texts = data.map((stored) => JSON.stringify(stored.payload));
    expect(texts).toEqual(Array(3).fill(JSON.stringify(payload)));
    expect(compareWithDocument(event)).toEqual([]);
  });

  it('is read back with the field order and number format of JavaScript', async () => {
    const payload = '{"guests":2.0,"b":{"z":-0,"10":1e2,"9":0.10},"check_in":null,"2":[1.50]}';
    const read = '{"2":[1.5],"guests":2,"b":{"9":0.1,"10":100,"z":0},"check_in":null}';
    const body = JSON.stringify(bookingCreated({ payload: 'here' })).replace('"here"', payload);
    for (const key of [undefined, crypto.randomUUID()]) {
      const { id } = await expectEvent(await ingest(body, key), 202);
      expect(await (await get(`/api/v1/events/${id}`)).text()).toContain(`"payload":${read}}`);
    }
  });

  it.each(rejected)(
    'is rejected with a sample of each accepted form for an invalid $field',
    async ({ field, event_type, samples, values, start = '' }) => {
      const makeEvent = (value: unknown) =>
        bookingCreated({ event_type, payload: { [field]: value } });
      let message = '';
      for (const value of values) {
        const response = await ingest(makeEvent(value));
        [message = ''] = await expectProblems(response, [`payload.${field}`]);
        expect(message).toMatch(/must be .* The field may be left out\.$/);
        expect(message.startsWith(start)).toBe(true);
        expect(compareWithDocument(makeEvent(value))).not.toEqual([]);
      }
      expect(findSamples(message)).toHaveLength(samples);
      for (const sample of findSamples(message)) {
        await expectEvent(await ingest(makeEvent(sample)), 202);
      }
    },
  );

  it.each([
    ['currency', { currency: 'ZZZ' }],
    ['check_out', { check_in: '2027-07-03', check_out: '2027-07-02' }],
    ['check_out', { check_in: '2027-07-03T15:00:00Z', check_out: '2027-07-01' }],
    ['check_out', { check_in: { date: '2027-07-03' }, check_out: '20270702', guests: [] }],
  ])('is rejected only by the service for a wrong %s (%j)', async (field, payload) => {
    const event = bookingCreated({ event_type: 'booking.updated', payload });
    await expectProblems(await ingest(event), [`payload.${field}`]);
    expect(compareWithDocument(event)).toEqual([]);
  });
});
