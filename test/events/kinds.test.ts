/**
 * The kinds of values in a payload, by random values: the forms below are the grammar that
 * docs/reference/events.md promises. The service and the OpenAPI document are asked the same.
 */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseIngestRequest } from '../../src/events/request.ts';
import { document, problemsOf } from '../support/documented.ts';

const matching = fc.stringMatching;

const date = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2100-12-31'), noInvalidDate: true })
  .map((time) => time.toISOString().slice(0, 10));
const timeOfDay = matching(/^(\d|[01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?$/);
const zone = matching(/^( ?(Z|UTC|[+-]([01]\d|2[0-3])(:?[0-5]\d)?))?$/);
const timestamp = fc
  .tuple(date, fc.constantFrom('T', ' '), timeOfDay, zone)
  .map((parts) => parts.join(''));
const from0 = fc.double({ min: 0, max: 1e15, noNaN: true });
const instant = fc.oneof(date, timestamp, from0, matching(/^\d{10,13}$/));
const dateTime = instant.map((value) => ({ date: value, timezone_type: 3 }));
const whole = fc.nat(Number.MAX_SAFE_INTEGER);
const object = fc.dictionary(matching(/^[a-c]{1,9}$/), fc.nat());
const list = fc.array(fc.oneof(object, fc.nat(), fc.string()));

const negative = fc.double({ min: -1e9, max: -0.001, noNaN: true });
const fraction = fc.nat(1_000).map((value) => value + 0.5);
const word = matching(/^[a-z]{4,9}$/);
const noDay = fc.oneof(
  matching(/^20\d\d-(1[3-9]|[2-9]\d|00)-[0-3]\d$/),
  matching(/^20\d\d-(02-3\d|(04|06|09|11)-31|\d\d-(00|3[2-9]|[4-9]\d))$/),
  fc.tuple(timestamp, word).map((parts) => parts.join(' ')),
);
const noTime = matching(/^(2[4-9]|[3-9]\d):[0-5]\d$|^[01]\d:[6-9]\d$/);
const longerThan = (length: number) =>
  fc.string({ minLength: length + 1, maxLength: length + 99, unit: 'grapheme-ascii' });

type Kind = { field: string; taken: fc.Arbitrary<unknown>; rejected: fc.Arbitrary<unknown> };
const KINDS: Record<string, Kind> = {
  moment: {
    field: 'occurred_at',
    taken: fc.oneof(instant, dateTime),
    rejected: fc.oneof(noDay, timeOfDay, noTime, negative, word, fc.boolean(), list, object),
  },
  day: {
    field: 'check_in',
    taken: fc.oneof(date, timestamp, timeOfDay, dateTime),
    rejected: fc.oneof(noDay, noTime, negative, from0, word, fc.boolean(), list, object),
  },
  count: {
    field: 'guests',
    taken: fc.oneof(whole, matching(/^\d{1,20}$/), list, object),
    rejected: fc.oneof(negative, fraction, fraction.map(String), word, fc.boolean()),
  },
  amount: {
    field: 'total_amount',
    taken: fc.oneof(from0, matching(/^\d{1,12}(\.\d{1,4})?$/), object),
    rejected: fc.oneof(negative, matching(/^(-\d|\d\.\d{3},)\d\d$/), word, fc.boolean(), list),
  },
  currency: {
    field: 'currency',
    taken: matching(/^([eE][uU][rR]|[uU][sS][dD])$/),
    rejected: fc.oneof(word, fc.nat(), fc.boolean(), list, object),
  },
  reference: {
    field: 'property_id',
    taken: fc.oneof(whole, fc.string({ maxLength: 255 })),
    rejected: fc.oneof(negative, fraction, longerThan(255), fc.boolean(), list, object),
  },
  email: {
    field: 'guest_email',
    taken: matching(/^ {0,2}[\w.+-]{1,9}@[a-z0-9]{1,9}\.[a-z]{2,5} {0,2}$/),
    rejected: fc.oneof(word, fc.nat(), fc.boolean(), list, object),
  },
  words: {
    field: 'reason',
    taken: fc.oneof(fc.string({ maxLength: 2_000 }), negative, from0, fc.boolean(), list, object),
    rejected: longerThan(2_000),
  },
};

const schema = document.components.schemas.IngestRequest ?? {};

/** Asks both for their problems. A payload with a reason is of a cancellation. */
function judge(payload: object) {
  const event_type = 'reason' in payload ? 'booking.cancelled' : 'booking.updated';
  const body = { event_type, aggregate_id: 'bk_1', aggregate_type: 'booking', payload };
  const json = JSON.parse(JSON.stringify(body));
  const parsed = parseIngestRequest(json);
  return { json, parsed, documented: problemsOf(schema, json) };
}

it('payloads whose values are random forms of their kinds are taken, and kept as they are', () => {
  const takenOrNone = Object.values(KINDS).map(({ field, taken }) => [
    field,
    fc.oneof({ weight: 9, arbitrary: taken }, fc.constantFrom(null, '')),
  ]);
  const payloads = fc.record(Object.fromEntries(takenOrNone), { requiredKeys: [] });
  const isTaken = (payload: object) => {
    const { json, parsed, documented } = judge(payload);
    expect([parsed, documented]).toEqual([{ ok: true, value: json }, []]);
  };
  fc.assert(fc.property(payloads, isTaken), { numRuns: 2_000 });
});

it.each(Object.entries(KINDS))(
  'a value outside the kind %s is rejected',
  (_, { field, rejected }) => {
    const isRejected = (value: unknown) => {
      const { parsed, documented } = judge({ [field]: value });
      expect(parsed).toMatchObject({ ok: false, problems: [{ path: `payload.${field}` }] });
      expect(documented).not.toEqual([]);
    };
    fc.assert(fc.property(rejected, isRejected), { numRuns: 200 });
  },
);
