/**
 * The schemas of events in the OpenAPI document: requests, answers and stored events. A request and a stored event have
 * a schema for each kind, so that generated clients know the payload once they know the kind. The words stand here, so
 * that none is in the deployed bundle.
 *
 * An event that was accepted under an earlier schema is read back as it was stored. So a stored payload has the types
 * of the catalogue and none of its bounds.
 */

import * as z from 'zod';
import { MAX_PROBLEMS } from '../../http/errors.ts';
import { cursorText, listOf, MAX_PAGE_SIZE } from '../../http/paging.ts';
import { problem } from '../../openapi/error-resource.ts';
import {
  described,
  listWords,
  pageWords,
  pagingWords,
  type Words,
  waitWords,
} from '../../openapi/words.ts';
import { MAX_BATCH_EVENTS } from '../batch.ts';
import { CATALOGUE, MAX_NAME_CHARACTERS, NAME_PATTERN, name } from '../catalogue.ts';
import { eventType, idempotencyKey, requestOf } from '../request.ts';
import { event, storedEvent } from '../resource.ts';
import { listParameters, MAX_KINDS } from '../stream.ts';

const MAX_MESSAGE_CHARACTERS = 500;

/** The words of the fields of payloads, by name. A field that stands in several kinds has the same words. */
const PAYLOAD_WORDS: Readonly<Record<string, Words>> = {
  cancelled_at: {
    description: 'When the booking was cancelled.',
    examples: ['2027-06-01T12:00:00Z'],
  },
  check_in: {
    description: 'The first day of the stay.',
    maxLength: 10,
    examples: ['2027-06-01'],
  },
  check_out: {
    description: 'The day of departure, after `check_in`.',
    maxLength: 10,
    examples: ['2027-06-08'],
  },
  currency: {
    pattern: '^[A-Z]{3}$',
    maxLength: 3,
    examples: ['EUR'],
    description: 'ISO 4217 alphabetic code.',
  },
  guest_email: {
    description: 'The email address of the guest.',
    examples: ['guest@example.com'],
  },
  guests: { description: 'The number of guests.', examples: [2] },
  occurred_at: {
    description:
      'When the fact happened. `created_at` of the event is when the service accepted the event.',
    examples: ['2027-06-01T12:00:00Z'],
  },
  property_id: 'The id of the listing.',
  reason: { description: 'Why the booking was cancelled.', examples: ['Change of plans'] },
  refund_amount: { description: 'The amount that the guest gets back.', examples: [1450] },
  total_amount: { description: 'The price of the whole stay.', examples: [1450] },
};

const AGGREGATE_WORDS = {
  aggregate_id: {
    description: 'Identifier of the entity that the event concerns.',
    examples: ['bk_1001'],
  },
  aggregate_type: {
    description: 'Kind of the entity that the event concerns.',
    examples: ['booking'],
  },
};

const EVENT_WORDS = {
  id: 'Identifies the event.',
  created_at: {
    description: 'When the event was accepted.',
    examples: ['2027-01-15T09:30:00.000Z'],
  },
};

/** The event as the ingest endpoint returns it. */
export const acceptedEvent = described(event, {
  id: 'AcceptedEvent',
  description: 'An accepted domain event.',
  fields: {
    ...EVENT_WORDS,
    type: { description: 'Kind of the event.', examples: ['booking.created'] },
    status: '`pending` when accepted; `idempotent` when an identical retry is answered.',
  },
});

const REQUEST_WORDS = {
  event_type: 'Kind of the event.',
  ...AGGREGATE_WORDS,
  payload: undefined,
};

for (const type of eventType.options) {
  described<z.ZodObject>(CATALOGUE[type], {
    id: `${nameOfKind(type)}Payload`,
    description:
      'The data of the event. Every field is optional. Unknown fields are stored as sent.',
    fields: PAYLOAD_WORDS,
  });
}

/** A request of any kind: the union has a member for each entry of the catalogue. */
export const ingestRequest = described(
  unionByKind(
    'event_type',
    eventType.options.map((type) =>
      described(requestOf(type), {
        id: `${nameOfKind(type)}Request`,
        description: `An event of the kind \`${type}\`.`,
        fields: REQUEST_WORDS,
      }),
    ),
  ),
  { id: 'IngestRequest', description: 'A domain event.' },
);

/** An item of a batch: a request of its kind, with its key. */
const batchItem = described(
  unionByKind(
    'event_type',
    eventType.options.map((type) =>
      described(requestOf(type).extend({ idempotency_key: idempotencyKey }), {
        id: `${nameOfKind(type)}Item`,
        description: `An event of the kind \`${type}\`, with its key.`,
        fields: {
          ...REQUEST_WORDS,
          idempotency_key: {
            description:
              'Your own key for this event: the `Idempotency-Key` that the event would have in a request of its own.',
            examples: ['bk_1001-created'],
          },
        },
      }),
    ),
  ),
  { id: 'BatchItem', description: 'An event with its key.' },
);

/** The body of a batch. */
export const ingestBatchRequest = described(
  z.strictObject({ events: z.array(batchItem).min(1).max(MAX_BATCH_EVENTS) }),
  {
    id: 'IngestBatch',
    description: 'Events in the order in which they are to be stored.',
    fields: { events: 'The events, each with a different key.' },
  },
);

