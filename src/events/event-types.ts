/**
 * The event types that the service accepts, each with the schema of its payload.
 *
 * Every field may be left out or null, and unknown fields are kept. A payload is stored as it was
 * sent, so no schema may transform a value. Events are never deleted: if you remove an event type,
 * or change the type of a field, keep the earlier form in `makeStoredEventSchema`
 * (openapi/event-types.ts).
 */

import * as z from 'zod';
import { withMetadata } from '../schema.ts';

/** The bounds of a name. SQLite's functions cut a text at NUL. */
export const NAME_BOUNDS = { minLength: 1, maxLength: 255, pattern: '^[^\\x00]*$' };

/** The name of an event type, an aggregate or a key. */
export const name = z
  .string()
  .min(NAME_BOUNDS.minLength)
  .max(NAME_BOUNDS.maxLength)
  .regex(new RegExp(NAME_BOUNDS.pattern), 'must not contain NUL (U+0000)');

/**
 * ISO 8601 as booking systems write it: Java leaves out seconds that are zero, and writes `+0200` or
 * `+02` with some formatters, as PHP does.
 */
const TIMESTAMP =
  /^(\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,100})?)?)(Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)$/;

const TIMESTAMP_FORM =
  'must be an ISO 8601 timestamp with Z or an offset, such as 2027-06-01T12:00:00Z';

const isDate = (text: string) => z.iso.date().safeParse(text).success;

export const timestamp = z
  .string(TIMESTAMP_FORM)
  .regex(TIMESTAMP, TIMESTAMP_FORM)
  .refine((text) => isDate(text.slice(0, 10)), TIMESTAMP_FORM);

/** Returns the milliseconds of a valid timestamp since the epoch, rounded down. */
export function parseTimestamp(text: string): number {
  const [, time = '', offset = ''] = TIMESTAMP.exec(text) ?? [];
  // `Date.parse` reads no other form of an offset.
  const [, hours, minutes = '00'] = /^([+-]\d\d):?(\d\d)?$/.exec(offset) ?? [];
  return Date.parse(hours === undefined ? text : `${time}${hours}:${minutes}`);
}

/**
 * The message of a value that has another type or form. A broken bound has the message of all
 * bounds.
 */
const expected = (form: string) => ({
  error: ({ code }: { code?: string }) =>
    code === 'too_small' || code === 'too_big' ? undefined : form,
});

const date = z.iso
  .date(expected('must be a date such as 2027-06-01, without a time'))
  .register(z.globalRegistry, { maxLength: 10 });

const text = (maxCharacters: number) =>
  z.string(expected('must be text, in quotation marks')).max(maxCharacters);

const amount = z.number(expected('must be a number, without quotation marks')).min(0);

const count = z.int(expected('must be a whole number, without quotation marks')).min(1);

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

const CURRENCY_FORM = expected('must be an ISO 4217 code in capitals, such as EUR');

const currency = z
  .string(CURRENCY_FORM)
  .refine((code) => CURRENCIES.has(code), CURRENCY_FORM)
  .register(z.globalRegistry, { pattern: '^[A-Z]{3}$', maxLength: 3 });

/**
 * In ASCII, as browsers check it (HTML, "valid email address"), at a domain name with a dot. Dots may
 * be anywhere in the local part: addresses such as `anna..ruiz@docomo.ne.jp` are in use.
 */
const email = z.email({
  pattern:
    /^[\w.!#$%&'*+/=?^`{|}~-]+@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]$/,
  ...expected('must be an email address in ASCII, such as guest@example.com'),
});

const stay = z.looseObject({ check_in: date, check_out: date });

/** A known field. `null` means that the sender has no value. */
function field<Schema extends z.ZodType>(schema: Schema, description: string, example?: unknown) {
  const examples = example === undefined ? [] : [example];
  return withMetadata(schema.nullish(), description, ...examples);
}

const makeCommonFields = () => ({
  occurred_at: field(
    timestamp,
    'When the fact happened. `created_at` of the event is when the service accepted the event.',
    '2027-06-01T12:00:00Z',
  ),
});

const makeCurrency = () => field(currency, 'ISO 4217 alphabetic code.', 'EUR');

/** Event type → schema of its payload. */
export const EVENT_TYPES = {
  'booking.created': () =>
    z
      .looseObject({
        ...makeCommonFields(),
        property_id: field(
          text(255).min(1),
          "The listing: its `id`, its `hid`, or the sender's own reference.",
          'H-1001',
        ),
        check_in: field(date, 'The first day of the stay.', '2027-06-01'),
        check_out: field(date, 'The day of departure, after `check_in`.', '2027-06-08'),
        guests: field(count, 'The number of guests.', 2),
        currency: makeCurrency(),
        total_amount: field(amount, 'The price of the whole stay.', 1450),
        guest_email: field(email, 'The email address of the guest.', 'guest@example.com'),
      })
      .refine(endsAfterItBegins, {
        path: ['check_out'],
        error: 'must be after check_in',
        when: () => true,
      }),
  'booking.cancelled': () =>
    z.looseObject({
      ...makeCommonFields(),
      reason: field(text(2_000), 'Why the booking was cancelled.', 'Change of plans'),
      cancelled_at: field(timestamp, 'When the booking was cancelled.', '2027-06-01T12:00:00Z'),
      refund_amount: field(amount, 'The amount that the guest gets back.', 1450),
      currency: makeCurrency(),
    }),
} as const satisfies Record<string, () => z.ZodObject>;

/** Reports whether the dates are in order, or not both valid. */
function endsAfterItBegins(payload: unknown): boolean {
  const dates = stay.safeParse(payload);
  return !dates.success || dates.data.check_out > dates.data.check_in;
}
