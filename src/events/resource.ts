/** The event resource, as the ingest endpoint and the list of events return it. */

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

/** The event as the ingest endpoint returns it. */
export const event = z
  .strictObject(fields)
  .meta({ id: 'AcceptedEvent', description: 'An accepted domain event.' });

/** What the stored events of all kinds have; see stored-kinds.ts. */
export const storedEvent = z.strictObject({
  ...fields,
  status: z.literal('pending'),
  aggregate_id: name.meta({
    description: 'Identifier of the entity it concerns.',
    examples: ['bk_1001'],
  }),
  aggregate_type: name.meta({ description: 'Kind of that entity.', examples: ['booking'] }),
  payload: z.looseObject({}).meta({ description: 'The event data, unknown fields included.' }),
});

export type EventResource = z.infer<typeof event>;

/** Builds the first response for an event. `created_at` is in milliseconds since the epoch. */
export function pendingEvent(event: {
  id: string;
  type: string;
  created_at: number;
}): EventResource {
  const created_at = new Date(event.created_at).toISOString();
  return { object: 'event', id: event.id, type: event.type, status: 'pending', created_at };
}

/** Turns the first response for an event into the one that a replay gets. */
export function idempotentEvent(first: EventResource): EventResource {
  return { ...first, status: 'idempotent' };
}
