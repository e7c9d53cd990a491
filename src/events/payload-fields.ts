/**
 * The field types of payloads. A field type accepts every form in which senders write such a value. It
 * rejects only values that cannot have this meaning, e.g. `next week` as an amount. Payloads are stored
 * as they were sent.
 */

import * as z from 'zod';
import { withMetadata } from '../schema/metadata.ts';
import { explainWrongDate, TIME, TIMESTAMP, UNIX_TIME } from './dates.ts';

type FieldType = {
  /** The accepted forms, each with a sample, as messages and documents describe them. */
  description: string;
  forms: () => z.ZodType[];
  /** Returns the beginning of a message about a value, or `""` if there is nothing to explain. */
  explain?: (value: unknown) => string;
};

/**
 * Options of a check. With `abort`, callers see the field type's message instead of the check's own
 * message.
 */
const CHECK = { abort: true };

/** Pattern of the spaces and tabs that are accepted before and after a text. */
const BLANKS = '[ \\x09]*';
const matching = (form: string) => z.string().regex(new RegExp(`^${BLANKS}${form}$`), CHECK);
/** Makes the schema of a text. Blank text is valid too, because web forms send it for an empty field. */
const text = (form: string) => matching(`(?:(?:${form})${BLANKS})?`);
const upTo = (maxCharacters: number) => z.string().max(maxCharacters, CHECK);
const number = () => z.number().min(0, CHECK);
const wholeNumber = () => z.int().min(0, CHECK);
const object = () => z.looseObject({});
const list = () => z.array(z.unknown());

const unixTime = () => z.number().min(UNIX_TIME.min, CHECK).max(UNIX_TIME.max, CHECK);
const dateInObject = z.union([matching(`(?:${TIMESTAMP})${BLANKS}`), unixTime()]);
const blank = z.union([matching(''), z.null()]).optional();
/**
 * Makes the schema of an object with a date. Google and Microsoft send `dateTime`, PHP sends `date`, and
 * MongoDB sends `$date`.
 */
const datedObject = () =>
  z.union([
    z.looseObject({ dateTime: dateInObject }),
    z.looseObject({ dateTime: blank, date: dateInObject }),
    z.looseObject({ dateTime: blank, date: blank, $date: dateInObject }),
  ]);

/** ISO 4217 codes, including the codes that were withdrawn after 2019, because bookings may still have them. */
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

const isCurrency = (code: string) =>
  code.trim() === '' || CURRENCIES.has(code.trim().toUpperCase());

/**
 * Pattern of an ASCII email address, as browsers check it (HTML, "valid email address"), but with at
 * least one dot in the domain name. Dots may be anywhere in the local part, because addresses such as
 * `anna..ruiz@docomo.ne.jp` are in use.
 */
const EMAIL =
  "[0-9A-Za-z_.!#$%&'*+/=?^`{|}~-]+@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]";

const FIELD_TYPES = {
  timestamp: {
    description:
      'a date such as 2027-06-01, a timestamp such as 2027-06-01T12:00:00Z, Unix time such as 1811851200, or an object such as {"date":"2027-06-01 12:00:00"}',
    forms: () => [text(TIMESTAMP), number(), datedObject()],
    explain: explainWrongDate,
  },
  day: {
    description:
      'a date such as 2027-06-01, a timestamp such as 2027-06-01T15:00:00Z, Unix time such as 1811851200, a time such as 15:00, or an object such as {"date":"2027-06-01 15:00:00"}',
    forms: () => [text(`${TIMESTAMP}|${TIME}`), unixTime(), datedObject()],
    explain: explainWrongDate,
  },
  count: {
    description:
      'a whole number such as 2, in quotation marks or not, a list such as [{"name":"Ada"}], or an object such as {"adults":2}',
    forms: () => [wholeNumber(), text('[0-9]+'), list(), object()],
  },
  amount: {
    description:
      'a number from 0 such as 1450.50, in quotation marks or not, or an object such as {"amount":145050,"currency":"EUR"}',
    forms: () => [number(), text('[0-9]+(?:\\.[0-9]+)?'), object()],
  },
  currency: {
    description:
      'a code of ISO 4217 such as EUR, in capitals or not, or an object such as {"code":"EUR"}',
    forms: () => [text('[A-Za-z]{3}').refine(isCurrency, CHECK), object()],
  },
  reference: {
    description: 'text of at most 255 characters such as H-1001, or a whole number such as 42',
    forms: () => [upTo(255), wholeNumber()],
  },
  email: {
    description: 'an email address in ASCII such as guest@example.com',
    forms: () => [text(EMAIL)],
  },
  words: {
    description:
      'text of at most 2,000 characters such as Illness, a number such as 3, a boolean such as true, a list such as ["illness"], or an object such as {"code":"illness"}',
    forms: () => [upTo(2_000), z.number(), z.boolean(), list(), object()],
  },
} satisfies Record<string, FieldType>;

/**
 * Makes the schema of a field. `meaning` is a sentence about the field for the OpenAPI document. `null`
 * and blank text mean that the sender has no value.
 */
export function field(type: keyof typeof FIELD_TYPES, meaning: string, example: unknown) {
  const { description, forms, explain }: FieldType = FIELD_TYPES[type];
  const error = ({ input }: { input?: unknown }) =>
    `${explain?.(input) ?? ''}must be ${description}. The field may be left out.`;
  const schema = z.union([...forms(), z.null()], { error }).optional();
  return withMetadata(schema, `${meaning} As the sender wrote it: ${description}.`, example);
}
