/**
 * The event types that the service accepts, each with the schema of its payload. Every field is
 * optional, and unknown fields are kept.
 *
 * Events are never deleted, so the API still returns events of a removed type. If you remove an event
 * type, or a form that a field type accepts, pass the old schema to `makeStoredEventSchema`
 * (openapi/event-types.ts).
 */

import * as z from 'zod';
import { isInOrder } from './dates.ts';
import { field } from './payload-fields.ts';

/** Bounds of a name. NUL is excluded, because SQLite's functions end a string there. */
export const NAME_BOUNDS = { minLength: 1, maxLength: 255, pattern: '^[^\\x00]*$' };

/** Schema of the name of an event type, an aggregate or a key. */
export const name = z
  .string()
  .min(NAME_BOUNDS.minLength)
  .max(NAME_BOUNDS.maxLength)
  .regex(new RegExp(NAME_BOUNDS.pattern), 'must not contain NUL (U+0000)');

const makeCommonFields = () => ({
  occurred_at: field(
    'timestamp',
    'When the fact happened. `created_at` of the event is when the service accepted the event.',
    '2027-06-01T12:00:00Z',
  ),
});

const makeCurrency = () =>
  field(
    'currency',
    'The currency of the amount. Only the service checks whether ISO 4217 has the code.',
    'EUR',
  );

const makeBooking = () =>
  z
    .looseObject({
      ...makeCommonFields(),
      property_id: field(
        'reference',
        "The listing: its `id`, its `hid`, or the sender's own reference.",
        'H-1001',
      ),
      check_in: field('day', 'The first day of the stay.', '2027-06-01'),
      check_out: field(
        'day',
        'The day of departure. Only the service checks that it is not before `check_in`; one day before is accepted if either value has a time, because of time zones.',
        '2027-06-08',
      ),
      guests: field('count', 'The guests, or their number.', 2),
      currency: makeCurrency(),
      total_amount: field('amount', 'The price of the whole stay.', 1450),
      guest_email: field('email', 'The email address of the guest.', 'guest@example.com'),
    })
    .refine(isInOrder, {
      path: ['check_out'],
      error: 'must not be before check_in',
      when: () => true,
    });

/** The payload schema of each event type. */
export const EVENT_TYPES = {
  'booking.created': makeBooking,
  /** The payload contains the booking's current state. */
  'booking.updated': makeBooking,
  'booking.cancelled': () =>
    z.looseObject({
      ...makeCommonFields(),
      reason: field('words', 'Why the booking was cancelled.', 'Change of plans'),
      cancelled_at: field('timestamp', 'When the booking was cancelled.', '2027-06-01T12:00:00Z'),
      refund_amount: field('amount', 'The amount that the guest gets back.', 1450),
      currency: makeCurrency(),
    }),
} as const satisfies Record<string, () => z.ZodObject>;
