/** The chapter of the feed in the OpenAPI document. */

import * as z from 'zod';
import { ACCESS } from '../../auth/openapi/access.ts';
import { defineChapter, listExamples, pageExample } from '../../openapi/chapter.ts';
import { patternText } from '../../openapi/error-resource.ts';
import { cacheStatus, describeHeaders } from '../../openapi/headers.ts';
import { makeListResource } from '../../openapi/list-resource.ts';
import {
  changeParameters,
  itemParameters,
  listParameters,
  locationParameters,
} from '../parameters.ts';
import { EXAMPLES } from './examples.ts';
import { changeList, locationResource, property, propertyCard } from './property.ts';

/** Request headers of operations whose responses clients may cache. */
const requestHeaders = {
  'If-None-Match': patternText(/[!-~]/, 8_000)
    .optional()
    .meta({
      description:
        'The `ETag` of the response that you have cached. If the response has not changed, you get a 304.',
      param: { id: 'If-None-Match' },
    }),
};

const headers = {
  ...cacheStatus,
  ...describeHeaders({
    'Cache-Control': [
      patternText(/^private, max-age=0, must-revalidate$/, 40),
      'Only you may cache the response. Revalidate it with its `ETag` before each use.',
      'Private-Revalidate',
    ],
    ETag: [
      patternText(/^"[0-9a-f]{32}"$/, 40),
      'Identifies the bytes of the response. Send it as `If-None-Match` in your next request.',
    ],
    Age: [
      z.int32().min(0).optional(),
      'Seconds since the response was last confirmed to be current. Only stale responses have it, which are served while the database is slow or fails.',
    ],
  }),
};

/** Adds the headers that allow clients to cache a response, and the 304 for revalidation. */
function cacheable<Response extends object>(response: Response) {
  const description =
    'The response that `If-None-Match` names is still current. The body is empty.';
  return { 200: { ...response, headers }, 304: { description, headers } };
}

const NO_MATCH = {
  summary: 'The last page, here the only one. No home matches location=sardinia&type=ski',
  value: pageExample([], null),
};

const tag = {
  name: 'Site',
  description:
    'For a marketing site: the public listings, their changes, and the locations of listings.',
};

export const propertyChapter = defineChapter(tag, {
  'GET /api/v1/web/properties': {
    operationId: 'listProperties',
    summary: 'List the public listings',
    description: `Lists the public listings in curatorial order (\`display_order\`, then \`id\`). While \`has_more\` is true, send \`next_cursor\` as \`cursor\` to get the next page. If a listing is added, moved or removed in between, no other listing is repeated or missed. Unknown parameters are rejected.`,
    access: ACCESS.feed,
    query: listParameters,
    headers: requestHeaders,
    responses: cacheable({
      description: 'A page of listings.',
      schema: makeListResource(property).meta({
        id: 'PropertyList',
        description: 'A page of listings.',
      }),
      examples: listExamples(EXAMPLES.page, NO_MATCH),
    }),
    errors: ['validation_error', 'invalid_cursor'],
  },
  'GET /api/v1/web/property-cards': {
    operationId: 'listPropertyCards',
    summary: 'List cards of the public listings',
    description:
      'Lists the listings for an overview page, with the parameters, order and paging of the list of listings. A card has only a few fields of its listing, so a page is far smaller.',
    access: ACCESS.feed,
    query: listParameters,
    headers: requestHeaders,
    responses: cacheable({
      description: 'A page of cards.',
      schema: makeListResource(propertyCard).meta({
        id: 'PropertyCardList',
        description: 'A page of cards.',
      }),
      examples: listExamples(EXAMPLES.cards, NO_MATCH),
    }),
    errors: ['validation_error', 'invalid_cursor'],
  },
  'GET /api/v1/web/properties/{slugOrId}': {
    operationId: 'getProperty',
    summary: 'Get one listing',
    description:
      'Returns the listing whose `id` or `slug` is in the path. A UUID is an `id`. Listings of every web status except `hidden` are returned, so check the field `status`.',
    access: ACCESS.feed,
    path: z.object({
      slugOrId: patternText(/^[A-Za-z0-9]+([-_][A-Za-z0-9]+)*$/, 200)
        .min(1)
        .meta({ description: 'A slug or an id.', param: { example: EXAMPLES.listing.slug } }),
    }),
    query: itemParameters,
    headers: requestHeaders,
    responses: cacheable({
      description: 'The listing.',
      schema: property,
      examples: { property: { summary: 'A listed home', value: EXAMPLES.listing } },
    }),
    errors: ['validation_error', 'resource_missing'],
  },
  'GET /api/v1/web/property-changes': {
    operationId: 'listPropertyChanges',
    summary: 'List the changes of listings',
    description:
      'For sites that keep a copy of the catalogue. Without `after`, the list has each public listing once. With the `resume_cursor` of an earlier response as `after`, it has each listing that has changed since then, once, at its latest change. A listing that was hidden has the change `removed` and no property. Changes are in the order in which imports were committed. The response is read from the primary database and never cached, so it shows an import as soon as the import has ended.',
    access: ACCESS.feed,
    query: changeParameters,
    responses: {
      200: {
        description: 'A page of changes.',
        schema: changeList,
        examples: listExamples(EXAMPLES.firstChanges, {
          summary: 'The changes since an earlier response, for locale=en',
          value: EXAMPLES.changes,
        }),
      },
    },
    errors: ['validation_error', 'invalid_cursor'],
  },
  'GET /api/v1/web/locations': {
    operationId: 'listLocations',
    summary: 'List the locations',
    description:
      'Lists all locations, ordered by `slug`, then by `id`; locations without a slug come last. The filters `location` and `location_id` of the listings accept their slugs and ids. A location may have no public listing.',
    access: ACCESS.feed,
    query: locationParameters,
    headers: requestHeaders,
    responses: cacheable({
      description: 'A page of locations.',
      schema: makeListResource(locationResource).meta({
        id: 'LocationList',
        description: 'A page of locations.',
      }),
      examples: listExamples(EXAMPLES.locations, {
        summary: 'The last page: a location without a slug',
        value: EXAMPLES.lastLocations,
      }),
    }),
    errors: ['validation_error', 'invalid_cursor'],
  },
});
