/** `GET /api/v1/web/properties` and `GET /api/v1/web/properties/:slug-or-id`. */

import { Hono } from 'hono';
import { requireFeedAccess } from '../auth/require.ts';
import type { AppEnv } from '../http/app-env.ts';
import { itemQuery, listQuery } from '../http/list-query.ts';
import { createFeed, noSuchProperty } from './feed.ts';
import { listParameters } from './filters.ts';
import { itemRequestOf, pageRequestOf } from './request.ts';
import { itemParameters, selectionOf } from './selection.ts';

/** Mounted at /api/v1/web/properties. */
export function propertyRoutes() {
  const answer = createFeed();
  return new Hono<AppEnv>()
    .get('/', requireFeedAccess(), listQuery(listParameters), async (c) => {
      const { limit, cursor, fields, locale, ...filters } = c.req.valid('query');
      const selection = selectionOf({ fields, locale });
      return answer(c, await pageRequestOf(filters, selection, limit, cursor));
    })
    .get('/:slugOrId', requireFeedAccess(), itemQuery(itemParameters), (c) => {
      const request = itemRequestOf(c.req.param('slugOrId'), selectionOf(c.req.valid('query')));
      if (request === undefined) throw noSuchProperty();
      return answer(c, request);
    });
}
