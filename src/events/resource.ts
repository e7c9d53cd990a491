/** The event resource, as the ingest endpoint returns it. */

import * as z from 'zod';
import { described } from '../http/described.ts';
import { lowerCaseUuid } from '../http/uuid.ts';
import { name } from './catalogue.ts';

export const timestamp = z.iso.datetime({ precision: 3 }).max(24);

/** The event as the ingest endpoint returns it. */
export const event = z
  .strictObject({
    object: z.literal('event'),
    id: lowerCaseUuid.meta({ description: 'Identifies the event.' }),
    type: name.meta({ description: 'Kind of the event.', examples: ['booking.created'] }),
    status: described(
      z.enum(['pending', 'idempotent']),
      '`pending` when accepted; `idempotent` when an identical retry is answered.',
    ),
    created_at: timestamp.meta({
      description: 'When the event was accepted.',
      examples: ['2027-01-15T09:30:00.000Z'],
    }),
  })
  .register(z.globalRegistry, { id: 'AcceptedEvent', description: 'An accepted domain event.' });

export type EventResource = z.infer<typeof event>;

/** Builds the first response for an event. `created_at` is in milliseconds since the epoch. */
export function pendingEvent(row: { id: string; type: string; created_at: number }): EventResource {
  const created_at = new Date(row.created_at).toISOString();
  return { object: 'event', id: row.id, type: row.type, status: 'pending', created_at };
}

/** Turns the first response for an event into the one that a replay gets. */
export function idempotentEvent(first: EventResource): EventResource {
  return { ...first, status: 'idempotent' };
}
