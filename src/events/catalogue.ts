/**
 * The kinds of events that the service accepts, each with the schema of its payload, and the types of the fields.
 *
 * To add a kind, add an entry to `CATALOGUE`. Known fields are typed, and all of them are optional; unknown fields are
 * stored as sent. The bounds of a field may be tightened at any time, because the events that a key has stored decide
 * before the schema. Events are never deleted: when you remove a kind, or change the type of a field, keep the earlier
 * form in `storedEventOf` (openapi/resource.ts), so that the OpenAPI document still describes the stored events.
 */

import * as z from 'zod';
import { described } from '../http/described.ts';
import { uuid } from '../http/uuid.ts';

export const MAX_NAME_CHARACTERS = 255;

/** A text without NUL, in a form that every dialect of patterns reads. */
export const NAME_PATTERN = '^[^\\x00]*$';

/**
 * The name of a kind of event, of an aggregate, or of a request: 1 to 255 characters without NUL, because functions of
 * SQLite cut a text at NUL. Characters are Unicode code points, as in JSON Schema.
 */
export const name = z
  .string()
  .min(1)
  .max(MAX_NAME_CHARACTERS)
  .regex(new RegExp(NAME_PATTERN), 'must not contain NUL (U+0000)');

/** An ISO 8601 timestamp with `Z` or an offset and a year of four digits. It stays as it was written. */
export const timestamp = z.iso.datetime({
  offset: true,
  error: 'must be an ISO 8601 timestamp with Z or an offset, such as 2027-06-01T12:00:00Z',
});

/**
 * Returns the first whole millisecond since the epoch that is not before the instant. Events have whole milliseconds, a
 * timestamp may be finer, and `Date.parse` cuts the rest off.
 */
export function millisecondFrom(text: string): number {
  const isFiner = /\.\d{3}\d*[1-9]/.test(text);
  return Date.parse(text) + (isFiner ? 1 : 0);
}

const date = z.iso
  .date({ error: 'must be an ISO 8601 date such as 2027-06-01' })
  .register(z.globalRegistry, { maxLength: 10 });

const amount = z.number().min(0);

/** The currency codes of ISO 4217: codes in use, and codes withdrawn since 2020, which bookings may still have. */
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

/** An alphabetic code in upper case, as ISO 4217 writes it. */
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
 * An email address in ASCII: a dot-atom at a domain name (RFC 5321 section 4.1.2), without the quoted and literal
 * forms. The pattern allows every character of an atom, and the ASCII form of any domain (RFC 5891), also with `xn--`
 * in its last label. zod's own pattern refuses guests who have such an address.
 */
const email = z.email({
  pattern:
    /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]$/,
  error: 'must be an email address',
});

const MAX_REASON_CHARACTERS = 2_000;

const stay = z.looseObject({ check_in: date, check_out: date });

/** The fields that every kind has. */
const common = {
  occurred_at: described(
    timestamp.optional(),
    'When the fact happened. `created_at` of the event is when the service accepted the event.',
    '2027-06-01T12:00:00Z',
  ),
};

/** Kind of event → schema of its payload. */
export const CATALOGUE = {
  'booking.created': z
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
  'booking.cancelled': z.looseObject({
    ...common,
    reason: described(
      z.string().max(MAX_REASON_CHARACTERS).optional(),
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
} as const satisfies Record<string, z.ZodObject>;

export type EventType = keyof typeof CATALOGUE;

/**
 * Reports whether a stay is in order, as far as both of its dates are valid. It runs beside the other checks and not
 * after them, so the payload may be anything.
 */
function endsAfterItBegins(payload: unknown): boolean {
  const dates = stay.safeParse(payload);
  return !dates.success || dates.data.check_out > dates.data.check_in;
}
