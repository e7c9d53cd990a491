/** `GET /api/v1/web/properties` and `GET /api/v1/web/properties/:slug-or-id`. */

import { Hono } from 'hono';
import { requireFeedAccess } from '../auth/require.ts';
import type { AppEnv } from '../http/app-env.ts';
import { listQuery } from '../http/list-query.ts';
import type { ListOf } from '../http/paging.ts';
import { type Answered, type NotModified, sends, takes } from '../http/typed-route.ts';
import { createFeed, noSuchProperty } from './feed.ts';
import { listParameters } from './filters.ts';
import { itemRequestOf, pageRequestOf } from './request.ts';
import type { Property } from './resource.ts';

/** What a reader who holds an answer already may send. */
type Conditions = { header?: { 'If-None-Match'?: string } };

/** Mounted at /api/v1/web/properties. */
export function propertyRoutes() {
  const answer = createFeed();
  return new Hono<AppEnv>()
    .get('/', requireFeedAccess(), listQuery(listParameters), takes<Conditions>(), async (c) => {
      const { limit, cursor, ...filters } = c.req.valid('query');
      const response = await answer(c, await pageRequestOf(filters, limit, cursor));
      return sends<Answered<ListOf<Property>> | NotModified>(response);
    })
    .get('/:slugOrId', requireFeedAccess(), takes<Conditions>(), async (c) => {
      const request = itemRequestOf(c.req.param('slugOrId'));
      if (request === undefined) throw noSuchProperty();
      return sends<Answered<Property> | NotModified>(await answer(c, request));
    });
}
