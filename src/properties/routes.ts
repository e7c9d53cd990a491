/** The feed: listings, one listing, what changed, and the locations that listings name. */

import { Hono } from 'hono';
import { requireFeedAccess } from '../auth/require.ts';
import type { AppEnv } from '../config.ts';
import { configOf } from '../config.ts';
import { decodeCursor } from '../http/cursor.ts';
import type { ListOf } from '../http/paging.ts';
import { validQuery } from '../http/query.ts';
import { type Answered, type NotModified, sends } from '../http/typed-route.ts';
import { CHANGES_SCOPE, type ChangeList, changePlace } from './change.ts';
import { readChanges } from './changes.ts';
import { createFeed, noSuchProperty } from './feed.ts';
import {
  changeParameters,
  itemParameters,
  listParameters,
  locationParameters,
  selectionOf,
} from './parameters.ts';
import { itemRequestOf, locationsRequestOf, pageRequestOf } from './request.ts';
import type { AnyProperty, LocationResource } from './resource.ts';

/** The headers of a reader who holds an answer already. */
type Conditions = { header?: { 'If-None-Match'?: string } };

/** Mounted at /api/v1/web. */
export function propertyRoutes() {
  const answer = createFeed();
  return new Hono<AppEnv>()
    .get(
      '/properties',
      requireFeedAccess(),
      validQuery<typeof listParameters, Conditions>(listParameters),
      async (c) => {
        const { limit, cursor, fields, locale, ...filters } = c.req.valid('query');
        const selection = selectionOf({ fields, locale });
        const response = await answer(c, await pageRequestOf(filters, selection, limit, cursor));
        return sends<Answered<ListOf<AnyProperty>> | NotModified>(response);
      },
    )
    .get(
      '/properties/:slugOrId',
      requireFeedAccess(),
      validQuery<typeof itemParameters, Conditions>(itemParameters),
      async (c) => {
        const request = itemRequestOf(c.req.param('slugOrId'), selectionOf(c.req.valid('query')));
        if (request === undefined) throw noSuchProperty();
        return sends<Answered<AnyProperty> | NotModified>(await answer(c, request));
      },
    )
    .get(
      '/locations',
      requireFeedAccess(),
      validQuery<typeof locationParameters, Conditions>(locationParameters),
      async (c) => {
        const { limit, cursor, locale } = c.req.valid('query');
        const request = await locationsRequestOf(selectionOf({ locale }), limit, cursor);
        return sends<Answered<ListOf<LocationResource>> | NotModified>(await answer(c, request));
      },
    )
    .get('/property-changes', requireFeedAccess(), validQuery(changeParameters), async (c) => {
      const { limit, after: cursor, fields, locale } = c.req.valid('query');
      const after = await decodeCursor(cursor, CHANGES_SCOPE, changePlace, 'after');
      const { publicSiteUrl } = configOf(c.env);
      const selection = selectionOf({ fields, locale });
      const body = await readChanges(c.env.DB, publicSiteUrl, { limit, after, selection });
      const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
      return sends<Answered<ChangeList>>(new Response(body, { headers }));
    });
}
