/** The feed's operations, as the OpenAPI document describes them. */

import * as z from 'zod';
import type { ZodOpenApiPathsObject, ZodOpenApiResponseObject } from 'zod-openapi';
import {
  API_KEY_OR_BEARER,
  anyTime,
  commonRequestHeaders,
  type ExampleRequest,
  errorResponse,
  invalidCursor,
  invalidField,
  pagingQuery,
  unauthenticated,
  uuidParameter,
} from '../http/openapi.ts';
import { challenge, commonHeaders } from '../http/openapi-headers.ts';
import { listOf } from '../http/paging.ts';
import { EXAMPLE_LOCATION_ID, EXAMPLE_NEXT_CURSOR, EXAMPLE_PROPERTY } from './openapi-examples.ts';
import { PROPERTY_TYPES, PUBLIC_STATUSES, property } from './resource.ts';
import type { listParameters } from './routes.ts';

const LIST = { method: 'GET', path: '/api/v1/web/properties' } as const;
const ITEM = { method: 'GET', path: '/api/v1/web/properties/no-such-home' } as const;
const CREDENTIALS = 'Send an API key in the x-api-key header, or a bearer token.';

/** Query parameters as a client writes them; routes.ts validates the same names. */
const query = {
  type: z.enum(PROPERTY_TYPES).optional().meta({ description: 'Only homes of this kind.' }),
  status: z
    .array(z.enum(PUBLIC_STATUSES))
    .min(1)
    .max(100)
    .default(['listed'])
    .meta({
      description:
        'Only homes of these web statuses, comma-separated. `hidden` cannot be asked for.',
      param: { style: 'form', explode: false },
    }),
  location_id: uuidParameter.optional().meta({
    description: 'Only homes at this location: the `location.id` of any of them.',
  }),
  ...pagingQuery,
} satisfies Record<keyof typeof listParameters.shape, z.ZodType>;

const requestHeaders = z.object({
  ...commonRequestHeaders,
  'If-None-Match': z
    .string()
    .max(8_000)
    .regex(/\S/)
    .optional()
    .meta({
      description: 'The `ETag` of the answer that you hold: 304 when it has not changed.',
      param: { id: 'If-None-Match' },
    }),
});

const answerHeaders = z.object({
  ...commonHeaders,
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
        'Seconds since the answer was made. Only while the database cannot be reached, when an answer up to an hour old is served.',
      header: { id: 'Age' },
    }),
});

const notModified: ZodOpenApiResponseObject = {
  description: 'You hold the current answer: `If-None-Match` names it. There is no body.',
  headers: answerHeaders,
};

const forbidden = (request: ExampleRequest) =>
  errorResponse(
    'The token is valid but does not open the feed.',
    request,
    [
      {
        code: 'permission_denied',
        message: 'The token lacks the permission tool-web:viewer.',
      },
    ],
    { 'WWW-Authenticate': challenge },
  );

export const propertyPaths = {
  '/api/v1/web/properties': {
    get: {
      operationId: 'listProperties',
      tags: ['Properties'],
      summary: 'List the public listings',
      description:
        'Listings in curatorial order (`display_order`, then `id`), a page at a time. To read on, send `next_cursor` as `cursor` while `has_more` is true. A listing that is added, moved or removed meanwhile makes no other one repeat or vanish. Unknown parameters are ignored, but the paging words of other APIs (`page`, `offset`, `starting_after`, `ending_before`, `page_token`) are refused.',
      security: API_KEY_OR_BEARER,
      requestParams: { query: z.object(query), header: requestHeaders },
      responses: {
        200: {
          description: 'A page of listings.',
          headers: answerHeaders,
          content: {
            'application/json': {
              schema: listOf(property).meta({
                id: 'PropertyList',
                description: 'A page of listings.',
              }),
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
              },
            },
          },
        },
        304: notModified,
        400: errorResponse('A parameter is not valid.', LIST, [
          invalidField({ path: 'limit', message: 'must be at most 100' }),
          invalidCursor,
        ]),
        401: unauthenticated(LIST, CREDENTIALS),
        403: forbidden(LIST),
        ...anyTime(LIST),
      },
    },
  },
  '/api/v1/web/properties/{slugOrId}': {
    get: {
      operationId: 'getProperty',
      tags: ['Properties'],
      summary: 'Get one listing',
      description:
        'One listing by its `id`, when the path names a UUID, or else by its `slug`. Every web status but `hidden` is served; `status` tells the actual one.',
      security: API_KEY_OR_BEARER,
      requestParams: {
        path: z.object({
          slugOrId: z
            .string()
            .min(1)
            .max(200)
            .regex(/^[A-Za-z0-9]+([-_][A-Za-z0-9]+)*$/)
            .meta({
              description: 'A slug or an id.',
              param: { example: EXAMPLE_PROPERTY.slug },
            }),
        }),
        header: requestHeaders,
      },
      responses: {
        200: {
          description: 'The listing.',
          headers: answerHeaders,
          content: {
            'application/json': {
              schema: property,
              examples: {
                property: { summary: 'A listed home', value: EXAMPLE_PROPERTY },
              },
            },
          },
        },
        304: notModified,
        401: unauthenticated(ITEM, CREDENTIALS),
        403: forbidden(ITEM),
        404: errorResponse('No listing has this slug or id, or it is hidden.', ITEM, [
          { code: 'resource_missing', message: 'There is no such property.' },
        ]),
        ...anyTime(ITEM),
      },
    },
  },
} satisfies ZodOpenApiPathsObject;
