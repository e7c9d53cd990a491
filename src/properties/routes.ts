/** `GET /api/v1/web/properties` and `GET /api/v1/web/properties/:slug-or-id`. */

import { Hono } from 'hono';
import * as z from 'zod';
import { requireFeedAccess } from '../auth/require.ts';
import type { AppEnv } from '../http/app-env.ts';
import { decodeCursor, encodeCursor } from '../http/cursor.ts';
import { listQuery } from '../http/list-query.ts';
import { listJson, pagingParameters } from '../http/paging.ts';
import { isUuid, uuid } from '../http/uuid.ts';
import { PROPERTY_TYPES, PUBLIC_STATUSES } from './resource.ts';
import { createFeed, noSuchProperty } from './serve.ts';
import { type Filters, findDocument, findPage, type ListingKey, type Position } from './store.ts';
import { isSlug, order } from './text.ts';

const STATUS_MESSAGE = `must be a comma-separated list of ${PUBLIC_STATUSES.join(', ')}`;

/** Query parameters of the list (specification: GET /api/v1/web/properties). */
export const listParameters = z.object({
  type: z.enum(PROPERTY_TYPES).optional(),
  status: z
    .string()
    .transform((list) => list.split(','))
    .pipe(z.array(z.enum(PUBLIC_STATUSES, { error: STATUS_MESSAGE })))
    .default(['listed']),
  location_id: uuid.optional(),
  ...pagingParameters,
});

type ListParameters = z.infer<typeof listParameters>;

const position: z.ZodType<Position> = z.tuple([order, uuid]).readonly();

/** Mounted at /api/v1/web/properties. */
export function propertyRoutes() {
  const serve = createFeed();
  return new Hono<AppEnv>()
    .get('/', requireFeedAccess(), listQuery(listParameters), (c) => {
      const parameters = c.req.valid('query');
      const { limit, cursor } = parameters;
      const filters = filtersOf(parameters);
      const scope = { list: 'properties', filters: JSON.stringify(filters) };
      // A cursor that leads to an answer was decoded under these very filters when it was loaded.
      const key = `list ${scope.filters} ${limit} ${JSON.stringify(cursor ?? null)}`;
      return serve(c, key, async (publicSiteUrl) => {
        const after =
          cursor === undefined ? undefined : await decodeCursor(cursor, scope, position);
        const request = { ...filters, limit, ...(after && { after }) };
        const page = await findPage(c.env.DB, publicSiteUrl, request);
        return listJson(page.documents, page.next && (await encodeCursor(scope, page.next)));
      });
    })
    .get('/:slugOrId', requireFeedAccess(), (c) => {
      const key = keyOf(c.req.param('slugOrId'));
      if (key === undefined) throw noSuchProperty();
      return serve(c, `item ${Object.values(key)[0]}`, (publicSiteUrl) =>
        findDocument(c.env.DB, publicSiteUrl, key),
      );
    });
}

/** The filters in canonical form: the same statuses in another order are the same filter. */
function filtersOf({ status, type, location_id }: ListParameters): Filters {
  return {
    statuses: PUBLIC_STATUSES.filter((known) => status.includes(known)),
    ...(type && { type }),
    ...(location_id && { locationId: location_id }),
  };
}

/** What a path names; undefined for what no listing can be named by. */
function keyOf(slugOrId: string): ListingKey | undefined {
  if (isUuid(slugOrId)) return { id: slugOrId.toLowerCase() };
  return isSlug(slugOrId) ? { slug: slugOrId } : undefined;
}
