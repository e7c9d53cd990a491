import { expect, it } from 'vitest';
import { describeEventTypes } from '../../src/events/openapi/event-type-samples.ts';
import { expectEvent, ingest } from '../support/events.ts';

it('returns a valid sample with every field for each event type', async () => {
  for (const { type, fields, sample } of describeEventTypes()) {
    expect(Object.keys(sample.payload ?? {})).toEqual(fields.map(({ name }) => name));
    expect((await expectEvent(await ingest(sample), 202)).type).toBe(type);
  }
});
