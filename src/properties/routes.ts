/** `GET /api/v1/web/properties` and `GET /api/v1/web/properties/:slug-or-id`. */

import { Hono } from 'hono';
import * as z from 'zod';
import { requireFeedAccess } from '../auth/require.ts';
import type { AppEnv } from '../http/app-env.ts';
import { pagingParameters } from '../http/paging.ts';
import { listQuery } from '../http/validate.ts';
import { createFeed, noSuchProperty } from './feed.ts';
import { filterParameters } from './filters.ts';
import { itemRequestOf, pageRequestOf } from './request.ts';

/** The query parameters of the list. */
export const listParameters = z.object({ ...filterParameters, ...pagingParameters });

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
