/**
 * The kinds of values in a payload, by random values: the forms below are the grammar of
 * docs/reference/events.md. The service and the OpenAPI document judge each value.
 */

import fc, { stringMatching as matching, oneof } from 'fast-check';
import { expect, it } from 'vitest';
import { parseIngestRequest } from '../../src/events/request.ts';
import { document, findProblems } from '../support/documented.ts';

const date = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2100-12-31'), noInvalidDate: true })
  .map((time) => time.toISOString().slice(0, 10));
const time = matching(/^(\d|[01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?$/);
const zone = matching(/^( ?(Z|UTC|[+-]([01]\d|2[0-3])(:?[0-5]\d)?))?$/);
const timestamp = fc
  .tuple(date, fc.constantFrom('T', ' '), time, zone)
  .map((parts) => parts.join(''));
const from0 = fc.double({ min: 0, max: 1e15, noNaN: true });
const moment = oneof(date, timestamp, from0, matching(/^\d{10,13}$/));
const dateTime = moment.map((value) => ({ date: value, timezone_type: 3 }));
const whole = fc.maxSafeNat();
const object = fc.dictionary(matching(/^[a-c]{1,9}$/), fc.nat());
const list = fc.array(object);

const notOfCalendar =
  /^20\d\d-((1[3-9]|[2-9]\d|00)-[0-3]\d|02-3\d|(04|06|09|11)-31|\d\d-(00|3[2-9]|[4-9]\d))$/;
const noDay = oneof(
  matching(notOfCalendar),
  timestamp.map((text) => `${text} CET`),
);
const noTime = matching(/^(2[4-9]|[3-9]\d):[0-5]\d$|^[01]\d:[6-9]\d$/);
const negative = fc.double({ min: -1e9, max: -0.001, noNaN: true });
const fraction = fc.nat(1_000).map((value) => value + 0.5);
const letters = matching(/^[a-z]{4,9}$/);
const boolean = fc.boolean();
const textOver = (length: number) => fc.string({ minLength: length + 1, maxLength: length + 99 });

const KINDS: [field: string, taken: fc.Arbitrary<unknown>, rejected: fc.Arbitrary<unknown>][] = [
  ['occurred_at', oneof(moment, dateTime), oneof(noDay, time, negative, letters, boolean, list)],
  [
    'check_in',
    oneof(date, timestamp, time, dateTime),
    oneof(noDay, noTime, negative, from0, letters, boolean, list, object),
  ],
  [
    'guests',
    oneof(whole, matching(/^\d{1,20}$/), list, object),
    oneof(negative, fraction, fraction.map(String), letters, boolean),
  ],
  [
    'total_amount',
    oneof(from0, matching(/^\d{1,12}(\.\d{1,4})?$/), object),
    oneof(negative, matching(/^(-\d|\d\.\d{3},)\d\d$/), letters, boolean, list),
  ],
  ['currency', matching(/^([eE][uU][rR]|[uU][sS][dD])$/), oneof(letters, whole, boolean, object)],
  [
    'property_id',
    oneof(whole, fc.string({ maxLength: 255 })),
    oneof(negative, fraction, textOver(255), boolean, list, object),
  ],
  [
    'guest_email',
    matching(/^ {0,2}[\w.+-]{1,9}@[a-z0-9]{1,9}\.[a-z]{2,5} {0,2}$/),
    oneof(letters, whole, boolean, object),
  ],
  ['reason', oneof(fc.string(), negative, from0, boolean, list, object), textOver(2_000)],
];

/** A payload with a reason is of a cancellation. */
function judge(payload: object) {
  const event_type = 'reason' in payload ? 'booking.cancelled' : 'booking.updated';
  const body = { event_type, aggregate_id: 'bk_1', aggregate_type: 'booking', payload };
  const json = JSON.parse(JSON.stringify(body));
  const documented = findProblems(document.components.schemas.IngestRequest ?? {}, json);
  return { json, parsed: parseIngestRequest(json), documented };
}

it('a payload is taken, and kept as it is, if each value is a form of its kind, null or empty', () => {
  const noValue = fc.constantFrom(null, '');
  const fields = KINDS.map(([field, taken]) => [field, oneof(taken, taken, taken, noValue)]);
  const payloads = fc.record(Object.fromEntries(fields), { requiredKeys: [] });
  const isTaken = (payload: object) => {
    const { json, parsed, documented } = judge(payload);
    expect([parsed, documented]).toEqual([{ ok: true, value: json }, []]);
  };
  fc.assert(fc.property(payloads, isTaken), { numRuns: 2_000 });
});

it.each(KINDS)('a %s of another form is rejected', (field, _, rejected) => {
  const isRejected = (value: unknown) => {
    const { parsed, documented } = judge({ [field]: value });
    expect(parsed).toMatchObject({ ok: false, problems: [{ path: `payload.${field}` }] });
    expect(documented).not.toEqual([]);
  };
  fc.assert(fc.property(rejected, isRejected), { numRuns: 200 });
});
