/**
 * Reads the dates of a payload. The service needs only the calendar day, to check that a stay does not
 * end before it begins, so it reads neither times nor zones. It accepts many formats, for example:
 *
 *     2027-07-03T15:00:00+02:00[Europe/Madrid]   RFC 9557
 *     20270703T150000Z                           iCalendar
 *     2027-07-03, 3:00:00 p.m.                   JavaScript's toLocaleString
 *     1814616000.25                              Unix time
 *     {"date":"2027-07-03 15:00:00.000000"}      PHP
 */

import * as z from 'zod';

const LEAP_YEAR = '\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00';
/** Pattern of a day in the calendar, e.g. `2027-07-03` or `20270703`. */
const DATE = `(?:${makeDayPattern('-')}|${makeDayPattern('')})`;

function makeDayPattern(hyphen: '-' | ''): string {
  const longMonth = `(?:0[13578]|1[02])${hyphen}(?:0[1-9]|[12]\\d|3[01])`;
  const shortMonth = `(?:0[469]|11)${hyphen}(?:0[1-9]|[12]\\d|30)`;
  const february = `(?:02)${hyphen}(?:0[1-9]|1\\d|2[0-8])`;
  const leapDay = `(?:${LEAP_YEAR})${hyphen}02${hyphen}29`;
  return `(?:${leapDay}|\\d{4}${hyphen}(?:${longMonth}|${shortMonth}|${february}))`;
}

const REST = '[^\\x00-\\x1f]';
/** Pattern of a date, optionally followed by a time or a zone. */
const DATED = `${DATE}(?:(?:[Tt]|,? )[0-9]${REST}{0,58}|[+-][0-9]${REST}{0,58}|[Zz\\[]${REST}{0,59}|[0-9]{6})?`;

/** Pattern of a date, or of Unix time in digits. It has no anchors. */
export const TIMESTAMP = `${DATED}|[0-9]{10,13}`;
/** Pattern of a time without a date, e.g. `9:30`, `16:00:00.000` or `4:00 pm`. */
export const TIME = '(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?:[^0-9](?:[^0-9]|[0-9]){0,40})?';

/** Range of accepted Unix times, in seconds or in milliseconds. */
export const UNIX_TIME = { min: 1_000_000_000, max: 9_999_999_999_999 };
/** Smallest Unix time that is read as milliseconds. Smaller values are read as seconds. */
const MIN_MILLISECONDS = 100_000_000_000;
const DAY_MS = 86_400_000;

/**
 * Fields that contain the date in objects from Google or Microsoft, from PHP, and from MongoDB. The
 * first field with a value counts.
 */
const DATE_FIELDS = ['dateTime', 'date', '$date'];

const dayPattern = new RegExp(`^${DATE}$`);
const timestampPattern = new RegExp(`^[ \\t]*(?:${TIMESTAMP})[ \\t]*$`);

/**
 * Returns the beginning of a message that explains why a value is not a date, or `""`.
 *
 * @example explainWrongDate('2027-06-31T10:00') // '2027-06-31 is not a day of the calendar. It '
 */
export function explainWrongDate(value: unknown): string {
  if (Array.isArray(value)) return 'is a list. Write the date as text. It ';
  const date = unwrapDate(value);
  const [day] =
    (typeof date === 'string' && /^\d{4}-\d\d-\d\d|^\d{8}(?=\D|\d{6}$|$)/.exec(date.trim())) || [];
  return day === undefined || dayPattern.test(day)
    ? ''
    : `${day} is not a day of the calendar. It `;
}

/**
 * Whether `check_out` is on or after `check_in`. Returns true if either date is missing, invalid or
 * ambiguous. If either date has a time, `check_out` may be one day earlier, because the times may be in
 * different zones.
 */
export function isInOrder(payload: unknown): boolean {
  const { check_in, check_out } = z.looseObject({}).safeParse(payload).data ?? {};
  const [arrival, departure] = [readStayDate(check_in), readStayDate(check_out)];
  if (arrival === undefined || departure === undefined) return true;
  return departure.day >= arrival.day - (arrival.hasTime || departure.hasTime ? 1 : 0);
}

/** A date of a stay. `day` is the number of days since 1970-01-01. */
type StayDate = { day: number; hasTime: boolean };

/** Reads a date. Returns undefined if the date is missing, invalid or ambiguous. */
function readStayDate(value: unknown): StayDate | undefined {
  const date = unwrapDate(value);
  if (typeof date === 'number') {
    const isUnixTime = date >= UNIX_TIME.min && date <= UNIX_TIME.max;
    return isUnixTime ? readUnixDate(String(Math.trunc(date))) : undefined;
  }
  if (typeof date !== 'string' || !timestampPattern.test(date)) return undefined;
  const text = date.trim();
  return /^\d{10,13}$/.test(text) ? readUnixDate(text) : readTextDate(text);
}

/** Reads Unix time. Returns undefined for 11 or 12 digits, which may be seconds or milliseconds. */
function readUnixDate(digits: string): StayDate | undefined {
  if (digits.length === 11 || digits.length === 12) return undefined;
  const milliseconds = Number(digits) * (Number(digits) < MIN_MILLISECONDS ? 1_000 : 1);
  return { day: Math.floor(milliseconds / DAY_MS), hasTime: true };
}

function readTextDate(text: string): StayDate {
  const [date = '', ...parts] = /^(\d{4})-?(\d\d)-?(\d\d)/.exec(text) ?? [];
  return { day: Date.parse(parts.join('-')) / DAY_MS, hasTime: text.length > date.length };
}

/** Returns the date that an object contains. Returns any other value unchanged. */
function unwrapDate(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const fields = new Map<string, unknown>(Object.entries(value));
  const isBlank = (date: unknown) => typeof date === 'string' && /^[ \t]*$/.test(date);
  return DATE_FIELDS.map((name) => fields.get(name) ?? '').find((date) => !isBlank(date));
}
