/**
 * The field types of payloads, tested with random values. The generators follow the grammar in
 * docs/reference/events.md. Both the service and the OpenAPI document check each value.
 */

import fc, { stringMatching as matching, oneof } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIngestRequest } from '../../src/events/request.ts';
import { document, findProblems } from '../support/documented.ts';

const join = (...parts: fc.Arbitrary<string>[]) =>
  fc.tuple(...parts).map((texts) => texts.join(''));
const padded = (value: fc.Arbitrary<string>) =>
  join(matching(/^[ \t]{0,2}$/), value, matching(/^[ \t]{0,2}$/));

const isoDate = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2100-12-31'), noInvalidDate: true })
  .map((time) => time.toISOString().slice(0, 10));
const date = oneof(
  isoDate,
  isoDate.map((text) => text.replaceAll('-', '')),
);
const time = join(fc.constantFrom('T', 't', ' ', ', '), matching(/^\d[!-~]{0,58}$/));
const zone = matching(/^([+-]\d[!-~]{0,58}|[Zz[][!-~]{0,59}|\d{6})$/);
const dated = join(date, oneof(fc.constant(''), time, zone));
const timeOfDay = join(
  matching(/^(\d|[01]\d|2[0-3]):[0-5]\d$/),
  matching(/^([ :a-z][!-~]{0,40})?$/),
);
const from0 = fc.double({ min: 0, max: 1e15, noNaN: true });
const unixTime = oneof(
  fc.double({ min: 1e9, max: 9_999_999_999_999, noNaN: true }),
  padded(matching(/^\d{10,13}$/)),
);
const dateInObject = oneof(padded(dated), unixTime);
const blank = fc.constantFrom(null, '', ' \t');
const anything = fc.constantFrom('soon', true, 1, [], {});
const datedObject = oneof(
  fc.record(
    { dateTime: dateInObject, date: anything, $date: anything },
    { requiredKeys: ['dateTime'] },
  ),
  fc.record({ dateTime: blank, date: dateInObject, $date: anything }, { requiredKeys: ['date'] }),
  fc.record({ dateTime: blank, date: blank, $date: dateInObject }, { requiredKeys: ['$date'] }),
);
const wholeNumber = fc.maxSafeNat();
const object = fc.dictionary(matching(/^[a-c]{1,9}$/), fc.nat());
const list = fc.array(object);

const wrongDate = join(
  matching(
    /^20\d\d-((1[3-9]|[2-9]\d|00)-[0-3]\d|02-3\d|(04|06|09|11)-31|\d\d-(00|3[2-9]|[4-9]\d))$/,
  ),
  oneof(fc.constant(''), time, zone),
);
// The last character after `Z` is not blank, because blanks at the end of a value do not count.
const wrongTail = join(date, matching(/^([a-y]|[Tt,+-]|T[^0-9]|Z[^\0]{59}[^\0 \t]|T1.{59}\n)$/));
const notDated = oneof(
  wrongDate,
  wrongTail,
  fc.record({ dateTime: oneof(wrongDate, wrongTail), date: dateInObject }),
  fc.record({
    dateTime: blank,
    date: oneof(wrongDate, blank, fc.double({ max: 1e9, maxExcluded: true })),
  }),
  fc.record({ day: dateInObject }),
);
const wrongTime = matching(/^(2[4-9]|[3-9]\d):[0-5]\d$|^[01]\d:[6-9]\d$/);
const negative = fc.double({ min: -1e9, max: -0.001, noNaN: true });
const fraction = fc.nat(1_000).map((value) => value + 0.5);
const letters = matching(/^[a-y]{4,9}$/);
const boolean = fc.boolean();
const textOver = (length: number) => fc.string({ minLength: length + 1, maxLength: length + 99 });

type Case = [field: string, accepted: fc.Arbitrary<unknown>, rejected: fc.Arbitrary<unknown>];

const FIELDS: Case[] = [
  [
    'occurred_at',
    oneof(padded(dated), unixTime, from0, datedObject),
    oneof(notDated, timeOfDay, negative, letters, boolean, list),
  ],
  [
    'check_in',
    oneof(padded(dated), unixTime, padded(timeOfDay), datedObject),
    oneof(notDated, wrongTime, negative, fc.nat(999_999_999), letters, boolean, list, object),
  ],
  [
    'guests',
    oneof(wholeNumber, padded(matching(/^\d{1,20}$/)), list, object),
    oneof(negative, fraction, fraction.map(String), letters, boolean),
  ],
  [
    'total_amount',
    oneof(from0, padded(matching(/^\d{1,12}(\.\d{1,4})?$/)), object),
    oneof(negative, matching(/^(-\d|\d\.\d{3},)\d\d$/), letters, boolean, list),
  ],
  [
    'currency',
    oneof(padded(matching(/^([eE][uU][rR]|[uU][sS][dD])$/)), object),
    oneof(letters, wholeNumber, boolean, list),
  ],
  [
    'property_id',
    oneof(wholeNumber, fc.string({ maxLength: 255 })),
    oneof(negative, fraction, textOver(255), boolean, list, object),
  ],
  [
    'guest_email',
    padded(matching(/^[\w.+-]{1,9}@[a-z0-9]{1,9}\.[a-z]{2,5}$/)),
    oneof(letters, wholeNumber, boolean, object),
  ],
  ['reason', oneof(fc.string(), negative, from0, boolean, list, object), textOver(2_000)],
];

/** Validates a payload with the service and with the OpenAPI document. Only a cancellation has a `reason`. */
function check(payload: object) {
  const event_type = 'reason' in payload ? 'booking.cancelled' : 'booking.updated';
  const body = { event_type, aggregate_id: 'bk_1', aggregate_type: 'booking', payload };
  const json = JSON.parse(JSON.stringify(body));
  const documented = findProblems(document.components.schemas.IngestRequest ?? {}, json);
  return { json, parsed: parseIngestRequest(json), documented };
}

function payloads(values: (field: Case) => fc.Arbitrary<unknown>) {
  const fields = FIELDS.map((field) => [field[0], values(field)]);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
}

describe('a payload', () => {
  it('is accepted unchanged if every value is blank or valid for its field type', () => {
    const isAccepted = (payload: object) => {
      const { json, parsed, documented } = check(payload);
      expect([parsed, documented]).toEqual([{ ok: true, value: json }, []]);
    };
    const accepted = payloads(([, values]) => oneof(values, values, values, blank));
    fc.assert(fc.property(accepted, isAccepted), { numRuns: 500 });
  });

  it('is rejected only by the service for an unknown currency or dates in the wrong order', () => {
    const day = oneof(dateInObject, datedObject);
    const mixed = payloads(([field, accepted, rejected]) => {
      if (field === 'currency') return oneof(accepted, matching(/^[A-Z]{3}$/));
      return fc.oneof({ weight: 9, arbitrary: accepted }, { weight: 1, arbitrary: rejected });
    });
    const compare = (payload: object, check_in: unknown, check_out: unknown) => {
      const { parsed, documented } = check({ ...payload, check_in, check_out });
      if (parsed.ok) expect(documented).toEqual([]);
      else if (documented.length === 0) {
        for (const { path } of parsed.problems) {
          expect(path).toMatch(/^payload\.(currency|check_out)$/);
        }
      }
    };
    fc.assert(fc.property(mixed, day, day, compare), { numRuns: 2_000 });
  });

  it.each(FIELDS)(
    'is rejected if the value of %s does not match its field type',
    (field, _, rejected) => {
      const isRejected = (value: unknown) => {
        const { parsed, documented } = check({ [field]: value });
        expect(parsed).toMatchObject({ ok: false, problems: [{ path: `payload.${field}` }] });
        expect(documented).not.toEqual([]);
      };
      fc.assert(fc.property(rejected, isRejected), { numRuns: 200 });
    },
  );
});
