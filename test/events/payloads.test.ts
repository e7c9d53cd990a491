/** Payloads as booking systems send them, and values that no known field can mean. */

import { expect, it } from 'vitest';
import { document, problemsOf } from '../support/documented.ts';
import {
  batchItem,
  bookingCreated,
  expectEvent,
  ingest,
  ingestInit,
  listEvents,
} from '../support/events.ts';
import { expectProblems, expectStatus, send } from '../support/http.ts';

const CREATED = 'booking.created';
const UPDATED = 'booking.updated';
const CANCELLED = 'booking.cancelled';
const STAY = { check_in: '2027-07-03', check_out: '2027-07-10' };
const NO_VALUES = { check_in: null, guests: null, currency: null, total_amount: null };

const problemsOfDocument = (event: object) =>
  problemsOf(document.components.schemas.IngestRequest ?? {}, event);

it.each<[about: string, event_type: string, payload: object]>([
  ['a row without any value', CREATED, NO_VALUES],
  [
    'a form that was left empty',
    CREATED,
    { property_id: '', check_in: '', guests: '', currency: '' },
  ],
  [
    'a form with values',
    CREATED,
    { ...STAY, guests: '2', total_amount: '1450.00', guest_email: '' },
  ],
  [
    'dates of JavaScript and guests by name',
    CREATED,
    {
      check_in: '2027-07-03T15:00:00.000Z',
      check_out: '2027-07-10T10:00:00.000Z',
      guests: [{ name: 'A' }],
    },
  ],
  ['ids that are numbers', UPDATED, { ...STAY, id: 42, property_id: 42, total_amount: '1450.0' }],
  ['local times', CREATED, { check_in: '2027-07-03T15:00:00', check_out: '2027-07-10 9:30' }],
  [
    'times of day beside the days',
    CREATED,
    { arrival: '2027-07-03', check_in: '16:00', check_out: '11:00' },
  ],
  ['a day of the owner', UPDATED, { check_in: '2027-07-03', check_out: '2027-07-03', guests: 0 }],
  [
    'guests and money as objects',
    CREATED,
    { guests: { adults: 2 }, total_amount: { amount: 145_000 } },
  ],
  [
    'Ruby',
    CREATED,
    { check_in: '2027-07-03 15:00:00 +0200', check_out: '2027-07-10 10:00:00 UTC' },
  ],
  [
    'PHP',
    UPDATED,
    {
      check_in: { date: '2027-07-03 15:00:00.000000', timezone_type: 3, timezone: 'UTC' },
      guests: [],
    },
  ],
  [
    'Java',
    CANCELLED,
    { occurred_at: '2027-06-01T12:00Z', cancelled_at: '2027-06-01T12:00:00.123+02' },
  ],
  [
    'Python',
    CANCELLED,
    { occurred_at: 1_814_616_000.25, cancelled_at: '2027-06-01 12:00:00.123456+00:00' },
  ],
  [
    'milliseconds',
    UPDATED,
    { occurred_at: 1_814_616_000_000, currency: 'eur', total_amount: 1_200.5 },
  ],
  ['a payment service', UPDATED, { occurred_at: '1814616000', amount: 145_000, currency: 'Eur' }],
  ['a reason with a code', CANCELLED, { reason: { code: 'guest' }, cancelled_at: '2027-01-02' }],
  [
    'a reason by number',
    CANCELLED,
    { reason: 3, cancelled_at: 1_735_689_600, refund_amount: '0.00' },
  ],
  [
    'the longest texts',
    CANCELLED,
    { reason: 'x'.repeat(2_000), refund_amount: 0, currency: 'XCG' },
  ],
  ['a reference of 255 characters', CREATED, { property_id: 'x'.repeat(255), total_amount: 0 }],
  ['an address with spaces around it', CREATED, { guest_email: ' anna@example.com ' }],
  ['an internationalized domain', CREATED, { guest_email: "o'brien+c@example.xn--p1ai" }],
  ['an address with dots anywhere', CREATED, { guest_email: '.anna..ruiz.@docomo.ne.jp' }],
  ['fields of its own', CREATED, { ...STAY, rate: { plan: null, nights: [120.5, null] } }],
])('%s is taken, alone and in a batch, and read as it was sent', async (_, event_type, payload) => {
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
});

