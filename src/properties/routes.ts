/** The routes of the feed: listings, their cards, one listing, the changes, and the locations that listings name. */

import { Hono } from 'hono';
import type * as z from 'zod';
import { requireFeedAccess } from '../auth/require.ts';
import { type AppEnv, configOf } from '../config.ts';
import { decodeCursor } from '../http/paging.ts';
import { validQuery } from '../http/query.ts';
import { lookUntil } from '../http/wait.ts';
import { isUuid } from '../schema.ts';
import { CHANGES_SCOPE, changePlace, readChanges } from './changes.ts';
import { Feed, type FeedRequest, noSuchProperty } from './feed.ts';
import { LOCATIONS_SCOPE, locationPosition } from './locations.ts';
import {
  changeParameters,
  itemParameters,
  listParameters,
  locationParameters,
} from './parameters.ts';
import { isSlug } from './slug.ts';
import { type ListingKey, type PageRequest, position, propertiesScope } from './store.ts';

/** Mounted at /api/v1/web. */
export function propertyRoutes() {
  const feed = new Feed();
  const listQuery = validQuery(listParameters, { location_slug: 'location' });
  return new Hono<AppEnv>()
    .get('/properties', requireFeedAccess(), listQuery, async (c) => {
      return feed.respond(c, ...(await pageRequest(c.req.valid('query'), 'document')));
    })
    .get('/property-cards', requireFeedAccess(), listQuery, async (c) => {
      return feed.respond(c, ...(await pageRequest(c.req.valid('query'), 'card')));
    })
    .get('/properties/:slugOrId', requireFeedAccess(), validQuery(itemParameters), async (c) => {
      const { locale, fresh } = c.req.valid('query');
      const key = keyOf(c.req.param('slugOrId'));
      return feed.respond(c, { kind: 'item', key, locale }, fresh);
    })
    .get('/locations', requireFeedAccess(), validQuery(locationParameters), async (c) => {
      const { limit, cursor, locale, fresh } = c.req.valid('query');
      const after = await decodeCursor(cursor, LOCATIONS_SCOPE, locationPosition);
      return feed.respond(c, { kind: 'locations', limit, after, locale }, fresh);
    })
    .get('/property-changes', requireFeedAccess(), validQuery(changeParameters), async (c) => {
      const { limit, after: cursor, locale, wait } = c.req.valid('query');
      let after = await decodeCursor(cursor, CHANGES_SCOPE, changePlace, 'after');
      const { publicSiteUrl } = configOf(c.env);
      const { result, headers } = await lookUntil(
        c,
        async () => {
          const changes = await readChanges(c.env.DB, publicSiteUrl, { limit, after, locale });
          after = changes.place;
          return changes;
        },
        ({ isEmpty }) => isEmpty,
        wait,
      );
      const type = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
      return new Response(result.json, { headers: { ...type, ...headers } });
    });
}

/** Returns the request for a page that a query asks for, and its `fresh`. */
async function pageRequest(
  { limit, cursor, locale, fresh, ...filters }: z.output<typeof listParameters>,
  shows: PageRequest['shows'],
): Promise<[FeedRequest, boolean | undefined]> {
  let after: PageRequest['after'];
  if (cursor !== undefined) {
    after = await decodeCursor(cursor, propertiesScope({ shows, filters }), position);
  }
  return [{ kind: 'page', shows, filters, limit, after, locale }, fresh];
}

/** Returns the key that a path names: an id or a slug. Throws the 404 for a name that no listing can have. */
function keyOf(slugOrId: string): ListingKey {
  if (isUuid(slugOrId)) return { id: slugOrId.toLowerCase() };
  if (isSlug(slugOrId)) return { slug: slugOrId };
  throw noSuchProperty();
}