/** The outcome of one event of a batch. */
export const ingestResult = described(
  z.strictObject({
    object: z.literal('ingest_result'),
    idempotency_key: name,
    outcome: z.enum(['accepted', 'replayed', 'conflict']),
    event: event.nullable(),
    error: described(
      z.strictObject({
        code: z.literal('idempotency_key_in_use'),
        message: z.string().min(1).max(MAX_MESSAGE_CHARACTERS),
        details: z.array(problem).min(1).max(MAX_PROBLEMS).optional(),
      }),
      {
        id: 'IngestConflict',
        description: 'Another body holds the key.',
        fields: {
          code: 'The error, for programs to branch on.',
          message: {
            description: 'The problem, for people to read.',
            examples: ['This Idempotency-Key was used for another body.'],
          },
          details: 'Up to 50 paths at which the body differs from the body that holds the key.',
        },
      },
    ).nullable(),
  }),
  {
    id: 'IngestResult',
    description: 'The outcome of one event of a batch.',
    fields: {
      idempotency_key: {
        description: 'The key of the event, as it was sent.',
        examples: ['bk_1001-created'],
      },
      outcome:
        '`accepted`: this request stored the event. `replayed`: an earlier request stored it. `conflict`: another body holds the key, and the event is not stored.',
      event: 'The event; null for a conflict.',
      error: 'Null unless another body holds the key.',
    },
  },
);

const UUID_PATTERN = '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$';

/** A stored event of any kind. Nothing is parsed with it. */
export const storedEventOfAnyKind = storedEventOf(CATALOGUE);

/** Makes the union of the stored events of all kinds. */
export function storedEventOf(catalogue: Readonly<Record<string, z.ZodObject>>) {
  const members = Object.entries(catalogue).map(([kind, payload]) => {
    const id = `Stored${nameOfKind(kind)}`;
    const fields = Object.entries(payload.shape).map(([name, field]) => [name, z.optional(field)]);
    const storedPayload = described<z.ZodObject>(z.looseObject(Object.fromEntries(fields)), {
      id: `${id}Payload`,
      description:
        'The data of the event as it was accepted, unknown fields included. A value may lie outside the present bounds, because bounds may have changed since.',
      override: ({ jsonSchema }: { jsonSchema: object }) => removeBounds(jsonSchema),
      fields: PAYLOAD_WORDS,
    });
    return described(storedEvent.extend({ type: z.literal(kind), payload: storedPayload }), {
      id,
      description: `A stored event of the kind \`${kind}\`.`,
      fields: {
        ...EVENT_WORDS,
        ...AGGREGATE_WORDS,
        type: 'Kind of the event.',
        status: 'Always `pending`: the service never changes it.',
        received_from: {
          description:
            'Name of the API key that posted the event; null for the key that opens everything.',
          examples: ['booking-system'],
        },
        erased_at: 'When the payload was erased, which made it `{}`; null if it was not.',
        payload: undefined,
      },
    });
  });
  return described(unionByKind('type', members), {
    id: 'StoredEvent',
    description:
      'A domain event with its data. Later versions of the service may know more kinds: skip events of unknown kinds.',
  });
}

/** A page of stored events. */
export const eventList = described(
  listOf(storedEventOfAnyKind).extend({ resume_cursor: cursorText }),
  {
    id: 'EventList',
    description: 'A page of events.',
    fields: {
      ...pageWords,
      resume_cursor:
        'Opaque, and present in every answer: send it as `cursor` to get the events after this answer, now or at any later time.',
    },
  },
);

described(listParameters, {
  fields: {
    order: '`desc`: newest first. `asc`: in the order of acceptance, to follow the stream.',
    id: listWords(
      // Swagger UI has no field for a list of `format: uuid`, and warns.
      { pattern: UUID_PATTERN, minLength: 36, maxLength: 36 },
      MAX_PAGE_SIZE,
      'Only the stored events with these ids: comma-separated, repeated, or both.',
    ),
    type: listWords(
      { minLength: 1, maxLength: MAX_NAME_CHARACTERS, pattern: NAME_PATTERN },
      MAX_KINDS,
      'Only events of these kinds: comma-separated, repeated, or both.',
    ),
    aggregate_type: 'Only events about this kind of entity.',
    aggregate_id: 'Only events about this entity.',
    created_after: 'Only events accepted after this time.',
    created_before: 'Only events accepted before this time.',
    after_id: 'Only events after the event with this id, in the chosen order.',
    ...pagingWords,
    limit: {
      ...pagingWords.limit,
      description: 'Items per page; with `id` the default is 100.',
    },
    cursor: {
      ...pagingWords.cursor,
      description:
        'The `next_cursor` or the `resume_cursor` of an earlier answer, unchanged and with the same filters; `limit` and `wait` may change.',
    },
    wait: waitWords('order=asc', 'an event'),
  },
});

/** Returns the part of a schema's name that is the kind's: `booking.created` → `BookingCreated`. */
function nameOfKind(kind: string): string {
  return kind
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** Makes the union of one schema for each kind. `field` tells the kinds apart. */
function unionByKind<Member extends z.core.$ZodTypeDiscriminable>(
  field: string,
  members: readonly Member[],
) {
  const [first, ...others] = members;
  if (first === undefined) throw new Error('there is no kind of event');
  return z.discriminatedUnion(field, [first, ...others]);
}

/** The keywords of a schema that stay without its bounds: its type, its parts and its words. */
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
