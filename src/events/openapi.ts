/** The events' operations, as the OpenAPI document describes them. */

import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { MAX_BODY_BYTES } from '../http/json-body.ts';
import {
  API_KEY_ONLY,
  anyTime,
  commonRequestHeaders,
  errorResponse,
  invalidCursor,
  pagingQuery,
  unauthenticated,
  uuidParameter,
} from '../http/openapi.ts';
import { commonHeaders, noStore } from '../http/openapi-headers.ts';
import { listOf } from '../http/paging.ts';
import {
  EXAMPLE_BODY,
  EXAMPLE_CANCELLATION,
  EXAMPLE_EVENT,
  EXAMPLE_KEY,
  EXAMPLE_STORED_EVENT,
} from './openapi-examples.ts';
import { IDEMPOTENCY_KEY_HEADER, ingestRequest } from './request.ts';
import { event, storedEvent } from './resource.ts';
import type { listParameters } from './routes.ts';
import { name } from './text.ts';
import { timestamp } from './timestamp.ts';

const INGEST = { method: 'POST', path: '/api/public/events/ingest' } as const;
const LIST = { method: 'GET', path: '/api/v1/events' } as const;
const ITEM = { method: 'GET', path: '/api/v1/events/no-such-event' } as const;
const MAX_BODY_KIB = MAX_BODY_BYTES / 1_024;

/** Query parameters as a client writes them; routes.ts validates the same names. */
const query = {
  order: z.enum(['asc', 'desc']).default('desc').meta({
    description: '`desc`: newest first. `asc`: in the order of acceptance, to follow the stream.',
  }),
  type: name.optional().meta({ description: 'Only events of this kind.' }),
  aggregate_type: name.optional().meta({ description: 'Only events about this kind of entity.' }),
  aggregate_id: name.optional().meta({ description: 'Only events about this entity.' }),
  created_after: timestamp.optional().meta({ description: 'Only events accepted after this.' }),
  created_before: timestamp.optional().meta({ description: 'Only events accepted before this.' }),
  after_id: uuidParameter.optional().meta({
    description:
      'Only events that follow this one in the chosen order: a reader that has reached the end goes on from the last event that it saw.',
  }),
  ...pagingQuery,
} satisfies Record<keyof typeof listParameters.shape, z.ZodType>;

const answerHeaders = { ...commonHeaders, 'Cache-Control': noStore };

