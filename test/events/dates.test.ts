/**
 * The date formats that programming languages and systems write, and the rule that `check_out` must not
 * precede `check_in`.
 */

import { describe, expect, it } from 'vitest';
import { explainWrongDate, isInOrder } from '../../src/events/dates.ts';
import { parseIngestRequest } from '../../src/events/request.ts';
import { document, findProblems } from '../support/documented.ts';

/** A date field of a payload. `check_in` has the type `day`, and `occurred_at` the type `timestamp`. */
type DateField = 'check_in' | 'occurred_at';

/**
 * Returns the message that rejects a field's value; undefined if the value is accepted. Expects the
 * service and the OpenAPI document to agree.
 */
function findRejection(field: DateField, value: unknown): string | undefined {
  const body = {
    event_type: 'booking.created',
    aggregate_id: 'bk_1',
    aggregate_type: 'booking',
    payload: { [field]: value },
  };
  const parsed = parseIngestRequest(JSON.parse(JSON.stringify(body)));
  const problems = findProblems(document.components.schemas.IngestRequest ?? {}, body);
  expect(problems.length > 0, 'the document and the service differ').toBe(!parsed.ok);
  return parsed.ok ? undefined : parsed.problems[0]?.message;
}

const ACCEPTED: [writer: string, value: unknown][] = [
  ["JavaScript's Date", '2027-07-03T15:00:00.000Z'],
  ["JavaScript's Date.now", 1_814_616_000_000],
  ["JavaScript's Temporal.ZonedDateTime", '2027-07-03T15:00:00+02:00[Europe/Madrid]'],
  ["JavaScript's Temporal.PlainDate with a calendar", '2027-07-03[u-ca=gregory]'],
  ["JavaScript's toLocaleString in Canada", '2027-07-03, 3:00:00 p.m.'],
  ["JavaScript's toLocaleString in Sweden", '2027-07-03 15:00:00'],
  ["Python's datetime.isoformat", '2027-07-03T15:00:00.123456+02:00'],
  ["Python's str(datetime)", '2027-07-03 15:00:00.123456+00:00'],
  ["Python's date", '2027-07-03'],
  ["Python's time.time", 1_814_616_000.25],
  ["PHP's DATE_ATOM", '2027-07-03T15:00:00+02:00'],
  ["PHP's DATE_ISO8601", '2027-07-03T15:00:00+0200'],
  ["PHP's DateTime", { date: '2027-07-03 15:00:00.000000', timezone_type: 3, timezone: 'UTC' }],
  ["Ruby's Time", '2027-07-03 15:00:00 +0200'],
  ["Ruby's Time in UTC", '2027-07-03 15:00:00 UTC'],
  ["Elixir's DateTime", '2027-07-03 15:00:00Z'],
  ["Java's Instant", '2027-07-03T15:00:00Z'],
  ["Java's OffsetDateTime", '2027-07-03T15:00+02:00'],
  ["Java's ZonedDateTime", '2027-07-03T15:00+02:00[Europe/Madrid]'],
  ["Java's Timestamp", '2027-07-03 15:00:00.0'],
  ["Java's BASIC_ISO_DATE with an offset", '20270703+0200'],
  ["Kotlin's LocalDateTime", '2027-07-03T15:00'],
  ["C#'s DateTime", '2027-07-03T15:00:00.0000000'],
  ["C#'s format u", '2027-07-03 15:00:00Z'],
  ["Go's Time in JSON", '2027-07-03T15:00:00.123456789+02:00'],
  ["Go's Time.String", '2027-07-03 15:00:00.123456789 +0200 CEST m=+0.000012345'],
  ["Rust's chrono", '2027-07-03T15:00:00.123456789+00:00'],
  ["PostgreSQL's timestamptz", '2027-07-03 15:00:00.123+02'],
  ["MySQL's DATETIME", '2027-07-03 15:00:00'],
  ["MySQL's DATETIME + 0", '20270703150000'],
  ["SQLite's unixepoch in a text column", '1814616000'],
  ["MongoDB's Extended JSON", { $date: '2027-07-03T15:00:00Z' }],
  ["Google Calendar's timed event", { dateTime: '2027-07-03T15:00:00+02:00', timeZone: 'Z' }],
  ["Google Calendar's all-day event", { date: '2027-07-03', dateTime: null }],
  ["Microsoft Graph's dateTimeTimeZone", { dateTime: '2027-07-03T15:00:00.0', timeZone: 'UTC' }],
  ["iCalendar's DATE-TIME", '20270703T150000Z'],
  ["iCalendar's DATE", '20270703'],
  ["SAP's TIMESTAMP", '20270703150000'],
  ["XML Schema's date with an offset", '2027-07-03+02:00'],
  ["XML Schema's date in UTC", '2027-07-03Z'],
  ["Stripe's API", 1_814_616_000],
  ['RFC 3339 in lower case', '2027-07-03t15:00:00z'],
  ['ISO 8601 with hours alone', '2027-07-03T15'],
];

