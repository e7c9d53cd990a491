/** Reads the locations of listings for the feed. */

import { sql } from 'drizzle-orm';
import * as z from 'zod';
import {
  type CursorScope,
  decodeCursor,
  encodeCursor,
  writePage,
  writeWithField,
} from '../http/paging.ts';
import { uuid } from '../schema/uuid.ts';
import { nullIfOversized, readPage } from '../storage/page.ts';
import { createStatement, placeholder, queryBuilder } from '../storage/statement.ts';
import { CATALOGUE_UNCHANGED, CATALOGUE_VERSION, type FeedReader } from './store.ts';
import { locations } from './table.ts';

/**
 * Position in the list of locations, which is sorted by slug, then by id. Locations without a slug come
 * last.
 */
type LocationPosition = readonly [sortSlug: string, id: string];

const position: z.ZodType<LocationPosition> = z.tuple([z.string(), uuid]).readonly();

const SCOPE: CursorScope = { list: 'locations' };

/** Decodes a cursor. Throws `invalid_cursor` if it belongs to another list. */
export function decodeLocationPosition(cursor: string | undefined) {
  return decodeCursor(cursor, SCOPE, position);
}

type LocationsQuery = { limit: number; after?: LocationPosition | undefined };

const BEGINNING: LocationPosition = ['', ''];

export const LOCATION_PAGE: FeedReader<LocationsQuery> = {
  name: 'locations',
  /** Reads at most `limit + 1` rows of locations. */
  async read(session, { limit, after = BEGINNING }, { cachedVersion }) {
    const { state, documents, last, hasMore } = await readPage({
      connection: session,
      state: CATALOGUE_VERSION,
      page: PAGE,
      values: { afterSlug: after[0], afterId: after[1], cachedVersion },
      limit,
      // D1 selects null for a name that is too large.
      format: ({ id, slug, name }) =>
        name === null ? undefined : writeWithField({ object: 'location', id, slug }, 'name', name),
    });
    const cursor = hasMore && last ? encodeCursor(SCOPE, [last.sort_slug, last.id]) : null;
    return { version: state, json: writePage(documents, cursor) };
  },
};

const { id, slug, sort_slug, name } = locations;

/** Selects no row while the catalogue is unchanged, because no row comes after null. */
const AFTER_POSITION = sql`(${sort_slug}, ${id}) > (
  iif(${CATALOGUE_UNCHANGED}, null, ${placeholder('afterSlug')}), ${placeholder('afterId')} || ' ')`;

const PAGE = createStatement(
  queryBuilder
    .select({ id, slug, sort_slug, name: nullIfOversized(name).as('name') })
    .from(locations)
    .where(AFTER_POSITION)
    .orderBy(sort_slug, id)
    .limit(sql.placeholder('maxRows')),
);