export const eventPaths = {
  '/api/public/events/ingest': {
    post: {
      operationId: 'ingestEvent',
      tags: ['Events'],
      summary: 'Record a domain event',
      description: `Stores the event once. With an \`Idempotency-Key\` the request can be repeated without harm: the same key and body give the same event, for ever; the same key with another body is refused for 24 hours. Bodies are the same when their JSON says the same, whatever order and white space. The event's id is the UUID version 5 of the key, so that it can be computed beforehand. The body has at most ${MAX_BODY_KIB} KiB and 64 levels.`,
      security: API_KEY_ONLY,
      requestParams: {
        header: z.object({
          ...commonRequestHeaders,
          [IDEMPOTENCY_KEY_HEADER]: name.optional().meta({
            description:
              'Your name for this event, 1 to 255 characters. Reuse it for a retry, and only for that.',
            param: { id: IDEMPOTENCY_KEY_HEADER },
          }),
        }),
      },
      requestBody: {
        required: true,
        description: 'The event.',
        content: {
          'application/json': {
            schema: ingestRequest,
            examples: {
              created: { summary: 'A booking was made', value: EXAMPLE_BODY },
              cancelled: { summary: 'It was cancelled', value: EXAMPLE_CANCELLATION },
            },
          },
        },
      },
      responses: {
        200: {
          description: 'The event had been accepted before: this is a repeat of its request.',
          headers: z.object({
            ...answerHeaders,
            'Idempotent-Replayed': z.literal('true').meta({
              description: 'This is the stored answer to the first request.',
              header: { id: 'Idempotent-Replayed' },
            }),
          }),
          content: {
            'application/json': {
              schema: event,
              examples: {
                repeat: {
                  summary: `A repeat with the key ${EXAMPLE_KEY}`,
                  value: { ...EXAMPLE_EVENT, status: 'idempotent' },
                },
              },
            },
          },
        },
        202: {
          description: 'The event is stored.',
          headers: z.object(answerHeaders),
          content: {
            'application/json': {
              schema: event,
              examples: {
                accepted: {
                  summary: `The first request with the key ${EXAMPLE_KEY}`,
                  value: EXAMPLE_EVENT,
                },
              },
            },
          },
        },
        400: errorResponse('The body, or the key, is not valid: nothing was stored.', INGEST, [
          {
            code: 'validation_error',
            message: 'payload.check_out: must be after check_in',
            param: 'payload.check_out',
            details: [{ path: 'payload.check_out', message: 'must be after check_in' }],
          },
        ]),
        401: unauthenticated(INGEST),
        409: errorResponse(
          'The key was used for another body within 24 hours. `details` names up to 50 places that differ.',
          INGEST,
          [
            {
              code: 'idempotency_key_in_use',
              message:
                'This Idempotency-Key was used for another body. Send the first body again, or a new key.',
              param: IDEMPOTENCY_KEY_HEADER,
              details: [
                {
                  path: 'payload.guests',
                  message: 'differs from the request that holds the key',
                },
              ],
            },
          ],
        ),
        413: errorResponse(`The body has more than ${MAX_BODY_KIB} KiB.`, INGEST, [
          {
            code: 'payload_too_large',
            message: `The body may have at most ${MAX_BODY_BYTES} bytes.`,
          },
        ]),
        415: errorResponse('The body is not sent as plain `application/json`.', INGEST, [
          {
            code: 'unsupported_media_type',
            message: 'Send the body as Content-Type: application/json.',
          },
        ]),
        ...anyTime(INGEST),
      },
    },
  },
  '/api/v1/events': {
    get: {
      operationId: 'listEvents',
      tags: ['Events'],
      summary: 'List events',
      description:
        'Events in the order of their acceptance, newest first unless `order=asc`. To read on, send `next_cursor` as `cursor` while `has_more` is true. To follow the stream, read with `order=asc` to its end, then ask again with the last id as `after_id`.',
      security: API_KEY_ONLY,
      requestParams: { query: z.object(query), header: z.object(commonRequestHeaders) },
      responses: {
        200: {
          description: 'A page of events.',
          headers: z.object(answerHeaders),
          content: {
            'application/json': {
              schema: listOf(storedEvent).meta({
                id: 'EventList',
                description: 'A page of events.',
              }),
              examples: {
                page: {
                  summary: 'The only event there is',
                  value: {
                    object: 'list',
                    data: [EXAMPLE_STORED_EVENT],
                    has_more: false,
                    next_cursor: null,
                  },
                },
              },
            },
          },
        },
        400: errorResponse('A parameter is not valid.', LIST, [
          {
            code: 'validation_error',
            message: 'after_id: is the id of no event',
            param: 'after_id',
            details: [{ path: 'after_id', message: 'is the id of no event' }],
          },
          invalidCursor,
        ]),
        401: unauthenticated(LIST),
        ...anyTime(LIST),
      },
    },
  },
  '/api/v1/events/{id}': {
    get: {
      operationId: 'getEvent',
      tags: ['Events'],
      summary: 'Get one event',
      description: 'One event with its data, by its id.',
      security: API_KEY_ONLY,
      requestParams: {
        path: z.object({
          id: uuidParameter.meta({
            description: 'The event’s id.',
            examples: [EXAMPLE_EVENT.id],
          }),
        }),
        header: z.object(commonRequestHeaders),
      },
      responses: {
        200: {
          description: 'The event.',
          headers: z.object(answerHeaders),
          content: {
            'application/json': {
              schema: storedEvent,
              examples: {
                event: { summary: 'A booking was made', value: EXAMPLE_STORED_EVENT },
              },
            },
          },
        },
        401: unauthenticated(ITEM),
        404: errorResponse('No event has this id.', ITEM, [
          { code: 'resource_missing', message: 'There is no such event.' },
        ]),
        ...anyTime(ITEM),
      },
    },
  },
} satisfies ZodOpenApiPathsObject;
