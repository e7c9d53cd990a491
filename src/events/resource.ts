/** The event resource, as the ingest endpoint and the list of events return it. */

import * as z from 'zod';
import { keyName } from '../auth/api-key.ts';
import { lowerCaseUuid } from '../http/uuid.ts';
import { name } from './catalogue.ts';

const timestamp = z.iso.datetime({ precision: 3 }).max(24);

/** The event as the ingest endpoint returns it. */
export const event = z.strictObject({
  object: z.literal('event'),
  id: lowerCaseUuid,
  type: name,
  status: z.enum(['pending', 'idempotent']),
  created_at: timestamp,
});

export type EventResource = z.infer<typeof event>;

/** The fields that stored events of all kinds have. */
export const storedEvent = event.extend({
  status: z.literal('pending'),
  aggregate_id: name,
  aggregate_type: name,
  received_from: keyName.nullable(),
  erased_at: timestamp.nullable(),
  payload: z.looseObject({}),
});

/** Builds the first response for an event. `created_at` is in milliseconds since the epoch. */
export function pendingEvent(row: { id: string; type: string; created_at: number }): EventResource {
  const created_at = new Date(row.created_at).toISOString();
  return { object: 'event', id: row.id, type: row.type, status: 'pending', created_at };
}

/** Turns the first response for an event into the one that a replay gets. */
export function idempotentEvent(first: EventResource): EventResource {
  return { ...first, status: 'idempotent' };
}
