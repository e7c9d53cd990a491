/**
 * The event types that the service accepts, each with the schema of its payload.
 *
 * All fields are optional, and unknown fields are stored as sent. Events are never deleted: if you
 * remove an event type, or change the type of a field, keep the earlier form in `storedEventOf`
 * (openapi/event-types.ts).
 */

import * as z from 'zod';
import { described, uuid } from '../schema.ts';

/** The bounds of a name. SQLite's functions cut a text at NUL. */
export const NAME_BOUNDS = { minLength: 1, maxLength: 255, pattern: '^[^\\x00]*$' };

/** The name of an event type, an aggregate or a key. */
export const name = z
  .string()
  .min(NAME_BOUNDS.minLength)
  .max(NAME_BOUNDS.maxLength)
  .regex(new RegExp(NAME_BOUNDS.pattern), 'must not contain NUL (U+0000)');

/** Stored as it was written. */
export const timestamp = z.iso.datetime({
  offset: true,
  error: 'must be an ISO 8601 timestamp with Z or an offset, such as 2027-06-01T12:00:00Z',
});

const date = z.iso
  .date({ error: 'must be an ISO 8601 date such as 2027-06-01' })
  .register(z.globalRegistry, { maxLength: 10 });

const amount = z.number().min(0);

/** ISO 4217: the codes in use, and those withdrawn since 2020, which bookings may still have. */
const CURRENCIES = new Set(
  `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP
  BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB
  EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD
  JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU
  MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD
  RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY
  TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD
  XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG ZWL`.split(/\s+/),
);

const currency = z
  .string()
  .refine((code) => CURRENCIES.has(code), {
    error: 'must be an ISO 4217 currency code such as EUR',
  })
  .register(z.globalRegistry, {
    pattern: '^[A-Z]{3}$',
    maxLength: 3,
    examples: ['EUR'],
    description: 'ISO 4217 alphabetic code.',
  });

/**
 * A dot-atom at a domain name (RFC 5321 section 4.1.2), in ASCII. zod's own pattern rejects some
 * characters of an atom, and domains whose last label begins with `xn--` (RFC 5891).
 */
const email = z.email({
  pattern:
    /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]$/,
  error: 'must be an email address',
});

const stay = z.looseObject({ check_in: date, check_out: date });

const common = {
  occurred_at: described(
    timestamp.optional(),
    'When the fact happened. `created_at` of the event is when the service accepted the event.',
    '2027-06-01T12:00:00Z',
  ),
};

/** Event type → makes the schema of its payload. */
export const CATALOGUE = {
  'booking.created': () =>
    z
      .looseObject({
        ...common,
        property_id: described(uuid.optional(), 'The id of the listing.'),
        check_in: described(date.optional(), 'The first day of the stay.', '2027-06-01'),
        check_out: described(
          date.optional(),
          'The day of departure, after `check_in`.',
          '2027-06-08',
        ),
        guests: described(z.int().min(1).optional(), 'The number of guests.', 2),
        currency: currency.optional(),
        total_amount: described(amount.optional(), 'The price of the whole stay.', 1450),
        guest_email: described(
          email.optional(),
          'The email address of the guest.',
          'guest@example.com',
        ),
      })
      .refine(endsAfterItBegins, {
        path: ['check_out'],
        error: 'must be after check_in',
        when: () => true,
      }),
  'booking.cancelled': () =>
    z.looseObject({
      ...common,
      reason: described(
        z.string().max(2_000).optional(),
        'Why the booking was cancelled.',
        'Change of plans',
      ),
      cancelled_at: described(
        timestamp.optional(),
        'When the booking was cancelled.',
        '2027-06-01T12:00:00Z',
      ),
      refund_amount: described(amount.optional(), 'The amount that the guest gets back.', 1450),
      currency: currency.optional(),
    }),
} as const satisfies Record<string, () => z.ZodObject>;

/** Reports whether the dates are in order, or not both valid. */
function endsAfterItBegins(payload: unknown): boolean {
  const dates = stay.safeParse(payload);
  return !dates.success || dates.data.check_out > dates.data.check_in;
}
