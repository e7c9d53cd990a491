/** The feed's operations, as the OpenAPI document describes them. */

import * as z from 'zod';
import { FEED_ACCESS } from '../auth/openapi.ts';
import { invalidCursor } from '../http/paging.ts';
import { parseWith } from '../http/validate.ts';
import { type Answer, chapter, refusalOf, refusalOfQuery } from '../openapi/chapter.ts';
import { pageOf } from '../openapi/words.ts';
import { changeList } from './changes.ts';
import { noSuchProperty } from './feed.ts';
import {
  EXAMPLE_CARDS,
  EXAMPLE_CHANGES,
  EXAMPLE_FIRST_CHANGES,
  EXAMPLE_LAST_LOCATIONS,
  EXAMPLE_LOCATION_ID,
  EXAMPLE_LOCATIONS,
  EXAMPLE_NEXT_CURSOR,
  EXAMPLE_PROPERTY,
} from './openapi-examples.ts';
import {
  changeParameters,
  itemParameters,
  listParameters,
  locationParameters,
} from './parameters.ts';
import { locationResource, property, propertyCard } from './resource.ts';

/** The headers of a request that may be answered with a 304. */
const requestHeaders = {
  'If-None-Match': z
    .string()
    .max(8_000)
    .regex(/[!-~]/)
    .optional()
    .meta({
      description: 'The `ETag` of the answer that you hold: 304 when it has not changed.',
      param: { id: 'If-None-Match' },
    }),
};

/** The headers of its answers. */
const headers = {
  'Cache-Control': z.literal('private, no-cache').meta({
    description: 'Keep the answer for yourself, and ask with its `ETag` before you use it again.',
    header: { id: 'Private-No-Cache' },
  }),
  ETag: z
    .string()
    .max(40)
    .regex(/^"[0-9a-f]{32}"$/)
    .meta({ description: 'Names these bytes, for `If-None-Match`.', header: { id: 'ETag' } }),
  Age: z
    .int32()
    .min(0)
    .optional()
    .meta({
      description:
        'Seconds since the answer was made. Only while the database cannot be reached, when an older answer is served, up to `FEED_STALE_SECONDS`.',
      header: { id: 'Age' },
    }),
  'Cache-Status': z
    .string()
    .max(60)
    .regex(/^(edge; (hit; ttl=\d+|fwd=[a-z]+), )?isolate; (hit; ttl=\d+|fwd=[a-z]+)$/)
    .meta({
      description:
        'Which of the service’s caches gave the answer, and for how many seconds it is fresh still (RFC 9211).',
      header: { id: 'Cache-Status' },
    }),
};

import './openapi-schemas.ts';

const notModified: Answer = {
  description: 'You hold the current answer: `If-None-Match` names it. There is no body.',
  headers,
};

const tag = {
  name: 'Site',
  description:
    'The public feed of listings, what changed in it, and the locations that listings name.',
};

