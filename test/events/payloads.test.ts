/** Payloads as booking systems send them: rows of a database, and what a sender gets wrong. */

import { expect, it } from 'vitest';
import { bookingCreated, expectEvent, ingest } from '../support/events.ts';
import { expectError } from '../support/http.ts';

const ROW = { check_in: '2027-06-01', check_out: '2027-06-08', guests: 2, currency: 'EUR' };
const NO_VALUES = { check_in: null, check_out: null, guests: null, currency: null };
const CANCELLED = 'booking.cancelled';

it.each<[name: string, payload: object, type?: string]>([
  ['a row whose guest is not known', { ...ROW, total_amount: 1450, guest_email: null }],
  ['a row without any value', { ...NO_VALUES, total_amount: null, property_id: null }],
  ['a stay that has no end yet', { ...ROW, check_out: null, occurred_at: null }],
  ['a listing by its hid', { ...ROW, property_id: 'H-1001' }],
  ['a listing by the number of the sender', { ...ROW, property_id: '4711' }],
  ['a listing by a UUID in capitals', { property_id: 'ABCDEF00-0000-4000-8000-000000000001' }],
  ['a cancellation without a reason', { reason: null, refund_amount: null }, CANCELLED],
  ['a cancellation at an unknown time', { cancelled_at: null, currency: null }, CANCELLED],
  ['fields of its own', { ...ROW, rate: { plan: null, nights: [120.5, null] } }],
])('%s is stored', async (_, payload, event_type = 'booking.created') => {
  await expectEvent(await ingest(bookingCreated({ event_type, payload })), 202);
});

it.each<[field: string, value: unknown, form: string]>([
  ['property_id', 1001, 'text, in quotation marks'],
  ['check_in', '2027-06-01T15:00:00Z', 'a date such as 2027-06-01, without a time'],
  ['check_out', '08.06.2027', 'a date such as 2027-06-01, without a time'],
  ['guests', '2', 'a whole number, without quotation marks'],
  ['guests', 2.5, 'a whole number, without quotation marks'],
  ['total_amount', '1450.00', 'a number, without quotation marks'],
  ['currency', 'eur', 'an ISO 4217 code in capitals, such as EUR'],
  ['guest_email', '', 'an email address such as guest@example.com'],
  [
    'occurred_at',
    '2027-06-01 12:00:00',
    'an ISO 8601 timestamp with Z or an offset, such as 2027-06-01T12:00:00Z',
  ],
])(
  'a payload with the %s %j is rejected, and its message shows the form: %s',
  async (field, value, form) => {
    const response = await ingest(bookingCreated({ payload: { ...ROW, [field]: value } }));
    const error = await expectError(response, 400, 'validation_error');
    const message = `must be ${form}; the field may be left out`;
    expect(error.details).toEqual([{ path: `payload.${field}`, message }]);
  },
);