/** The samples of a message, each in every form that it can be read as. */
function samplesIn(message: string): unknown[] {
  const samples = [...message.matchAll(/such as (\{.*?\}|\S+?)(?=[,.] )/g)];
  return samples.flatMap(([, sample = '']) => {
    if (/^[{[]/.test(sample)) return [JSON.parse(sample)];
    return /^[\d.]+$/.test(sample) ? [sample, Number(sample)] : [sample];
  });
}

it.each<[field: string, samples: number, ...values: unknown[]]>([
  ['occurred_at', 5, 'yesterday', '10:00', -5, true, [], { date: 'soon' }, { date: '' }, {}],
  ['cancelled_at', 5, '2027-06-01T24:00Z', '2027-06-01T10:00+24:00', '2027-06-01T10:00+1'],
  ['check_in', 4, 'not-a-date', 12_345, true, '25:00', '08.06.2027', '2027-06-01T12:00 CET'],
  ['guests', 4, 'many', -5, 2.5, '2.5', '-1', true],
  ['total_amount', 3, 'abc', -5, '-5', '1.450,00', true, [1_450]],
  ['currency', 1, 'EURO', '€', 5, ['EUR']],
  ['guest_email', 1, 'not-an-email', 5, 'guest@192.0.2.1', 'josé@x.es', 'guest@-example.com'],
  ['property_id', 3, { id: 1 }, [], true, -1, 4.2, 'x'.repeat(256)],
  ['refund_amount', 3, 'free'],
  ['reason', 6, 'x'.repeat(2_001)],
])(
  'a %s that means nothing is rejected, with samples of what is taken',
  async (field, count, ...values) => {
    const event_type = /reason|cancelled|refund/.test(field) ? CANCELLED : CREATED;
    const eventOf = (value: unknown) => bookingCreated({ event_type, payload: { [field]: value } });
    for (const value of values) {
      const [message = ''] = await expectProblems(await ingest(eventOf(value)), [
        `payload.${field}`,
      ]);
      expect(message).toMatch(/^must be .* The field may be left out\.$/);
      expect(problemsOfDocument(eventOf(value))).not.toEqual([]);
      const samples = samplesIn(message);
      expect(samples).toHaveLength(count);
      for (const sample of samples) await expectEvent(await ingest(eventOf(sample)), 202);
    }
  },
);

it.each([
  ['2027-06-31', '2027-06-31'],
  ['2027-02-29T10:00Z', '2027-02-29'],
  ['0000-00-00 00:00:00', '0000-00-00'],
])('%s is of no calendar, and the message says so', async (check_in, day) => {
  const event = bookingCreated({ payload: { check_in } });
  const [message] = await expectProblems(await ingest(event), ['payload.check_in']);
  expect(message).toMatch(new RegExp(`^${day} is no day\\. It must be a date such as `));
  expect(problemsOfDocument(event)).not.toEqual([]);
});

it('a code that ISO 4217 lacks is rejected by the service alone', async () => {
  const event = bookingCreated({ payload: { currency: 'ZZZ' } });
  await expectProblems(await ingest(event), ['payload.currency']);
  expect(problemsOfDocument(event)).toEqual([]);
});

it.each<[check_in: unknown, check_out: unknown, isTaken: boolean]>([
  ['2027-07-03', '2027-07-02', false],
  ['2027-07-03T15:00:00Z', '2027-07-01', false],
  ['2027-07-03', '2027-07-01T10:00', false],
  ['2027-07-03T15:00:00Z', '2027-07-02', true],
  ['2027-07-03', '2027-07-02 23:00', true],
  ['2027-07-03', '11:00', true],
  ['16:00', '2027-07-03', true],
  ['2027-07-03', null, true],
])('a stay from %s to %s is taken: %s', async (check_in, check_out, isTaken) => {
  const event = bookingCreated({ event_type: UPDATED, payload: { check_in, check_out } });
  const response = await ingest(event);
  if (isTaken) return expectStatus(response, 202);
  const messages = await expectProblems(response, ['payload.check_out']);
  expect(messages).toEqual(['must not be before check_in']);
  expect(problemsOfDocument(event)).toEqual([]);
});

it('the order of days is checked beside another problem', async () => {
  const payload = { check_in: '2027-07-03', check_out: '2027-07-02', guests: -1 };
  const paths = ['payload.guests', 'payload.check_out'];
  await expectProblems(await ingest(bookingCreated({ payload })), paths);
});
