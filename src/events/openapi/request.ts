/** The schemas of requests that send events, with a member for each kind, so that generated clients know the payload. */

import * as z from 'zod';
import { MAX_BATCH_EVENTS } from '../batch.ts';
import { CATALOGUE } from '../catalogue.ts';
import { eventType, idempotencyKey, requestOf } from '../request.ts';
import { nameOfKind, unionByKind } from './kinds.ts';

for (const type of eventType.options) {
  CATALOGUE[type].register(z.globalRegistry, {
    id: `${nameOfKind(type)}Payload`,
    description:
      'The data of the event. Every field is optional. Unknown fields are stored as sent.',
  });
}

/** A request of any kind: the union has a member for each entry of the catalogue. */
export const ingestRequest = unionByKind(
  'event_type',
  eventType.options.map((type) =>
    requestOf(type).register(z.globalRegistry, {
      id: `${nameOfKind(type)}Request`,
      description: `An event of the kind \`${type}\`.`,
    }),
  ),
).register(z.globalRegistry, { id: 'IngestRequest', description: 'A domain event.' });

const key = idempotencyKey.meta({
  description:
    'Your own key for this event: the `Idempotency-Key` that the event would have in a request of its own.',
  examples: ['bk_1001-created'],
});

/** An item of a batch: a request of its kind, with its key. */
const batchItem = unionByKind(
  'event_type',
  eventType.options.map((type) =>
    requestOf(type)
      .extend({ idempotency_key: key })
      .register(z.globalRegistry, {
        id: `${nameOfKind(type)}Item`,
        description: `An event of the kind \`${type}\`, with its key.`,
      }),
  ),
).register(z.globalRegistry, { id: 'BatchItem', description: 'An event with its key.' });

/** The body of a batch. */
export const ingestBatchRequest = z
  .strictObject({
    events: z
      .array(batchItem)
      .min(1)
      .max(MAX_BATCH_EVENTS)
      .meta({ description: 'The events, each with a different key.' }),
  })
  .meta({
    id: 'IngestBatch',
    description: 'Events in the order in which they are to be stored.',
  });
