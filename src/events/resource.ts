/** The event resource (specification: Event resource). */

import * as z from 'zod';
import { lowerCaseUuid } from '../http/uuid.ts';
import { name } from './text.ts';

const fields = {
  object: z.literal('event'),
  id: lowerCaseUuid.meta({ description: 'Identifies the event.' }),
  type: name.meta({ description: 'Kind of the event.', examples: ['booking.created'] }),
  status: z.enum(['pending', 'idempotent']).meta({
    description: '`pending` when accepted; `idempotent` when an identical retry is answered.',
  }),
  created_at: z.iso
    .datetime({ precision: 3 })
    .max(24)
    .meta({
      description: 'When the event was accepted.',
      examples: ['2027-01-15T09:30:00.000Z'],
    }),
};

/** As the ingest endpoint answers. */
export const event = z
  .strictObject(fields)
  .meta({ id: 'Event', description: 'An accepted domain event.' });

/** As it is read back: with what it concerns. */
export const storedEvent = z
  .strictObject({
    ...fields,
    status: z.literal('pending'),
    aggregate_id: name.meta({ description: 'Identifier of the entity it concerns.' }),
    aggregate_type: name.meta({ description: 'Kind of that entity.' }),
    payload: z.looseObject({}).meta({ description: 'The event data, unknown fields included.' }),
  })
  .meta({ id: 'StoredEvent', description: 'A domain event with its data.' });

export type EventResource = z.infer<typeof event>;
export type StoredEventResource = z.infer<typeof storedEvent>;
