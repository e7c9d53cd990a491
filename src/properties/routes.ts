/** The routes of the feed. */

import { type Context, Hono } from 'hono';
import type * as z from 'zod';
import type { AppEnv } from '../app-env.ts';
import { requireFeedAccess } from '../auth/require.ts';
import { readConfig } from '../config.ts';
import { pollWhileEmpty } from '../http/long-poll.ts';
import { validQuery } from '../http/query.ts';
import { isUuid } from '../schema/uuid.ts';
import { decodeChangePosition, readChanges } from './changes.ts';
import { Feed, propertyNotFound } from './feed.ts';
import { decodeLocationPosition, LOCATION_PAGE } from './locations.ts';
import {
  changeParameters,
  itemParameters,
  listParameters,
  locationParameters,
} from './parameters.ts';
import { slug } from './slug.ts';
import { decodeListingPosition, LISTING, LISTING_PAGE } from './store.ts';

/** Makes the routes under /api/v1/web. */
export function propertyRoutes() {
  const feed = new Feed();
  const listQuery = validQuery(listParameters);
  return new Hono<AppEnv>()
    .get('/properties', requireFeedAccess(), listQuery, (c) =>
      respondWithPage(c, feed, 'properties', c.req.valid('query')),
    )
    .get('/property-cards', requireFeedAccess(), listQuery, (c) =>
      respondWithPage(c, feed, 'property-cards', c.req.valid('query')),
    )
    .get('/properties/:slugOrId', requireFeedAccess(), validQuery(itemParameters), (c) => {
      const key = parseKey(c.req.param('slugOrId'));
      return feed.respond({ c, reader: LISTING, query: key, ...c.req.valid('query') });
    })
    .get('/locations', requireFeedAccess(), validQuery(locationParameters), async (c) => {
      const { limit, cursor, locale, fresh } = c.req.valid('query');
      const after = decodeLocationPosition(cursor);
      return feed.respond({ c, reader: LOCATION_PAGE, query: { limit, after }, locale, fresh });
    })
    .get('/property-changes', requireFeedAccess(), validQuery(changeParameters), (c) =>
      respondWithChanges(c, c.req.valid('query')),
    );
}

async function respondWithPage(
  c: Context<AppEnv>,
  feed: Feed,
  list: 'properties' | 'property-cards',
  query: z.output<typeof listParameters>,
): Promise<Response> {
  const { limit, cursor, locale, fresh, ...filters } = query;
  const feedList = { list, filters };
  // Most requests have no cursor.
  const after = cursor === undefined ? undefined : decodeListingPosition(cursor, feedList);
  return feed.respond({
    c,
    reader: LISTING_PAGE,
    query: { ...feedList, limit, after },
    locale,
    fresh,
  });
}

async function respondWithChanges(
  c: Context<AppEnv>,
  { limit, after: cursor, locale, wait }: z.output<typeof changeParameters>,
): Promise<Response> {
  const { publicSiteUrl } = readConfig(c.env);
  const start = decodeChangePosition(cursor);
  const readNext = (last?: Awaited<ReturnType<typeof readChanges>>) => {
    const after = last === undefined ? start : last.position;
    return readChanges(c.env.DB, publicSiteUrl, { limit, after, locale });
  };
  const page = await pollWhileEmpty(c, readNext, ({ isEmpty }) => isEmpty, wait);
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
  return new Response(page.json, { headers });
}

/** Returns the id or the slug in a path. Throws a 404 for any other text. */
function parseKey(slugOrId: string) {
  if (isUuid(slugOrId)) return { id: slugOrId.toLowerCase() };
  if (slug.safeParse(slugOrId).success) return { slug: slugOrId };
  throw propertyNotFound();
}
