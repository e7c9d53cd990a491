/** `GET /api/v1/web/properties` and `GET /api/v1/web/properties/:slug-or-id`. */

import { Hono } from 'hono';
import { requireFeedAccess } from '../auth/require.ts';
import type { AppEnv } from '../http/app-env.ts';
import { listQuery } from '../http/list-query.ts';
import { createFeed, noSuchProperty } from './feed.ts';
import { listParameters } from './filters.ts';
import { itemRequestOf, pageRequestOf } from './request.ts';

/** Mounted at /api/v1/web/properties. */
export function propertyRoutes() {
  const answer = createFeed();
  return new Hono<AppEnv>()
    .get('/', requireFeedAccess(), listQuery(listParameters), async (c) => {
      const { limit, cursor, ...filters } = c.req.valid('query');
      return answer(c, await pageRequestOf(filters, limit, cursor));
    })
    .get('/:slugOrId', requireFeedAccess(), (c) => {
      const request = itemRequestOf(c.req.param('slugOrId'));
      if (request === undefined) throw noSuchProperty();
      return answer(c, request);
    });
}
