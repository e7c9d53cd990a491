/**
 * Schemas of events. Each is a union with a member for each event type, so that generated clients have
 * a type for each payload. All payloads have the same title, because some generators merge the members
 * of a union and name the class after the title.
 */

import * as z from 'zod';
import { withMetadata } from '../../schema/metadata.ts';
import { MAX_BATCH_EVENTS } from '../batch.ts';
import { name as anyName } from '../event-types.ts';
import { eventType, makeRequestSchema } from '../request.ts';
import { storedEvent } from './event.ts';

const types = eventType.options.map((type) => {
  const request = makeRequestSchema(type);
  request.shape.payload.register(z.globalRegistry, {
    id: `${pascalCase(type)}Payload`,
    title: 'EventPayload',
    description:
      'The data of the event. Every field is optional. Unknown fields are stored as sent.',
  });
  return { type, name: pascalCase(type), request };
});

/** Schema of the body of a single event. */
export const ingestRequest = unionByType(
  'event_type',
  types.map(({ type, name, request }) =>
    request.meta({
      id: `${name}Request`,
      title: name,
      description: `An event of the type \`${type}\`.`,
    }),
  ),
).meta({ id: 'IngestRequest', description: 'A domain event.' });

const key = anyName.meta({
  description:
    'Your own key for this event: the `Idempotency-Key` that the event would have in a single request. It has no control characters, and no spaces or tabs at its ends.',
  examples: ['bk_1001-created'],
});

const batchItem = unionByType(
  'event_type',
  types.map(({ type, name, request }) =>
    request.extend({ idempotency_key: key }).meta({
      id: `${name}Item`,
      description: `An event of the type \`${type}\`, with its key.`,
    }),
  ),
).meta({ id: 'BatchItem', description: 'An event with its key.' });

/** Schema of the body of a batch. */
export const ingestBatchRequest = z
  .strictObject({
    events: withMetadata(
      z.array(batchItem).min(1).max(MAX_BATCH_EVENTS),
      'The events, each with a different key.',
    ),
  })
  .meta({
    id: 'IngestBatch',
    description: 'Events in the order in which they are to be stored.',
  });

/**
 * Makes the union of all stored event types. A stored payload has the types of the current schema but
 * not its bounds, because it may have been accepted under an earlier schema.
 */
export function makeStoredEventSchema(payloads: Readonly<Record<string, z.ZodObject>>) {
  const members = Object.entries(payloads).map(([eventType, { shape }]) => {
    const id = `Stored${pascalCase(eventType)}`;
    const payload = z
      .looseObject(shape)
      .partial()
      .meta({
        id: `${id}Payload`,
        title: 'StoredEventPayload',
        description:
          'The data of the event as it was accepted, unknown fields included. A value may lie outside the present bounds, because bounds may have changed since.',
        override: ({ jsonSchema }) => removeBounds(jsonSchema),
      });
    const type = withMetadata(z.literal(eventType), 'Type of the event.');
    return storedEvent
      .extend({ type, payload })
      .meta({ id, description: `A stored event of the type \`${eventType}\`.` });
  });
  return unionByType('type', members).meta({
    id: 'StoredEvent',
    description:
      'A domain event with its data. Later versions of the service may have more types: skip events of unknown types.',
  });
}

export const anyStoredEvent = makeStoredEventSchema(
  Object.fromEntries(types.map(({ type, request }) => [type, request.shape.payload])),
);

/** @example pascalCase('booking.created') // 'BookingCreated' */
function pascalCase(eventType: string): string {
  const parts = eventType.split(/[^A-Za-z0-9]+/);
  return parts.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('');
}

/** Makes a union whose members differ in the constant value of `field`. */
function unionByType<Member extends z.core.$ZodTypeDiscriminable>(
  field: string,
  members: readonly Member[],
) {
  const [first, ...others] = members;
  if (first === undefined) throw new Error('there is no event type');
  return z.discriminatedUnion(field, [first, ...others]);
}

/** Matches the keywords that `removeBounds` keeps. */
const KEPT_KEYWORDS =
  /^(type|properties|items|additionalProperties|id|\$ref|description|examples|title)$/;

/** Removes the bounds from a JSON Schema, at any depth. */
function removeBounds(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [keyword, value] of Object.entries(schema)) {
    if (!KEPT_KEYWORDS.test(keyword)) Reflect.deleteProperty(schema, keyword);
    // e.g. "integer", or ["integer", "null"]
    if (keyword === 'type') {
      Reflect.set(schema, keyword, JSON.parse(JSON.stringify(value).replace('integer', 'number')));
    }
    if (keyword === 'items') removeBounds(value);
    if (keyword === 'properties') Object.values(value).forEach(removeBounds);
  }
}
