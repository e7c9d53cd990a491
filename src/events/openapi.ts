/** The events' operations, as the OpenAPI document describes them. */

import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import {
  API_KEY_ADVICE,
  API_KEY_ONLY,
  anyTime,
  commonRequestHeaders,
  errorResponse,
  invalidCursor,
  invalidField,
  pagingQuery,
  unauthenticated,
  uuidParameter,
} from '../http/openapi.ts';
import { commonHeaders, noStore } from '../http/openapi-headers.ts';
import { listOf } from '../http/paging.ts';
import { EXAMPLE_EVENT, EXAMPLE_STORED_EVENT } from './openapi-examples.ts';
import { ingestOperation } from './openapi-ingest.ts';
import { storedEvent } from './resource.ts';
import type { listParameters } from './routes.ts';
import { name } from './text.ts';
import { timestamp } from './timestamp.ts';

const LIST = { method: 'GET', path: '/api/v1/events' } as const;
const ITEM = { method: 'GET', path: '/api/v1/events/no-such-event' } as const;

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
  '/api/public/events/ingest': { post: ingestOperation },
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
          invalidField({ path: 'after_id', message: 'is the id of no event' }),
          invalidCursor,
        ]),
        401: unauthenticated(LIST, API_KEY_ADVICE),
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
            param: { example: EXAMPLE_EVENT.id },
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
        401: unauthenticated(ITEM, API_KEY_ADVICE),
        404: errorResponse('No event has this id.', ITEM, [
          { code: 'resource_missing', message: 'There is no such event.' },
        ]),
        ...anyTime(ITEM),
      },
    },
  },
} satisfies ZodOpenApiPathsObject;
