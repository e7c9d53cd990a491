/** The chapter of events in the OpenAPI document. */

import * as z from 'zod';
import { ACCESS } from '../../auth/openapi/access.ts';
import { MAX_BODY_BYTES } from '../../http/json-body.ts';
import { defineChapter, listExamples, pageExample } from '../../openapi/chapter.ts';
import { describeHeaders } from '../../openapi/headers.ts';
import { makeListResource } from '../../openapi/list-resource.ts';
import { uuid } from '../../schema/uuid.ts';
import { BATCH_BODY } from '../batch.ts';
import { name } from '../event-types.ts';
import { listParameters } from '../parameters.ts';
import { IDEMPOTENCY_KEY_HEADER } from '../request.ts';
import { event, ingestResult, makeEventList } from './event.ts';
import { anyStoredEvent, ingestBatchRequest, ingestRequest } from './event-types.ts';
import { EXAMPLES } from './examples.ts';

const MAX_BODY_KIB = MAX_BODY_BYTES / 1_024;
const BATCH_KIB = BATCH_BODY.maxBytes / 1_024;
const BODY_ERROR_CODES = [
  'validation_error',
  'payload_too_large',
  'unsupported_media_type',
] as const;

/** Rules that JSON Schema cannot express. */
const RULES_BEYOND_SCHEMA =
  'The service is stricter than the schema in a few ways, each of which is a 400: a `currency` must be a code of ISO 4217; `check_out` must not be before `check_in`, except by one day if either has a time; integers must be within ±(2^53−1), and numbers such as 1e400 are out of range; a field name must not occur twice in one object and must not be `__proto__`; and text must not contain half of a surrogate pair.';

const tag = {
  name: 'Bookings',
  description:
    'For a booking system: sends domain events, each of which is stored once, and reads them back.',
};

export const eventChapter = defineChapter(tag, {
  'POST /api/public/events/ingest': {
    operationId: 'ingestEvent',
    summary: 'Record a domain event',
    description: `Stores an event. With an \`Idempotency-Key\`, the request can be repeated safely: the same key with the same body always returns the same event, and the same key with another body is rejected for 24 hours. Two bodies are equal if their canonical JSON (RFC 8785) is: the order of fields and white space do not matter. The id of the first event of a key is the UUID version 5 of the key, so a sender can compute it. The body has at most ${MAX_BODY_KIB} KiB and 64 levels. ${RULES_BEYOND_SCHEMA}`,
    access: ACCESS.eventsWrite,
    headers: {
      [IDEMPOTENCY_KEY_HEADER]: name.optional().meta({
        description:
          'Your own key for this event: 1 to 255 characters, without control characters and without spaces or tabs at its ends. Use the same key for every retry of the event, and only for this event.',
        param: { id: IDEMPOTENCY_KEY_HEADER, example: EXAMPLES.key },
      }),
    },
    body: {
      description: 'The event.',
      schema: ingestRequest,
      examples: {
        created: { summary: 'A booking was made', value: EXAMPLES.body },
        cancelled: { summary: 'A booking was cancelled', value: EXAMPLES.cancellation },
      },
    },
    responses: {
      200: {
        description: 'The event was accepted before, by an identical request.',
        headers: describeHeaders({
          'Idempotent-Replayed': [
            z.literal('true'),
            'The response is the stored response to the first request.',
          ],
        }),
        schema: event,
        examples: {
          repeat: { summary: `A repeat with the key ${EXAMPLES.key}`, value: EXAMPLES.replay },
        },
      },
      202: {
        description: 'The event is stored.',
        schema: event,
        examples: {
          accepted: {
            summary: `The first request with the key ${EXAMPLES.key}`,
            value: EXAMPLES.event,
          },
        },
      },
    },
    errors: ['idempotency_key_in_use', ...BODY_ERROR_CODES],
  },
  'POST /api/public/events/ingest/batch': {
    operationId: 'ingestEvents',
    summary: 'Record up to 100 domain events',
    description: `Stores the events of an outbox or a backfill in one transaction, in the order sent. Each event has its own key, and the guarantee of a single event. So a batch can always be sent again unchanged. The body has at most ${BATCH_KIB} KiB, each event at most ${MAX_BODY_KIB} KiB and 64 levels. A batch counts as one request of the rate limit. ${RULES_BEYOND_SCHEMA}`,
    access: ACCESS.eventsWrite,
    body: {
      description: 'The events.',
      schema: ingestBatchRequest,
      examples: {
        outbox: { summary: 'Two events of a booking', value: { events: EXAMPLES.batch } },
      },
    },
    responses: {
      200: {
        description: 'One result per event, in the order sent.',
        schema: makeListResource(ingestResult).meta({
          id: 'IngestResultList',
          description: 'The results of a batch, all of them.',
        }),
        examples: {
          results: {
            summary: 'The first event had been stored before, the second one is stored now',
            value: pageExample(EXAMPLES.results, null),
          },
        },
      },
    },
    errors: BODY_ERROR_CODES,
  },
  'GET /api/v1/events': {
    operationId: 'listEvents',
    summary: 'List events',
    description:
      'Lists events in the order of their acceptance: the newest first, or with `order=asc` the oldest first. While `has_more` is true, send `next_cursor` as `cursor` to get the next page. A page without `id` and `aggregate_id` covers at most 10,000 events, so it may be short, or empty, and have more. To follow the stream, send `order=asc`, `wait`, and the `resume_cursor` of the latest response as `cursor`. The first page of the default order has a `resume_cursor` too: the events after it are those that are accepted from now on.',
    access: ACCESS.eventsRead,
    query: listParameters,
    responses: {
      200: {
        description: 'A page of events.',
        schema: makeEventList(anyStoredEvent).meta({
          id: 'EventList',
          description: 'A page of events.',
        }),
        examples: listExamples(
          pageExample([EXAMPLES.storedEvent], EXAMPLES.nextCursor, {
            resume_cursor: EXAMPLES.nextCursor,
          }),
          {
            summary: 'The last page of aggregate_id=bk_1001&order=asc',
            value: pageExample([EXAMPLES.storedEvent], null, {
              resume_cursor: EXAMPLES.lastCursor,
            }),
          },
        ),
      },
    },
    errors: ['validation_error', 'invalid_cursor'],
  },
  'GET /api/v1/events/{id}': {
    operationId: 'getEvent',
    summary: 'Get one event',
    description: 'Returns the stored event with this id.',
    access: ACCESS.eventsRead,
    path: z.object({
      id: uuid.meta({
        description: 'The id of the event.',
        param: { example: EXAMPLES.event.id },
      }),
    }),
    responses: {
      200: {
        description: 'The event.',
        schema: anyStoredEvent,
        examples: { event: { summary: 'A booking was made', value: EXAMPLES.storedEvent } },
      },
    },
    errors: ['validation_error', 'resource_missing'],
  },
});
