/**
 * The kinds of events that the service accepts, each with the schema of its payload.
 *
 * To add a kind, add an entry here. Known fields are typed, and all of them are optional; unknown
 * fields are stored as sent. The bounds of a field may be tightened at any time, because the events that
 * a key has stored answer before the schema does. When a kind is removed, or the type of a field changes,
 * the earlier form moves to `EARLIER`, for the events that are stored.
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
const stay = z.looseObject({ check_in: date, check_out: date });
const amount = z
  .number()
  .min(0)
  .meta({ examples: [1450] });

/** Kind of event → schema of its payload. */
export const CATALOGUE = {
  'booking.created': z
    .looseObject({
      property_id: uuid.optional(),
      check_in: date.optional(),
      check_out: date.optional(),
      guests: z
        .int()
        .min(1)
        .optional()
        .meta({ examples: [2] }),
      currency: currency.optional(),
      total_amount: amount.optional(),
      guest_email: email.optional(),
    })
    .refine(endsAfterItBegins, {
      path: ['check_out'],
      error: 'must be after check_in',
      when: () => true,
    }),
  'booking.cancelled': z.looseObject({
    reason: z
      .string()
      .max(MAX_REASON_CHARACTERS)
      .optional()
      .meta({ examples: ['Change of plans'] }),
    cancelled_at: timestamp.optional(),
    refund_amount: amount.optional(),
    currency: currency.optional(),
  }),
} as const satisfies Record<string, z.ZodObject>;

/**
 * Forms that were accepted once and may be stored: kinds that are no longer accepted, and
 * former types of fields. The document goes on describing them, and nothing is validated with them.
 */
export const EARLIER: Readonly<Record<string, z.ZodObject>> = {};

export type EventType = keyof typeof CATALOGUE;

/**
 * Reports whether a stay is in order, as far as both of its dates are valid. It runs beside the other
 * checks and not after them, so the payload may be anything.
 */
function endsAfterItBegins(payload: unknown): boolean {
  const dates = stay.safeParse(payload);
  return !dates.success || dates.data.check_out > dates.data.check_in;
}
