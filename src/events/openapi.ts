/** The operations that read events, as the OpenAPI document describes them. */

import * as z from 'zod';
import { keyWith } from '../auth/openapi.ts';
import { invalidCursor } from '../http/cursor.ts';
import { uuid } from '../http/uuid.ts';
import { chapter, refusalOfQuery } from '../openapi/chapter.ts';
import { noStore } from '../openapi/headers.ts';
import { pageOf } from '../openapi/words.ts';
import { listParameters } from './filters.ts';
import { EXAMPLE_EVENT, EXAMPLE_NEXT_CURSOR, EXAMPLE_STORED_EVENT } from './openapi-examples.ts';
import { ingestOperation } from './openapi-ingest.ts';
import { noSuchEvent, unknownAfterId } from './refusals.ts';
import { READ_SCOPE } from './scopes.ts';
import { storedEventOfAnyKind } from './stored-kinds.ts';

const headers = { 'Cache-Control': noStore };

const tag = {
  name: 'Events',
  description: 'Accepting domain events once, and reading them back.',
};

export const eventChapter = chapter(tag, {
  '/api/public/events/ingest': { post: ingestOperation },
  '/api/v1/events': {
    get: {
      operationId: 'listEvents',
      summary: 'List events',
      description:
        'Events in the order of their acceptance, newest first unless `order=asc`. To read on, send `next_cursor` as `cursor` while `has_more` is true. To follow the stream, read with `order=asc` to its end, then ask again with the last id as `after_id`.',
      access: keyWith(READ_SCOPE),
      query: listParameters,
      answers: {
        200: {
          description: 'A page of events.',
          headers,
          content: {
            schema: pageOf(storedEventOfAnyKind, 'EventList', 'A page of events.'),
            examples: {
              page: {
                summary: 'The first page of order=asc&limit=1',
                value: {
                  object: 'list',
                  data: [EXAMPLE_STORED_EVENT],
                  has_more: true,
                  next_cursor: EXAMPLE_NEXT_CURSOR,
                },
              },
              last_page: {
                summary: 'The last page',
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
      refusals: [
        { description: 'A parameter is not valid.', errors: [unknownAfterId(), invalidCursor()] },
      ],
    },
  },
  '/api/v1/events/{id}': {
    get: {
      operationId: 'getEvent',
      summary: 'Get one event',
      description: 'One event with its data, by its id.',
      access: keyWith(READ_SCOPE),
      examplePath: '/api/v1/events/no-such-event',
      path: z.object({
        id: uuid.meta({ description: 'The event’s id.', param: { example: EXAMPLE_EVENT.id } }),
      }),
      answers: {
        200: {
          description: 'The event.',
          headers,
          content: {
            schema: storedEventOfAnyKind,
            examples: { event: { summary: 'A booking was made', value: EXAMPLE_STORED_EVENT } },
          },
        },
      },
      refusals: [
        {
          description: 'The query has a parameter.',
          errors: [refusalOfQuery(z.object({}), { sort: ['type'] })],
        },
        { description: 'No event has this id.', errors: [noSuchEvent()] },
      ],
    },
  },
});
