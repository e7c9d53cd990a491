/**
 * The kinds of events that the service takes, each with the schema of its payload.
 *
 * A new kind is one entry here, and nothing else. Known fields are typed, all of them optional;
 * unknown fields are kept as sent. A schema may be tightened at any time: keys that are stored
 * answer before it does.
 */

import * as z from 'zod';
import { uuid } from '../http/uuid.ts';
import { currency } from './currency.ts';
import { email } from './email.ts';
import { timestamp } from './timestamp.ts';

const MAX_REASON_CHARACTERS = 2_000;

const date = z.iso
  .date({ error: 'must be an ISO 8601 date such as 2027-06-01' })
  .meta({ maxLength: 10, examples: ['2027-06-01'] });
const bothDates = z.looseObject({ check_in: date, check_out: date });
const amount = z.number().min(0);

/** Kind of event → schema of its payload. */
export const CATALOGUE = {
  'booking.created': z
    .looseObject({
      property_id: uuid.optional(),
      check_in: date.optional(),
      check_out: date.optional(),
      guests: z.int().min(1).optional(),
      currency: currency.optional(),
      total_amount: amount.optional(),
      guest_email: email.optional(),
    })
    .refine(hasItsDatesInOrder, {
      path: ['check_out'],
      error: 'must be after check_in',
      when: () => true,
    }),
  'booking.cancelled': z.looseObject({
    reason: z.string().max(MAX_REASON_CHARACTERS).optional(),
    cancelled_at: timestamp.optional(),
    refund_amount: amount.optional(),
    currency: currency.optional(),
  }),
} as const satisfies Record<string, z.ZodType<Record<string, unknown>>>;

export type EventType = keyof typeof CATALOGUE;

/** Told beside any other problem of the payload, hence looks at what may be anything. */
function hasItsDatesInOrder(payload: unknown): boolean {
  const dates = bothDates.safeParse(payload);
  return !dates.success || dates.data.check_out > dates.data.check_in;
}
