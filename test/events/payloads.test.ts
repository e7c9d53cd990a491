/** Payloads as booking systems send them: rows of a database, and what a sender gets wrong. */

import { expect, it } from 'vitest';
import * as z from 'zod';
import { EVENT_TYPES } from '../../src/events/event-types.ts';
import { bookingCreated, expectEvent, ingest } from '../support/events.ts';
import { expectProblems } from '../support/http.ts';

const ROW = { check_in: '2027-06-01', check_out: '2027-06-08', guests: 2, currency: 'EUR' };
const NO_VALUES = { check_in: null, guests: null, currency: null, total_amount: null };
const NO_REASON = { reason: null, refund_amount: null, cancelled_at: null, currency: null };
const CANCELLED = 'booking.cancelled';
const CANCELLED_FIELDS = ['reason', 'cancelled_at', 'refund_amount'];
const EMAIL = 'an email address in ASCII, such as guest@example.com';
const TIMESTAMP = 'an ISO 8601 timestamp with Z or an offset, such as 2027-06-01T12:00:00Z';

it.each<[name: string, payload: object, type?: string]>([
  ['a row whose guest is not known', { ...ROW, total_amount: 1450, guest_email: null }],
  ['a row without any value', NO_VALUES],
  ['a cancellation without a value', NO_REASON, CANCELLED],
  ['a booking of one night and one guest', { ...ROW, check_out: '2027-06-02', guests: 1 }],
  ['a booking for nothing', { total_amount: 0, currency: 'XCG' }],
  ['an address with an internationalized domain', { guest_email: "o'brien+c@example.xn--p1ai" }],
  ['an address with two dots', { guest_email: 'anna..ruiz@docomo.ne.jp' }],
  ['an address with dots at both ends', { guest_email: '.anna.@docomo.ne.jp' }],
  ['a name of 255 characters', { property_id: 'x'.repeat(255) }],
  ['a name of one character', { property_id: '7' }],
  ['a reason of 2,000 characters', { reason: 'x'.repeat(2_000), refund_amount: 0 }, CANCELLED],
  ['a time with an offset', { cancelled_at: '2027-01-01T00:00:00.123+02:00' }, CANCELLED],
  ['a time without seconds', { cancelled_at: '2026-11-25T10:00Z' }, CANCELLED],
  ['an offset without a colon', { occurred_at: '2026-11-25T10:00:00+0100' }],
  ['an offset of hours', { cancelled_at: '2026-11-25T10:00:00.123-03' }, CANCELLED],
  ['fields of its own', { ...ROW, rate: { plan: null, nights: [120.5, null] } }],
])('%s is stored', async (_, payload, event_type = 'booking.created') => {
  await expectEvent(await ingest(bookingCreated({ event_type, payload })), 202);
});

it.each<[field: string, value: unknown, form?: string]>([
  ['property_id', 1001, 'text, in quotation marks'],
  ['check_in', '2027-06-01T15:00:00Z', 'a date such as 2027-06-01, without a time'],
  ['check_in', '2027-02-29', 'a date such as 2027-06-01, without a time'],
  ['check_out', '08.06.2027', 'a date such as 2027-06-01, without a time'],
  ['check_out', ROW.check_in],
  ['guests', '2', 'a whole number, without quotation marks'],
  ['guests', 1.5, 'a whole number, without quotation marks'],
  ['total_amount', '1450.00', 'a number, without quotation marks'],
  ['currency', 'eur', 'an ISO 4217 code in capitals, such as EUR'],
  ['currency', 'ZZZ', 'an ISO 4217 code in capitals, such as EUR'],
  ['guest_email', '', EMAIL],
  ['guest_email', 'guest@192.0.2.1', EMAIL],
  ['guest_email', 'josé@x.es', EMAIL],
  ['guest_email', 'guest@-example.com', EMAIL],
  ['occurred_at', '2027-06-01 12:00:00', TIMESTAMP],
  ['cancelled_at', '2027-01-01T00:00:00', TIMESTAMP],
  ['occurred_at', '2026-11-25', TIMESTAMP],
  ['occurred_at', '2026-02-30T10:00Z', TIMESTAMP],
  ['occurred_at', '2026-11-25T24:00Z', TIMESTAMP],
  ['cancelled_at', '2026-11-25T10:00+1', TIMESTAMP],
  ['cancelled_at', '2026-11-25T10:00+24:00', TIMESTAMP],
  ['refund_amount', true, 'a number, without quotation marks'],
])(
  'a payload with a bad %s is rejected, and its message shows the form (%#)',
  async (field, value, form) => {
    const event_type = CANCELLED_FIELDS.includes(field) ? CANCELLED : 'booking.created';
    const payload = { ...ROW, [field]: value };
    const response = await ingest(bookingCreated({ event_type, payload }));
    const [message] = await expectProblems(response, [`payload.${field}`]);
    expect(message).toContain(form ? `must be ${form}` : 'must be after check_in');
  },
);

const bounds = z.object({
  minimum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  pattern: z.string().optional(),
});
const documented = z.object({ anyOf: z.tuple([bounds], z.unknown()) });

/** A value beyond each bound of a field, with the message that names the bound. */
function* beyond({ minimum, minLength = 0, maxLength, pattern }: z.infer<typeof bounds>) {
  if (minimum !== undefined) yield [minimum - 1, `must be at least ${minimum}`] as const;
  // A pattern has its own message, which shows the form.
  if (pattern !== undefined || maxLength === undefined) return;
  yield ['x'.repeat(maxLength + 1), `must be at most ${maxLength} characters long`] as const;
  if (minLength === 1) yield ['', 'must be at least 1 character long'] as const;
}

it('a value beyond a bound of the catalogue is rejected, and its message names the bound', async () => {
  const messages: string[] = [];
  for (const [event_type, makePayload] of Object.entries(EVENT_TYPES)) {
    for (const [field, schema] of Object.entries<z.ZodNullable | z.ZodType>(makePayload().shape)) {
      const { anyOf } = documented.parse(z.toJSONSchema(schema, { io: 'input' }));
      for (const [value, message] of beyond(anyOf[0])) {
        const payload = { [field]: value };
        const response = await ingest(bookingCreated({ event_type, payload }));
        const [found] = await expectProblems(response, [`payload.${field}`]);
        expect(found).toContain(message);
        messages.push(`${field} ${message}`);
      }
    }
  }
  expect(messages).toEqual([
    'property_id must be at most 255 characters long',
    'property_id must be at least 1 character long',
    'guests must be at least 1',
    'total_amount must be at least 0',
    'reason must be at most 2000 characters long',
    'refund_amount must be at least 0',
  ]);
});
