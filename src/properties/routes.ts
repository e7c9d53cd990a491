/** The routes of the feed: listings, their cards, one listing, the changes, and the locations that listings name. */

import { Hono } from 'hono';
import { requireFeedAccess } from '../auth/require.ts';
import { type AppEnv, configOf } from '../config.ts';
import { decodeCursor } from '../http/paging.ts';
import { validQuery } from '../http/query.ts';
import { lookUntil } from '../http/wait.ts';
import { isUuid } from '../schema.ts';
import { CHANGES_SCOPE, changePlace, readChanges } from './changes.ts';
import { Feed, noSuchProperty } from './feed.ts';
import { LOCATION_PAGE, LOCATIONS_SCOPE, locationPosition } from './locations.ts';
import {
  changeParameters,
  itemParameters,
  listParameters,
  locationParameters,
} from './parameters.ts';
import { isSlug } from './slug.ts';
import { LISTING, LISTING_PAGE, type ListingKey, position, propertiesScope } from './store.ts';

/** Mounted at /api/v1/web. */
export function propertyRoutes() {
  const feed = new Feed();
  const routes = new Hono<AppEnv>();
  for (const [path, shows] of [
    ['/properties', 'document'],
    ['/property-cards', 'card'],
  ] as const) {
    const query = validQuery(listParameters, { location_slug: 'location' });
    routes.get(path, requireFeedAccess(), query, async (c) => {
      const { limit, cursor, locale, fresh, ...filters } = c.req.valid('query');
      const shape = { shows, filters };
      // Most requests have no cursor.
      const after =
        cursor === undefined
          ? undefined
          : await decodeCursor(cursor, propertiesScope(shape), position);
      return feed.respond(c, LISTING_PAGE, { ...shape, limit, after }, { locale, fresh });
    });
  }
  return routes
    .get('/properties/:slugOrId', requireFeedAccess(), validQuery(itemParameters), async (c) => {
      const key = keyOf(c.req.param('slugOrId'));
      return feed.respond(c, LISTING, key, c.req.valid('query'));
    })
    .get('/locations', requireFeedAccess(), validQuery(locationParameters), async (c) => {
      const { limit, cursor, locale, fresh } = c.req.valid('query');
      const after = await decodeCursor(cursor, LOCATIONS_SCOPE, locationPosition);
      return feed.respond(c, LOCATION_PAGE, { limit, after }, { locale, fresh });
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

/** Returns the key that a path names: an id or a slug. Throws the 404 for a name that no listing can have. */
function keyOf(slugOrId: string): ListingKey {
  if (isUuid(slugOrId)) return { id: slugOrId.toLowerCase() };
  if (isSlug(slugOrId)) return { slug: slugOrId };
  throw noSuchProperty();
}
