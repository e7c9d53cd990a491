/** Payloads as booking systems send them: rows of a database, and what a sender gets wrong. */

import { expect, it } from 'vitest';
import { bookingCreated, expectEvent, ingest } from '../support/events.ts';
import { expectError } from '../support/http.ts';

const ROW = { check_in: '2027-06-01', check_out: '2027-06-08', guests: 2, currency: 'EUR' };
const NO_VALUES = { check_in: null, guests: null, currency: null, total_amount: null };
const NO_REASON = { reason: null, refund_amount: null, cancelled_at: null, currency: null };
const CANCELLED = 'booking.cancelled';
const CANCELLED_FIELDS = ['reason', 'cancelled_at', 'refund_amount'];
const EMAIL = 'an email address such as guest@example.com';
const TIMESTAMP = 'an ISO 8601 timestamp with Z or an offset, such as 2027-06-01T12:00:00Z';

it.each<[name: string, payload: object, type?: string]>([
  ['a row whose guest is not known', { ...ROW, total_amount: 1450, guest_email: null }],
  ['a row without any value', NO_VALUES],
  ['a cancellation without a value', NO_REASON, CANCELLED],
  ['a booking of one night and one guest', { ...ROW, check_out: '2027-06-02', guests: 1 }],
  ['a booking for nothing', { total_amount: 0, currency: 'XCG' }],
  ['an address with an internationalized domain', { guest_email: "o'brien+c@example.xn--p1ai" }],
  ['a name of 255 characters', { property_id: 'x'.repeat(255) }],
  ['a name of one character', { property_id: '7' }],
  ['a reason of 2,000 characters', { reason: 'x'.repeat(2_000), refund_amount: 0 }, CANCELLED],
  ['a time with an offset', { cancelled_at: '2027-01-01T00:00:00.123+02:00' }, CANCELLED],
  ['fields of its own', { ...ROW, rate: { plan: null, nights: [120.5, null] } }],
])('%s is stored', async (_, payload, event_type = 'booking.created') => {
  await expectEvent(await ingest(bookingCreated({ event_type, payload })), 202);
});

it.each<[field: string, value: unknown, form?: string]>([
  ['property_id', 1001, 'text, in quotation marks'],
  ['property_id', ''],
  ['property_id', 'x'.repeat(256)],
  ['check_in', '2027-06-01T15:00:00Z', 'a date such as 2027-06-01, without a time'],
  ['check_in', '2027-02-29', 'a date such as 2027-06-01, without a time'],
  ['check_out', '08.06.2027', 'a date such as 2027-06-01, without a time'],
  ['check_out', ROW.check_in],
  ['guests', '2', 'a whole number, without quotation marks'],
  ['guests', 0],
  ['total_amount', '1450.00', 'a number, without quotation marks'],
  ['total_amount', -0.01],
  ['currency', 'eur', 'an ISO 4217 code in capitals, such as EUR'],
  ['currency', 'ZZZ', 'an ISO 4217 code in capitals, such as EUR'],
  ['guest_email', '', EMAIL],
  ['guest_email', 'a..b@example.com', EMAIL],
  ['guest_email', 'guest@192.0.2.1', EMAIL],
  ['guest_email', 'guest@-example.com', EMAIL],
  ['occurred_at', '2027-06-01 12:00:00', TIMESTAMP],
  ['cancelled_at', '2027-01-01T00:00:00', TIMESTAMP],
  ['refund_amount', -1],
  ['reason', 'x'.repeat(2_001)],
])(
  'a payload with a bad %s is rejected, and its message shows the form (%#)',
  async (field, value, form) => {
    const event_type = CANCELLED_FIELDS.includes(field) ? CANCELLED : 'booking.created';
    const payload = { ...ROW, [field]: value };
    const response = await ingest(bookingCreated({ event_type, payload }));
    const error = await expectError(response, 400, 'validation_error');
    const message = form ? `must be ${form}; the field may be left out` : expect.any(String);
    expect(error.details).toEqual([{ path: `payload.${field}`, message }]);
  },
);
