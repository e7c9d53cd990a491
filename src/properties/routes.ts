/** `GET /api/v1/web/properties` and `GET /api/v1/web/properties/:slug-or-id`. */

import { Hono } from 'hono';
import * as z from 'zod';
import { requireApiKey } from '../auth/require.ts';
import { configOf } from '../config.ts';
import type { AppEnv } from '../http/app-env.ts';
import { decodeCursor, encodeCursor } from '../http/cursor.ts';
import { resourceMissing } from '../http/errors.ts';
import { pagingParameters } from '../http/paging.ts';
import { isUuid, uuid } from '../http/uuid.ts';
import { listQuery } from '../http/validate.ts';
import { answerOf, respondWith } from './answer.ts';
import { PROPERTY_TYPES, PUBLIC_STATUSES } from './resource.ts';
import { type Filters, findDocument, findPage, type Page, type Position } from './store.ts';
import { order, slug } from './text.ts';

/** Query parameters of the list (specification: GET /api/v1/web/properties). */
export const listParameters = z.object({
  type: z.enum(PROPERTY_TYPES).optional(),
  status: z
    .string()
    .transform((list) => list.split(','))
    .pipe(z.array(z.enum(PUBLIC_STATUSES)))
    .default(['listed']),
  location_id: uuid.optional(),
  ...pagingParameters,
});

type ListParameters = z.infer<typeof listParameters>;

const position: z.ZodType<Position> = z.tuple([order, uuid]).readonly();

export function propertyRoutes() {
  return new Hono<AppEnv>()
    .get('/', requireApiKey(), listQuery(listParameters), async (c) => {
      const { publicSiteUrl } = configOf(c.env);
      const parameters = c.req.valid('query');
      const filters = filtersOf(parameters);
      const scope = { list: 'properties', filters: JSON.stringify(filters) };
      const after =
        parameters.cursor === undefined
          ? {}
          : { after: await decodeCursor(parameters.cursor, scope, position) };
      const readAt = Date.now();
      const page = await findPage(c.env.DB, publicSiteUrl, {
        ...filters,
        ...after,
        limit: parameters.limit,
      });
      const next = page.next && (await encodeCursor(scope, page.next));
      return respondWith(
        await answerOf(listJson(page, next), readAt),
        c.req.header('If-None-Match'),
      );
    })
    .get('/:slugOrId', requireApiKey(), async (c) => {
      const { publicSiteUrl } = configOf(c.env);
      const key = keyOf(c.req.param('slugOrId'));
      const readAt = Date.now();
      const document = key && (await findDocument(c.env.DB, publicSiteUrl, key));
      if (document === undefined) throw resourceMissing('There is no such property.');
      return respondWith(await answerOf(document, readAt), c.req.header('If-None-Match'));
    });
}

/** The filters in canonical form: the same statuses in another order are the same filter. */
function filtersOf({ status, type, location_id }: ListParameters): Filters {
  return {
    statuses: PUBLIC_STATUSES.filter((known) => status.includes(known)),
    ...(type === undefined ? {} : { type }),
    ...(location_id === undefined ? {} : { locationId: location_id }),
  };
}

/** A page's JSON text, its documents joined as they stand. */
function listJson({ documents }: Page, next: string | null): string {
  return `{"object":"list","data":[${documents.join(',')}],"has_more":${next !== null},"next_cursor":${JSON.stringify(next)}}`;
}

/** What a path names; undefined for what no listing can be named by. */
function keyOf(slugOrId: string): { id: string } | { slug: string } | undefined {
  if (isUuid(slugOrId)) return { id: slugOrId.toLowerCase() };
  return slug.safeParse(slugOrId).success ? { slug: slugOrId } : undefined;
}
