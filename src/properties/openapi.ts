/** The feed's operations, as the OpenAPI document describes them. */

import * as z from 'zod';
import { FEED_ACCESS } from '../auth/openapi.ts';
import { invalidCursor } from '../http/paging.ts';
import { parseWith } from '../http/validate.ts';
import { type Answer, chapter, refusalOf, refusalOfQuery } from '../openapi/chapter.ts';
import { pageOf } from '../openapi/words.ts';
import { changeList } from './changes.ts';
import { noSuchProperty } from './feed.ts';
import { EXAMPLES } from './openapi-examples.ts';
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
      description:
        'The `ETag` of the answer that you have cached. If the answer has not changed, you get a 304.',
      param: { id: 'If-None-Match' },
    }),
};

/** The headers of its answers. */
const headers = {
  'Cache-Control': z.literal('private, no-cache').meta({
    description:
      'Only you may cache the answer. Before each use, ask with its `ETag` whether it has changed.',
    header: { id: 'Private-No-Cache' },
  }),
  ETag: z
    .string()
    .max(40)
    .regex(/^"[0-9a-f]{32}"$/)
    .meta({
      description: 'Identifies the bytes of the answer: send it as `If-None-Match`.',
      header: { id: 'ETag' },
    }),
  Age: z
    .int32()
    .min(0)
    .optional()
    .meta({
      description:
        'Seconds since the answer was read from the database. Only on an older answer, which is served while the database fails or is slow.',
      header: { id: 'Age' },
    }),
  'Cache-Status': z
    .string()
    .max(60)
    .regex(/^(edge; (hit; ttl=\d+|fwd=[a-z]+), )?isolate; (hit; ttl=\d+|fwd=[a-z]+)$/)
    .meta({
      description:
        'The cache of the service that gave the answer, and the seconds for which the answer stays fresh (RFC 9211).',
      header: { id: 'Cache-Status' },
    }),
};

import './openapi-schemas.ts';

const notModified: Answer = {
  description: 'The answer that `If-None-Match` names is still current. There is no body.',
  headers,
};

const tag = {
  name: 'Site',
  description:
    'For a marketing site: the public listings, their changes, and the locations of listings.',
};

export const propertyChapter = chapter(tag, {
  '/api/v1/web/properties': {
    get: {
      operationId: 'listProperties',
      summary: 'List the public listings',
      description: `Lists the public listings in curatorial order (\`display_order\`, then \`id\`). While \`has_more\` is true, send \`next_cursor\` as \`cursor\` to get the next page. If a listing is added, moved or removed in between, no other listing is repeated or missed. Unknown parameters are refused.`,
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
                summary: `The second page of location_id=${EXAMPLES.locationId}&limit=1`,
                value: {
                  object: 'list',
                  data: [EXAMPLES.listing],
                  has_more: true,
                  next_cursor: EXAMPLES.nextCursor,
                },
              },
              last_page: {
                summary: `The last page, here the only one: no home fits location_id=${EXAMPLES.locationId}&type=ski`,
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
        'Lists the listings for an overview page, with the parameters, order and paging of the list of listings. A card has a few fields of its listing, so a page is far smaller.',
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
                value: EXAMPLES.cards,
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
              location_id: [EXAMPLES.locationId],
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
        'Returns the listing whose `id` or `slug` is in the path: a UUID is an `id`. A listing of any web status but `hidden` is served; see its `status`.',
      access: FEED_ACCESS,
      examplePath: '/api/v1/web/properties/no-such-home',
      path: z.object({
        slugOrId: z
          .string()
          .min(1)
          .max(200)
          .regex(/^[A-Za-z0-9]+([-_][A-Za-z0-9]+)*$/)
          .meta({ description: 'A slug or an id.', param: { example: EXAMPLES.listing.slug } }),
      }),
      query: itemParameters,
      headers: requestHeaders,
      answers: {
        200: {
          description: 'The listing.',
          headers,
          content: {
            schema: property,
            examples: { property: { summary: 'A listed home', value: EXAMPLES.listing } },
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
          description: 'No listing has this slug or id, or the listing is hidden.',
          errors: [noSuchProperty()],
        },
      ],
    },
  },
  '/api/v1/web/property-changes': {
    get: {
      operationId: 'listPropertyChanges',
      summary: 'List the changes of listings',
      description:
        'For sites that keep a copy. Without `after`: the whole public catalogue, each listing once. With the `resume_cursor` of an earlier answer as `after`: each listing that has changed since then, once, at its latest change; a listing that was hidden has `removed` and no property. The changes come in the order in which imports were committed. The answer is read from the primary database and never cached, so it shows an import as soon as the import has ended.',
      access: FEED_ACCESS,
      query: changeParameters,
      answers: {
        200: {
          description: 'A page of changes.',
          headers: {
            'Cache-Control': z.literal('no-store').meta({
              description: 'No cache may hold the answer: the next one may differ.',
              header: { id: 'No-Store-Changes' },
            }),
          },
          content: {
            schema: changeList,
            examples: {
              page: {
                summary: 'The changes since an earlier answer, for locale=en',
                value: EXAMPLES.changes,
              },
              more: {
                summary: 'The first page of the same changes for limit=1',
                value: EXAMPLES.firstChanges,
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
        'Lists all locations, ordered by `slug`, then by `id`; locations without a slug come last. The filters `location` and `location_id` of the listings take their slugs and ids. Some locations may have no public listing.',
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
              page: { summary: 'The first page of limit=2&locale=en', value: EXAMPLES.locations },
              last_page: {
                summary: 'The last page of limit=2&locale=en: a location without a slug',
                value: EXAMPLES.lastLocations,
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