const NO_DATE_FIRST =
  'It does not begin with the year, so the day and the month could be confused.';
const NO_DAY_OF_MONTH = 'It has no month and day.';

const REJECTED: [writer: string, value: unknown, reason: string][] = [
  ["JavaScript's Date.toString", 'Sat Jul 03 2027 15:00:00 GMT+0200 (CEST)', NO_DATE_FIRST],
  ["JavaScript's toLocaleString in the USA", '7/3/2027, 3:00:00 PM', NO_DATE_FIRST],
  ["JavaScript's toLocaleString in Germany", '3.7.2027, 15:00:00', NO_DATE_FIRST],
  [
    "JavaScript's toLocaleString in Japan",
    '2027/7/3 15:00:00',
    'ISO 8601 does not allow a one-digit month.',
  ],
  ["C's ctime", 'Sat Jul  3 15:00:00 2027', NO_DATE_FIRST],
  ["HTTP's Date and PHP's DATE_RFC2822", 'Sat, 03 Jul 2027 15:00:00 GMT', NO_DATE_FIRST],
  ["Oracle's DATE", '03-JUL-27', NO_DATE_FIRST],
  ["Java's LocalDate in Jackson's default form", [2027, 7, 3], 'A list is not a date.'],
  ["Python's timetuple", [2027, 7, 3, 15, 0, 0, 5, 184, -1], 'A list is not a date.'],
  ["Rust's time in its default form", [2027, 184, 15, 0, 0], 'A list is not a date.'],
  ["C#'s JavaScriptSerializer", '/Date(1814616000000)/', 'It does not begin with a digit.'],
  ["Firestore's Timestamp", { seconds: 1_814_616_000, nanoseconds: 0 }, 'No field has the date.'],
  ["MongoDB's canonical form", { $date: { $numberLong: '1814616000000' } }, 'The date is nested.'],
  ["ISO 8601's week", '2027-W26-6', NO_DAY_OF_MONTH],
  ["ISO 8601's day of the year", '2027-184', NO_DAY_OF_MONTH],
  ["MySQL's empty DATE", '0000-00-00', 'It is not a day of the calendar.'],
];

/** Numbers that are not Unix time. Only a `timestamp` accepts them, because it accepts any non-negative number. */
const TIMESTAMPS_ONLY: [writer: string, value: unknown, reason: string][] = [
  ["Swift's Date in its default form", 836_308_800, 'It counts from 2001, so it is not Unix time.'],
  ["Excel's serial number", 46_571, 'It counts days.'],
  ["Java's nanoseconds", 1_814_616_000_000_000, 'Unix time is in seconds or milliseconds.'],
];

describe('a date in a payload', () => {
  it.each(ACCEPTED)('is accepted in the format of %s', (_, value) => {
    expect(findRejection('occurred_at', value)).toBeUndefined();
    expect(findRejection('check_in', value)).toBeUndefined();
    const padded = typeof value === 'string' ? `\t ${value} \t` : value;
    expect(findRejection('check_in', padded)).toBeUndefined();
  });

  it.each(REJECTED)('is rejected in the format of %s (%j)', (_, value) => {
    expect(findRejection('occurred_at', value)).toMatch(/must be a date such as/);
    expect(findRejection('check_in', value)).toMatch(/must be a date such as/);
  });

  it.each(TIMESTAMPS_ONLY)(
    'is accepted only as a timestamp in the format of %s (%j)',
    (_, value) => {
      expect(findRejection('occurred_at', value)).toBeUndefined();
      expect(findRejection('check_in', value)).toMatch(/must be a date such as/);
    },
  );
});

