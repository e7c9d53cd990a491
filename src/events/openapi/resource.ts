/**
 * Stored events, lists and results of batches, as the service returns them: for the OpenAPI document and the tests. The
 * Worker takes only the types.
 *
 * A stored event has a schema for each kind, so that generated clients know the payload once they know the kind. An
 * event that was accepted under an earlier schema is read back as it was stored. So a stored payload has the types of
 * the catalogue and none of its bounds.
 */

import * as z from 'zod';
import { keyFields } from '../../auth/named-keys.ts';
import { MAX_PROBLEMS } from '../../http/errors.ts';
import { problem } from '../../openapi/error-resource.ts';
import { cursorText, listOf } from '../../openapi/list-resource.ts';
import { CATALOGUE, name } from '../catalogue.ts';
import { aggregateFields } from '../request.ts';
import { event, timestamp } from '../resource.ts';
import { nameOfKind, unionByKind } from './kinds.ts';

const MAX_MESSAGE_CHARACTERS = 500;

/** The fields that stored events of all kinds have. */
export const storedEvent = z.strictObject({
  ...event.shape,
  status: z
    .literal('pending')
    .meta({ description: 'Always `pending`: the service never changes it.' }),
  ...aggregateFields,
  received_from: keyFields()
    .name.nullable()
    .meta({
      description:
        'Name of the API key that posted the event; null for the key that opens everything.',
      examples: ['booking-system'],
    }),
  erased_at: timestamp.nullable().meta({
    description: 'When the payload was erased, which made it `{}`; null if it was not.',
  }),
  payload: z.looseObject({}),
});

/** Makes the union of the stored events of all kinds. */
export function storedEventOf(catalogue: Readonly<Record<string, z.ZodObject>>) {
  const members = Object.entries(catalogue).map(([kind, payload]) => {
    const id = `Stored${nameOfKind(kind)}`;
    const fields = Object.entries(payload.shape).map(([name, field]) => [name, z.optional(field)]);
    const storedPayload = z.looseObject(Object.fromEntries(fields)).meta({
      id: `${id}Payload`,
      description:
        'The data of the event as it was accepted, unknown fields included. A value may lie outside the present bounds, because bounds may have changed since.',
      override: ({ jsonSchema }) => removeBounds(jsonSchema),
    });
    const type = z.literal(kind).meta({ description: 'Kind of the event.' });
    return storedEvent
      .extend({ type, payload: storedPayload })
      .meta({ id, description: `A stored event of the kind \`${kind}\`.` });
  });
  return unionByKind('type', members).meta({
    id: 'StoredEvent',
    description:
      'A domain event with its data. Later versions of the service may know more kinds: skip events of unknown kinds.',
  });
}

/** A stored event of any kind. Nothing is parsed with it. */
export const storedEventOfAnyKind = storedEventOf(CATALOGUE);

/** A page of stored events. */
export const eventList = listOf(storedEventOfAnyKind)
  .extend({
    resume_cursor: cursorText.meta({
      description:
        'Opaque, and present in every answer: send it as `cursor` to get the events after this answer, now or at any later time.',
    }),
  })
  .meta({ id: 'EventList', description: 'A page of events.' });

const conflict = z
  .strictObject({
    code: z
      .literal('idempotency_key_in_use')
      .meta({ description: 'The error, for programs to branch on.' }),
    message: z
      .string()
      .min(1)
      .max(MAX_MESSAGE_CHARACTERS)
      .meta({
        description: 'The problem, for people to read.',
        examples: ['This Idempotency-Key was used for another body.'],
      }),
    details: z.array(problem).min(1).max(MAX_PROBLEMS).optional().meta({
      description: 'Up to 50 paths at which the body differs from the body that holds the key.',
    }),
  })
  .meta({ id: 'IngestConflict', description: 'Another body holds the key.' });

/** The outcome of one event of a batch. */
export const ingestResult = z
  .strictObject({
    object: z.literal('ingest_result'),
    idempotency_key: name.meta({
      description: 'The key of the event, as it was sent.',
      examples: ['bk_1001-created'],
    }),
    outcome: z.enum(['accepted', 'replayed', 'conflict']).meta({
      description:
        '`accepted`: this request stored the event. `replayed`: an earlier request stored it. `conflict`: another body holds the key, and the event is not stored.',
    }),
    event: event.nullable().meta({ description: 'The event; null for a conflict.' }),
    error: conflict.nullable().meta({ description: 'Null unless another body holds the key.' }),
  })
  .meta({ id: 'IngestResult', description: 'The outcome of one event of a batch.' });

/** The keywords of a schema that stay without its bounds: its type, its parts and its texts. */
const KEPT =
  /^(type|properties|items|anyOf|additionalProperties|id|\$ref|description|examples|title)$/;

/** Removes the bounds from a JSON Schema, at any depth. */
function removeBounds(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [keyword, value] of Object.entries(schema)) {
    if (!KEPT.test(keyword)) Reflect.deleteProperty(schema, keyword);
    if (keyword === 'type') Reflect.set(schema, keyword, withoutIntegers(value));
    if (keyword === 'items') removeBounds(value);
    if (keyword === 'properties' || keyword === 'anyOf') Object.values(value).forEach(removeBounds);
  }
}

/** Returns the `type` of a JSON Schema, which is a text or a list of texts, with `number` in place of `integer`. */
function withoutIntegers(type: unknown): unknown {
  if (Array.isArray(type)) return type.map(withoutIntegers);
  return type === 'integer' ? 'number' : type;
}
