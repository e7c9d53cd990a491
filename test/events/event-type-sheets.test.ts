import { expect, it } from 'vitest';
import { describeEventTypes } from '../../src/events/openapi/event-type-sheets.ts';
import { expectEvent, ingest } from '../support/events.ts';

it('each event type has a sheet with its fields, and a sample that is accepted', async () => {
  const sheets = describeEventTypes();
  expect(sheets.map(({ type }) => type)).toEqual([
    'booking.created',
    'booking.updated',
    'booking.cancelled',
  ]);
  expect(sheets[0]?.fields.find(({ name }) => name === 'currency')).toEqual({
    name: 'currency',
    description:
      'The currency of the amount. As the sender wrote it: a code of ISO 4217 such as EUR, in capitals or not.',
  });
  for (const { type, fields, sample } of sheets) {
    expect(Object.keys(sample.payload ?? {})).toEqual(fields.map(({ name }) => name));
    expect((await expectEvent(await ingest(sample), 202)).type).toBe(type);
  }
});
