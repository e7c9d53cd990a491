/** The event resource, as the ingest endpoint and the list of events return it. */

import * as z from 'zod';
import { keyName } from '../auth/named-keys.ts';
import { lowerCaseUuid } from '../http/uuid.ts';
import { name } from './text.ts';

const timestamp = z.iso.datetime({ precision: 3 }).max(24);

const fields = {
  object: z.literal('event'),
  id: lowerCaseUuid.meta({ description: 'Identifies the event.' }),
  type: name.meta({ description: 'Kind of the event.', examples: ['booking.created'] }),
  status: z.enum(['pending', 'idempotent']).meta({
    description: '`pending` when accepted; `idempotent` when an identical retry is answered.',
  }),
  created_at: timestamp.meta({
    description: 'When the event was accepted.',
    examples: ['2027-01-15T09:30:00.000Z'],
  }),
};

/** The event as the ingest endpoint returns it. */
export const event = z
  .strictObject(fields)
  .meta({ id: 'AcceptedEvent', description: 'An accepted domain event.' });

/** The fields that stored events of all kinds have; see stored-kinds.ts. */
export const storedEvent = z.strictObject({
  ...fields,
  status: z.literal('pending'),
  aggregate_id: name.meta({
    description: 'Identifier of the entity it concerns.',
    examples: ['bk_1001'],
  }),
  aggregate_type: name.meta({ description: 'Kind of that entity.', examples: ['booking'] }),
  received_from: keyName.nullable().meta({
    description:
      'Name of the API key that posted the event; null for the key that opens everything.',
    examples: ['booking-system'],
  }),
  erased_at: timestamp.nullable().meta({
    description: 'When the payload was erased, and became `{}`; null while it is as it was sent.',
  }),
  payload: z.looseObject({}).meta({ description: 'The event data, unknown fields included.' }),
});

export type EventResource = z.infer<typeof event>;

/** Builds the first response for an event. `created_at` is in milliseconds since the epoch. */
export function pendingEvent(row: { id: string; type: string; created_at: number }): EventResource {
  const created_at = new Date(row.created_at).toISOString();
  return { object: 'event', id: row.id, type: row.type, status: 'pending', created_at };
}

/** The fields of a stored event beside the first response and its payload. Times are milliseconds since the epoch. */
export type StoredFields = {
  aggregate_id: string;
  aggregate_type: string;
  received_from: string | null;
  erased_at: number | null;
};

/** Builds these fields as the stored event shows them. */
export function storedFields({
  aggregate_id,
  aggregate_type,
  received_from,
  erased_at,
}: StoredFields) {
  return {
    aggregate_id,
    aggregate_type,
    received_from,
    erased_at: erased_at === null ? null : new Date(erased_at).toISOString(),
  };
}

/** Turns the first response for an event into the one that a replay gets. */
export function idempotentEvent(first: EventResource): EventResource {
  return { ...first, status: 'idempotent' };
}
