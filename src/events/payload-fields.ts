/**
 * The kinds of values in a payload. A kind takes each form in which senders write such a value, and
 * rejects a value that cannot mean it. A payload is stored as it was sent, so no form may transform
 * its value.
 */

import * as z from 'zod';
import { withMetadata } from '../schema/metadata.ts';

type Kind = {
  /** The forms in words, each with a sample: for messages and for documents. */
  takes: string;
  forms: () => z.ZodType[];
};

/** A check without `abort` would show its own message in place of the message of its kind. */
const CHECK = { abort: true };

/** The pattern must take `""`, by which forms say that they have no value. */
const text = (pattern: RegExp) => z.string().regex(pattern, CHECK);
const upTo = (maxCharacters: number) => z.string().max(maxCharacters, CHECK);
const number = () => z.number().min(0, CHECK);
const wholeNumber = () => z.int().min(0, CHECK);
const object = () => z.looseObject({});
const list = () => z.array(z.unknown());

/** A day of the calendar: `YYYY-MM-DD`. */
const DATE = z.regexes.date.source.slice(1, -1);
/** e.g. `9:30`, `16:00`, `16:00:00.000` */
const TIME = /(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?/.source;
/** Python writes `+02:00`, PHP `+0200`, PostgreSQL `+02`, and Ruby a space before it. */
const ZONE = / ?(?:Z|UTC|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)/.source;
/** A date, with or without a time. */
const DATED = `${DATE}(?:[T ]${TIME}(?:${ZONE})?)?`;
/** A date, a timestamp, or Unix time in seconds or milliseconds. */
const MOMENT = new RegExp(`^(?:${DATED}|\\d{10,13})?$`);
const DAY = new RegExp(`^(?:${DATED}|${TIME})?$`);

/** What PHP makes of a `DateTime`. */
const dateTime = () => z.looseObject({ date: z.union([text(MOMENT).min(1, CHECK), number()]) });

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

const isCurrency = (code: string) => code === '' || CURRENCIES.has(code.toUpperCase());

/**
 * In ASCII, as browsers check it (HTML, "valid email address"), at a domain name with a dot. Dots may
 * be anywhere in the local part: addresses such as `anna..ruiz@docomo.ne.jp` are in use.
 */
const EMAIL =
  /^(?: *[\w.!#$%&'*+/=?^`{|}~-]+@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9] *)?$/;

export const KINDS = {
  moment: {
    takes:
      'a date such as 2027-06-01, a timestamp such as 2027-06-01T12:00:00Z, Unix time such as 1811851200, or an object such as {"date":"2027-06-01 12:00:00"}',
    forms: () => [text(MOMENT), number(), dateTime()],
  },
  day: {
    takes:
      'a date such as 2027-06-01, a timestamp such as 2027-06-01T15:00:00Z, a time such as 15:00, or an object such as {"date":"2027-06-01 15:00:00"}',
    forms: () => [text(DAY), dateTime()],
  },
  count: {
    takes:
      'a whole number such as 2, in quotation marks or not, a list such as [{"name":"Ada"}], or an object such as {"adults":2}',
    forms: () => [wholeNumber(), text(/^\d*$/), list(), object()],
  },
  amount: {
    takes:
      'a number from 0 such as 1450.50, in quotation marks or not, or an object such as {"amount":145050,"currency":"EUR"}',
    forms: () => [number(), text(/^(?:\d+(?:\.\d+)?)?$/), object()],
  },
  currency: {
    takes: 'a code of ISO 4217 such as EUR, in capitals or not',
    forms: () => [text(/^(?:[A-Za-z]{3})?$/).refine(isCurrency, CHECK)],
  },
  reference: {
    takes: 'text of at most 255 characters such as H-1001, or a whole number such as 42',
    forms: () => [upTo(255), wholeNumber()],
  },
  email: {
    takes: 'an email address in ASCII such as guest@example.com',
    forms: () => [text(EMAIL)],
  },
  words: {
    takes:
      'text of at most 2,000 characters such as Illness, a number such as 3, a boolean such as true, a list such as ["illness"], or an object such as {"code":"illness"}',
    forms: () => [upTo(2_000), z.number(), z.boolean(), list(), object()],
  },
} satisfies Record<string, Kind>;

/**
 * Makes the schema of a known field, with a sentence about its meaning. `null` and `""` mean that
 * the sender has no value.
 */
export function field(kind: keyof typeof KINDS, meaning: string, example: unknown) {
  const { takes, forms } = KINDS[kind];
  const error = ({ input }: { input?: unknown }) =>
    `${namedWrongDay(input)}must be ${takes}. The field may be left out.`;
  const schema = z.union([...forms(), z.null()], { error }).optional();
  return withMetadata(schema, `${meaning} As the sender wrote it: ${takes}.`, example);
}

/** e.g. `2027-06-31T10:00`, also as the `date` of an object → `2027-06-31 is no day. It ` */
export function namedWrongDay(value: unknown): string {
  const { date: text = value } = z.looseObject({ date: z.string() }).safeParse(value).data ?? {};
  const [date] = (typeof text === 'string' && /^\d{4}-\d\d-\d\d/.exec(text)) || [];
  return date === undefined || z.regexes.date.test(date) ? '' : `${date} is no day. It `;
}

const dayText = text(DAY);
const stay = z.looseObject({ check_in: dayText, check_out: dayText });
const DAY_MS = 86_400_000;

/**
 * Reports whether `check_out` is not before `check_in`, or one of them does not begin with a date.
 * Times may be of different zones: with one, a day's difference is in order.
 */
export function isInOrder(payload: unknown): boolean {
  const { check_in = '', check_out = '' } = stay.safeParse(payload).data ?? {};
  const [begin = NaN, end = NaN] = [check_in, check_out].map((each) =>
    Date.parse(each.slice(0, 10)),
  );
  const hasTime = check_in.length > 10 || check_out.length > 10;
  return !(end < begin - (hasTime ? DAY_MS : 0));
}