export const propertyChapter = chapter(tag, {
  '/api/v1/web/properties': {
    get: {
      operationId: 'listProperties',
      summary: 'List the public listings',
      description: `Listings in curatorial order (\`display_order\`, then \`id\`), a page at a time. To read on, send \`next_cursor\` as \`cursor\` while \`has_more\` is true. A listing that is added, moved or removed meanwhile makes no other one repeat or vanish. Unknown parameters are refused.`,
      access: FEED_ACCESS,
      query: listParameters,
      headers: requestHeaders,
      answers: {
        200: {
          description: 'A page of listings.',
          headers,
          content: {
            schema: pageOf(property, 'PropertyList', 'A page of listings.'),
            examples: {
              page: {
                summary: `The second page of location_id=${EXAMPLE_LOCATION_ID}&limit=1`,
                value: {
                  object: 'list',
                  data: [EXAMPLE_PROPERTY],
                  has_more: true,
                  next_cursor: EXAMPLE_NEXT_CURSOR,
                },
              },
              last_page: {
                summary: `The last page, here the only one: no home fits location_id=${EXAMPLE_LOCATION_ID}&type=ski`,
                value: { object: 'list', data: [], has_more: false, next_cursor: null },
              },
            },
          },
        },
        304: notModified,
      },
      refusals: [
        {
          description: 'A parameter is not valid.',
          errors: [refusalOf(parseWith(listParameters, { limit: '101' })), invalidCursor()],
        },
      ],
    },
  },
  '/api/v1/web/property-cards': {
    get: {
      operationId: 'listPropertyCards',
      summary: 'List cards of the public listings',
      description:
        'The list of listings for an overview page: the same parameters, order and paging, and of each listing the fields of a card, as in the listing. A page has a fraction of the bytes.',
      access: FEED_ACCESS,
      query: listParameters,
      headers: requestHeaders,
      answers: {
        200: {
          description: 'A page of cards.',
          headers,
          content: {
            schema: pageOf(propertyCard, 'PropertyCardList', 'A page of cards.'),
            examples: {
              page: {
                summary: 'The second page of location=sardinia&limit=1&locale=en',
                value: EXAMPLE_CARDS,
              },
              last_page: {
                summary:
                  'The last page, here the only one: no home fits location=sardinia&type=ski',
                value: { object: 'list', data: [], has_more: false, next_cursor: null },
              },
            },
          },
        },
        304: notModified,
      },
      refusals: [
        {
          description: 'A parameter is not valid.',
          errors: [
            refusalOfQuery(listParameters, {
              location: ['sardinia'],
              location_id: [EXAMPLE_LOCATION_ID],
            }),
            invalidCursor(),
          ],
        },
      ],
    },
  },
  '/api/v1/web/properties/{slugOrId}': {
    get: {
      operationId: 'getProperty',
      summary: 'Get one listing',
      description:
        'One listing by its `id`, when the path names a UUID, or else by its `slug`. Every web status but `hidden` is served; `status` tells the actual one.',
      access: FEED_ACCESS,
      examplePath: '/api/v1/web/properties/no-such-home',
      path: z.object({
        slugOrId: z
          .string()
          .min(1)
          .max(200)
          .regex(/^[A-Za-z0-9]+([-_][A-Za-z0-9]+)*$/)
          .meta({ description: 'A slug or an id.', param: { example: EXAMPLE_PROPERTY.slug } }),
      }),
      query: itemParameters,
      headers: requestHeaders,
      answers: {
        200: {
          description: 'The listing.',
          headers,
          content: {
            schema: property,
            examples: { property: { summary: 'A listed home', value: EXAMPLE_PROPERTY } },
          },
        },
        304: notModified,
      },
      refusals: [
        {
          description: 'A parameter is not valid.',
          errors: [refusalOfQuery(itemParameters, { locale: ['de'] })],
        },
        {
          description: 'No listing has this slug or id, or it is hidden.',
          errors: [noSuchProperty()],
        },
      ],
    },
  },
  '/api/v1/web/property-changes': {
    get: {
      operationId: 'listPropertyChanges',
      summary: 'List what changed',
      description:
        'For sites that keep a copy. Without `after`: the whole public catalogue, each listing once. With the `resume_cursor` of an earlier answer: each listing that changed since, once, at its latest change, and a tombstone (`removed`, no property) for each that was hidden. The order is that in which imports committed. Read from the primary database and never cached: what an import wrote is there when it has ended.',
      access: FEED_ACCESS,
      query: changeParameters,
      answers: {
        200: {
          description: 'A page of changes.',
          headers: {
            'Cache-Control': z.literal('no-store').meta({
              description: 'The next answer may be another one.',
              header: { id: 'No-Store-Changes' },
            }),
          },
          content: {
            schema: changeList,
            examples: {
              page: {
                summary: 'What came after an earlier read, for locale=en',
                value: EXAMPLE_CHANGES,
              },
              more: {
                summary: 'The first page of the same for limit=1',
                value: EXAMPLE_FIRST_CHANGES,
              },
            },
          },
        },
      },
      refusals: [
        {
          description: 'A parameter is not valid.',
          errors: [
            refusalOf(parseWith(changeParameters, { limit: '101' })),
            invalidCursor('after'),
          ],
        },
      ],
    },
  },
  '/api/v1/web/locations': {
    get: {
      operationId: 'listLocations',
      summary: 'List the locations',
      description:
        'The locations that listings may name, by `slug`, those without one last, then by `id`: what the filters `location` and `location_id` take. A location is there whether or not a public listing names it.',
      access: FEED_ACCESS,
      query: locationParameters,
      headers: requestHeaders,
      answers: {
        200: {
          description: 'A page of locations.',
          headers,
          content: {
            schema: pageOf(locationResource, 'LocationList', 'A page of locations.'),
            examples: {
              page: { summary: 'The first page of limit=2&locale=en', value: EXAMPLE_LOCATIONS },
              last_page: {
                summary: 'The last page of the same: a location without a slug',
                value: EXAMPLE_LAST_LOCATIONS,
              },
            },
          },
        },
        304: notModified,
      },
      refusals: [
        {
          description: 'A parameter is not valid.',
          errors: [refusalOf(parseWith(locationParameters, { limit: '101' })), invalidCursor()],
        },
      ],
    },
  },
});
