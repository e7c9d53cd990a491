/** Schemas of events as the service returns them. The Worker imports only their types. */

import * as z from 'zod';
import { keyFields } from '../../auth/named-keys.ts';
import { MAX_PROBLEMS } from '../../http/errors.ts';
import { problem } from '../../openapi/error-resource.ts';
import { cursorText, makeListResource } from '../../openapi/list-resource.ts';
import { withMetadata } from '../../schema/metadata.ts';
import { lowerCaseUuid } from '../../schema/uuid.ts';
import { name } from '../event-types.ts';
import { aggregateFields } from '../request.ts';

const timestamp = z.iso.datetime({ precision: 3 }).max(24);

/** The event as the ingest endpoints return it. */
export const event = z
  .strictObject({
    object: z.literal('event'),
    id: lowerCaseUuid.meta({ description: 'Identifies the event.' }),
    type: name.meta({ description: 'Type of the event.', examples: ['booking.created'] }),
    status: z.enum(['pending', 'idempotent']).meta({
      id: 'EventStatus',
      description:
        '`pending`: accepted now. `idempotent`: accepted before, by an identical request.',
    }),
    created_at: timestamp.meta({
      description: 'When the event was accepted.',
      examples: ['2027-01-15T09:30:00.000Z'],
    }),
  })
  .meta({ id: 'AcceptedEvent', description: 'An accepted domain event.' });

export type EventResource = z.infer<typeof event>;

/** A stored event as the list returns it. The schema of each event type extends this schema. */
export const storedEvent = z.strictObject({
  ...event.shape,
  status: withMetadata(z.literal('pending'), 'Always `pending`: the service never changes it.'),
  ...aggregateFields,
  received_from: keyFields()
    .name.nullable()
    .meta({
      description:
        'Name of the API key that posted the event; null for an unnamed key, which has every scope.',
      examples: ['booking-system'],
    }),
  erased_at: withMetadata(
    timestamp.nullable(),
    'When the payload was erased, which made it `{}`; null if it was not.',
  ),
  payload: z.looseObject({}),
});

export function makeEventList<Item extends z.ZodType>(item: Item) {
  return makeListResource(item).extend({
    has_more: withMetadata(
      z.boolean(),
      'Whether more events may follow. If so, continue with `next_cursor`, even if this page is short or empty.',
    ),
    resume_cursor: cursorText.nullable().meta({
      description:
        'Opaque: send it as `cursor`, with `order=asc` and the same filters, to get the events after this response, now or at any later time. Null on later pages of the default order, which lead to earlier events.',
    }),
  });
}

const conflict = z
  .strictObject({
    code: withMetadata(
      z.literal('idempotency_key_in_use'),
      'The error, for programs to branch on.',
    ),
    message: withMetadata(
      z.string().min(1).max(500),
      'The problem, for people to read.',
      'This Idempotency-Key was used for another body.',
    ),
    details: withMetadata(
      z.array(problem).min(1).max(MAX_PROBLEMS).optional(),
      'Up to 50 paths at which the body differs from the body that holds the key.',
    ),
  })
  .nullable()
  .meta({
    id: 'IngestConflict',
    description: 'The conflict with another body that holds the key; null if there is no conflict.',
  });

export const ingestResult = z
  .strictObject({
    object: z.literal('ingest_result'),
    idempotency_key: name.meta({
      description: 'The key of the event, as it was sent.',
      examples: ['bk_1001-created'],
    }),
    outcome: z.enum(['accepted', 'replayed', 'conflict']).meta({
      id: 'IngestOutcome',
      description:
        '`accepted`: this request stored the event. `replayed`: an earlier request stored it. `conflict`: another body holds the key, and the event is not stored.',
    }),
    event: z
      .strictObject(event.shape)
      .nullable()
      .meta({ id: 'IngestedEvent', description: 'The event; null for a conflict.' }),
    error: conflict,
  })
  .meta({ id: 'IngestResult', description: 'The outcome of one event of a batch.' });

export type IngestResult = z.infer<typeof ingestResult>;
