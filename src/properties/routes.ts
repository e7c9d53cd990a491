/** The feed: listings, one listing, what changed, and the locations that listings name. */

import { Hono } from 'hono';
import { requireFeedAccess } from '../auth/require.ts';
import type { AppEnv } from '../config.ts';
import { configOf } from '../config.ts';
import { decodeCursor } from '../http/cursor.ts';
import type { ListOf } from '../http/paging.ts';
import { validQuery } from '../http/query.ts';
import { type Answered, type NotModified, sends } from '../http/typed-route.ts';
import { isUuid } from '../http/uuid.ts';
import { CHANGES_SCOPE, type ChangeList, changePlace } from './change.ts';
import { readChanges } from './changes.ts';
import { Feed, noSuchProperty } from './feed.ts';
import { LOCATIONS_SCOPE, locationPosition } from './locations.ts';
import {
  changeParameters,
  itemParameters,
  listParameters,
  locationParameters,
  selectionOf,
} from './parameters.ts';
import type { AnyProperty, LocationResource } from './resource.ts';
import { type ListingKey, position, propertiesScope } from './store.ts';
import { isSlug } from './text.ts';

/** The headers of a reader who holds an answer already. */
type Conditions = { header?: { 'If-None-Match'?: string } };

/** Mounted at /api/v1/web. */
export function propertyRoutes() {
  const feed = new Feed();
  return new Hono<AppEnv>()
    .get(
      '/properties',
      requireFeedAccess(),
      validQuery<typeof listParameters, Conditions>(listParameters),
      async (c) => {
        const { limit, cursor, fields, locale, ...filters } = c.req.valid('query');
        const after =
          cursor === undefined
            ? undefined
            : await decodeCursor(cursor, propertiesScope(filters), position);
        const selection = selectionOf({ fields, locale });
        const response = await feed.answer(c, { kind: 'page', filters, limit, after, selection });
        return sends<Answered<ListOf<AnyProperty>> | NotModified>(response);
      },
    )
    .get(
      '/properties/:slugOrId',
      requireFeedAccess(),
      validQuery<typeof itemParameters, Conditions>(itemParameters),
      async (c) => {
        const key = keyOf(c.req.param('slugOrId'));
        const selection = selectionOf(c.req.valid('query'));
        const response = await feed.answer(c, { kind: 'item', key, selection });
        return sends<Answered<AnyProperty> | NotModified>(response);
      },
    )
    .get(
      '/locations',
      requireFeedAccess(),
      validQuery<typeof locationParameters, Conditions>(locationParameters),
      async (c) => {
        const { limit, cursor, locale } = c.req.valid('query');
        const after =
          cursor === undefined
            ? undefined
            : await decodeCursor(cursor, LOCATIONS_SCOPE, locationPosition);
        const selection = selectionOf({ locale });
        const response = await feed.answer(c, { kind: 'locations', limit, after, selection });
        return sends<Answered<ListOf<LocationResource>> | NotModified>(response);
      },
    )
    .get('/property-changes', requireFeedAccess(), validQuery(changeParameters), async (c) => {
      const { limit, after: cursor, fields, locale } = c.req.valid('query');
      const after =
        cursor === undefined
          ? undefined
          : await decodeCursor(cursor, CHANGES_SCOPE, changePlace, 'after');
      const { publicSiteUrl } = configOf(c.env);
      const selection = selectionOf({ fields, locale });
      const body = await readChanges(c.env.DB, publicSiteUrl, { limit, after, selection });
      const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
      return sends<Answered<ChangeList>>(new Response(body, { headers }));
    });
}

/** Returns the key that a path names: an id or a slug. Throws the 404 for a name that no listing can have. */
function keyOf(slugOrId: string): ListingKey {
  if (isUuid(slugOrId)) return { id: slugOrId.toLowerCase() };
  if (isSlug(slugOrId)) return { slug: slugOrId };
  throw noSuchProperty();
}
