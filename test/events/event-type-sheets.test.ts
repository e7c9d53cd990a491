import { expect, it } from 'vitest';
import { describeEventTypes } from '../../src/events/openapi/event-type-sheets.ts';
import { expectEvent, ingest } from '../support/events.ts';

it('each event type has a sheet with its fields, and a sample that is accepted', async () => {
  const sheets = describeEventTypes();
  expect(sheets.map(({ type }) => type)).toEqual(['booking.created', 'booking.cancelled']);
  expect(sheets[1]?.fields.map(({ name, form }) => [name, form])).toEqual([
    ['occurred_at', 'string'],
    ['reason', 'string, up to 2000 characters'],
    ['cancelled_at', 'string'],
    ['refund_amount', 'number, from 0'],
    ['currency', 'string, up to 3 characters'],
  ]);
  expect(sheets[0]?.fields.find(({ name }) => name === 'check_in')).toEqual({
    name: 'check_in',
    form: 'string, date',
    description: 'The first day of the stay.',
  });
  for (const { type, fields, sample } of sheets) {
    expect(Object.keys(sample.payload ?? {})).toEqual(fields.map(({ name }) => name));
    expect((await expectEvent(await ingest(sample), 202)).type).toBe(type);
  }
});