const tail = (length: number) => 'x'.repeat(length);

describe('the date pattern', () => {
  it.each<[value: unknown, isDay: boolean, isTimestamp?: boolean]>([
    ['', true],
    ['  \t', true],
    [null, true],
    ['20270631', false],
    ['20280229', true],
    ['20270229', false],
    ['2027-0703', false],
    ['202707-03', false],
    ['2027-07-03T', false],
    ['2027-07-03 ', true],
    ['2027-07-03,', false],
    ['2027-07-03, 1', true],
    ['2027-07-03,1', false],
    ['2027-07-03  1', false],
    ['2027-07-03T25:00:00Z', true],
    ['2027-07-03x', false],
    ['2027-07-03+', false],
    ['2027-07-03-5', true],
    ['2027-07-03[', true],
    ['2027-07-03T1\u0000', false],
    ['2027-07-03T1\u001f', false],
    ['2027-07-03T1\tx', false],
    ['2027-07-03T1\t', true],
    ['2027-07-03\n', false],
    [`2027-07-03T1${tail(58)}`, true],
    [`2027-07-03T1${tail(59)}`, false],
    [`2027-07-03T1${tail(58)}   `, true],
    [`2027-07-03, 1${tail(58)}`, true],
    [`2027-07-03, 1${tail(59)}`, false],
    [`2027-07-03+1${tail(58)}`, true],
    [`2027-07-03+1${tail(59)}`, false],
    [`2027-07-03Z${tail(59)}`, true],
    [`2027-07-03Z${tail(60)}`, false],
    [`2027-07-03[${tail(59)}`, true],
    [`2027-07-03[${tail(60)}`, false],
    ['20270703150000', true],
    ['20270631150000', false],
    ['2027070315000', true],
    ['202707031500000', false],
    ['123456789', false],
    ['1234567890', true],
    ['1234567890123', true],
    ['12345678901234', false],
    ['1814616000.5', false],
    [999_999_999, false, true],
    [1_000_000_000, true],
    [9_999_999_999_999, true],
    [9_999_999_999_999.5, false, true],
    [0, false, true],
    [-1, false],
    ['5', false],
    ['12345', false],
    ['0:00', true, false],
    ['23:59', true, false],
    ['24:00', false],
    ['9:30', true, false],
    ['16:000', false],
    ['16:0', false],
    ['16:00:00.000', true, false],
    [' 4:00 pm ', true, false],
    [`16:00 ${tail(40)}`, true, false],
    [`16:00 ${tail(41)}`, false],
    [`16:00 ${'1'.repeat(40)}`, true, false],
    [{ date: 1 }, false],
    [{ date: 999_999_999 }, false],
    [{ date: 1_000_000_000 }, true],
    [{ date: '16:00' }, false],
    [{ date: ' 2027-07-03 ' }, true],
    [{ date: '2027-06-31' }, false],
    [{ date: '' }, false],
    [{ date: null, $date: ' \t' }, false],
    [{}, false],
    [{ day: 3 }, false],
    [{ dateTime: null, date: '2027-07-03' }, true],
    [{ dateTime: '  ', date: null, $date: 1_814_616_000_000 }, true],
    [{ dateTime: 'soon', date: '2027-07-03' }, false],
    [{ dateTime: '2027-07-03', date: 'soon', $date: [] }, true],
    [{ dateTime: [], date: '2027-07-03' }, false],
    [{ dateTime: { date: '2027-07-03' } }, false],
    [{ dateTime: false, date: '2027-07-03' }, false],
    [{ dateTime: { toString: 1 } }, false],
    [true, false],
    [[], false],
    [['2027-07-03'], false],
  ])('decides whether %j is a date', (value, isDay, isTimestamp = isDay) => {
    expect(findRejection('check_in', value) === undefined).toBe(isDay);
    expect(findRejection('occurred_at', value) === undefined).toBe(isTimestamp);
  });

  it('checks a long value in linear time', () => {
    for (const part of [' ', '\t', '0', '2027-07-03 ', '2027-07-03T1', '16:00 ']) {
      const startedAt = performance.now();
      findRejection('check_in', `${part.repeat(200_000 / part.length)}\n`);
      expect(performance.now() - startedAt).toBeLessThan(2_000);
    }
  });
});

describe('explainWrongDate', () => {
  it.each([
    ['2027-06-31', '2027-06-31 is not a day of the calendar. It '],
    [' 20270631T150000Z', '20270631 is not a day of the calendar. It '],
    ['20270631150000', '20270631 is not a day of the calendar. It '],
    [{ dateTime: '', date: '2027-02-29T10:00' }, '2027-02-29 is not a day of the calendar. It '],
    [[2027, 7, 3], 'is a list. Write the date as text. It '],
    ['2027-06-30', ''],
    ['9999999999', ''],
    ['soon', ''],
    [20270631, ''],
    [{}, ''],
  ])('explains %j with the message "%s"', (value, message) => {
    expect(explainWrongDate(value)).toBe(message);
  });
});

describe('isInOrder', () => {
  /** 2027-07-03T15:00:00Z as Unix time in seconds. */
  const SECONDS = 1_814_626_800;

  it.each<[check_in: unknown, check_out: unknown, isInOrder: boolean]>([
    ['2027-07-03', '2027-07-03', true],
    ['2027-07-03', '2027-07-02', false],
    ['20270703', ' 2027-07-02', false],
    ['2027-07-03 ', '20270702\t', false],
    ['2027-07-03', '2027-07-02 23:00', true],
    ['2027-07-03Z', '2027-07-02', true],
    ['2027-07-03+02:00', '2027-07-01', false],
    ['20270703150000', '20270702', true],
    ['20270703150000', '20270701', false],
    [SECONDS, '2027-07-02', true],
    [SECONDS, '2027-07-01', false],
    [SECONDS + 0.5, '2027-07-01', false],
    [SECONDS * 1_000, '2027-07-01', false],
    [`${SECONDS}`, '2027-07-01', false],
    [` ${SECONDS}000 `, { date: '2027-07-01' }, false],
    ['2027-07-03', SECONDS - 2 * 86_400, false],
    ['2027-07-03', SECONDS - 86_400, true],
    // A number of 11 or 12 digits is ambiguous, because it could be seconds or milliseconds.
    ['2027-07-03', '18146160000', true],
    ['2027-07-03', '181461600000', true],
    ['18146160000', '2027-07-03', true],
    [18_146_160_000, '2027-07-03', true],
    ['2027-07-03', 10_000_000_000, true],
    ['2027-07-03', 999_999_999_999.5, true],
    ['2027-07-03', 1_000_000_000_000, false],
    [{ dateTime: '2027-07-03T15:00:00', timeZone: 'UTC' }, { dateTime: '2027-07-01' }, false],
    [{ dateTime: '2027-07-03T15:00:00' }, { dateTime: '2027-07-02' }, true],
    [{ dateTime: null, date: '2027-07-03' }, { $date: '2027-07-02' }, false],
    [{ date: '2027-07-03', $date: '2027-07-09' }, { $date: SECONDS }, true],
    ['16:00', '2027-07-01', true],
    ['2027-07-03', '11:00', true],
    ['2027-07-03', null, true],
    ['2027-07-03', 5, true],
    ['2027-07-03', '2027-07-01x', true],
    ['2027-07-03', ['2027-07-01'], true],
    ['2027-07-03', { dateTime: { date: '2027-07-01' } }, true],
    ['2027-07-03', { dateTime: { toString: 1, valueOf: 1 } }, true],
    ['2027-07-03', { toString: 1, date: '2027-07-01' }, false],
  ])('compares check_in %j with check_out %j (in order: %j)', (check_in, check_out, expected) => {
    expect(isInOrder({ check_in, check_out })).toBe(expected);
  });
});
