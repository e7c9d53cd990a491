/** Reads listings for the feed. A page or a single listing takes one round trip to D1. */

import { and, eq, ne, sql } from 'drizzle-orm';
import * as z from 'zod';
import { type CursorScope, decodeCursor, encodeCursor, writePage } from '../http/paging.ts';
import { uuid } from '../schema/uuid.ts';
import { readD1 } from '../storage/d1.ts';
import { nullIfOversized, readPage } from '../storage/page.ts';
import { createStatement, placeholder, queryBuilder } from '../storage/statement.ts';
import { databaseIdentity } from '../storage/table.ts';
import type { FeedFilters } from './parameters.ts';
import { formatRendering, render, toCard } from './render.ts';
import type { Source } from './source.ts';
import { FILTER_COLUMNS, locations, properties } from './table.ts';
import type { CatalogueVersion } from './versions.ts';

/**
 * A type of D1 read whose result is cached. Its name and the JSON text of its query are part of the
 * cache key.
 */
export type FeedReader<Query> = {
  name: string;
  /**
   * Returns the response as JSON text; undefined if the listing is missing. If the version equals
   * `cachedVersion`, D1 returns no rows, and the text must be ignored.
   */
  read(
    session: D1DatabaseSession,
    query: Query,
    options: { publicSiteUrl: string; cachedVersion: string | null },
  ): Promise<{ version: CatalogueVersion; json: string | undefined }>;
};

const { catalogue_version, generation, catalogue_number } = databaseIdentity;

/** Selects the version of the catalogue, which is one row. Every read begins its batch with this statement. */
export const CATALOGUE_VERSION = createStatement(
  queryBuilder
    .select({
      id: sql<string>`${catalogue_version}`.as('id'),
      generation,
      number: sql<number>`${catalogue_number}`.as('number'),
    })
    .from(databaseIdentity),
);

/**
 * Whether the catalogue still has the version of the cached response, as SQL. If so, statements replace
 * the key or the position with null, or the limit with 0, so that they read no rows. A separate
 * condition in `where` would still make SQLite read the first row.
 */
export const CATALOGUE_UNCHANGED = sql`(select ${catalogue_version} from ${databaseIdentity}) = ${placeholder('cachedVersion')}`;

/** Reads only the version, one row, which is enough to revalidate every cached response. */
export const CATALOGUE_VERSION_ONLY: FeedReader<unknown> = {
  name: 'version',
  async read(session) {
    const [version] = await readD1(() => CATALOGUE_VERSION.rows(session, {}));
    if (version === undefined) throw new Error('The database has no identity.');
    return { version, json: undefined };
  },
};

type Position = readonly [displayOrder: number, id: string];

const position: z.ZodType<Position> = z.tuple([z.int32(), uuid]).readonly();

const REPRESENTATIONS = { properties: 'document', 'property-cards': 'card' } as const;

type Representation = 'document' | 'card';

type FeedList = CursorScope & { list: keyof typeof REPRESENTATIONS; filters: FeedFilters };

type ListingsQuery = FeedList & { limit: number; after?: Position | undefined };

type ListingKey = { id: string } | { slug: string };

/** Decodes a cursor. Throws `invalid_cursor` if it belongs to another list or to other filters. */
export function decodeListingPosition(cursor: string, list: FeedList): Position | undefined {
  return decodeCursor(cursor, list, position);
}

/** Position before every listing, because a `display_order` is a 32-bit integer. */
const BEGINNING: Position = [-2_147_483_649, ''];

export const LISTING_PAGE: FeedReader<ListingsQuery> = {
  name: 'page',
  /**
   * Reads `limit + 1` rows, and one more row for each status after the first. With `location`, it also
   * reads one row per status to find the location's id.
   */
  async read(
    session,
    { list, filters, limit, after = BEGINNING },
    { publicSiteUrl, cachedVersion },
  ) {
    const feedList = { list, filters };
    const { status, ...exact } = filters;
    // e.g. { status0: 'listed', type: 'beach', afterOrder: 7, afterId: '0b8e…', rendering: … }
    const values = {
      ...Object.fromEntries(status.map((value, index) => [`status${index}`, value])),
      ...exact,
      afterOrder: after[0],
      afterId: after[1],
      rendering: formatRendering(publicSiteUrl),
      cachedVersion,
    };
    const { state, documents, last, hasMore } = await readPage({
      connection: session,
      state: CATALOGUE_VERSION,
      page: pageStatement(feedList),
      values,
      limit,
      format: (row) => formatListing(row, publicSiteUrl, REPRESENTATIONS[list]),
    });
    const cursor = hasMore && last ? encodeCursor(feedList, [last.display_order, last.id]) : null;
    return { version: state, json: writePage(documents, cursor) };
  },
};

/** Reads one listing. Treats a hidden listing as missing. */
export const LISTING: FeedReader<ListingKey> = {
  name: 'listing',
  async read(session, key, { publicSiteUrl, cachedVersion }) {
    const { state, documents } = await readPage({
      connection: session,
      state: CATALOGUE_VERSION,
      page: 'id' in key ? BY_ID : BY_SLUG,
      values: { ...key, rendering: formatRendering(publicSiteUrl), cachedVersion },
      limit: 1,
      format: (row) => formatListing(row, publicSiteUrl, 'document'),
    });
    return { version: state, json: documents[0] };
  },
};

/**
 * A listing as a statement selects it:
 *
 *     rendered by                  is_rendered   text
 *     the rules of this Worker     1             the document or the card
 *     other rules                  0             the `Source`
 *     either, but too large        0 or 1        null
 */
export type ListingText = { text: string | null; is_rendered: number };

const isRendered = sql<number>`${properties.rendering} = ${placeholder('rendering')}`;

const listingText = (representation: Representation) => sql<string | null>`iif(${isRendered},
  ${nullIfOversized(properties[representation])}, ${nullIfOversized(properties.source)})`;

/** Returns a listing as JSON text; undefined if its text was too large. */
export function formatListing(
  { text, is_rendered }: ListingText,
  publicSiteUrl: string,
  representation: Representation,
): string | undefined {
  if (text === null) return undefined;
  if (is_rendered) return text;
  const source: Source = JSON.parse(text);
  const listing = render(source, publicSiteUrl);
  return JSON.stringify(listing && representation === 'card' ? toCard(listing) : listing);
}

const { display_order, id, status } = properties;

const listingBy = (name: 'id' | 'slug') =>
  createStatement(
    queryBuilder
      .select({
        is_rendered: isRendered.as('is_rendered'),
        text: listingText('document').as('text'),
      })
      .from(properties)
      .where(
        and(
          eq(properties[name], sql`iif(${CATALOGUE_UNCHANGED}, null, ${placeholder(name)})`),
          ne(status, 'hidden'),
        ),
      ),
  );

const BY_ID = listingBy('id');
const BY_SLUG = listingBy('slug');

type ListingRow = ListingText & { display_order: number; id: string };

/** Selects the id of the location with the requested slug. Reads one row for each status. */
const LOCATION_ID = sql`
  (select ${locations.id} from ${locations} where ${locations.slug} = ${placeholder('location')})`;

/**
 * Builds the statement that selects a page and the listing after it. SQLite reads one index range for
 * each status, and merges the ranges. The statement is written in SQL, because Drizzle's builder does
 * not accept a computed limit:
 *
 *     select display_order, id, … from properties
 *     where (display_order, id) > (?, ? || ' ') and status = ? and type = ?
 *     union all … order by display_order, id limit iif(…, 0, ?)
 */
function pageStatement({ list, filters }: FeedList) {
  const conditions = sql``;
  for (const name of FILTER_COLUMNS) {
    if (name in filters) conditions.append(sql` and ${properties[name]} = ${placeholder(name)}`);
  }
  if ('location' in filters) {
    conditions.append(sql` and ${properties.location_id} = ${LOCATION_ID}`);
  }
  const ranges = filters.status.map(
    (_, index) => sql`
      select ${display_order}, ${id}, ${isRendered} as is_rendered,
        ${listingText(REPRESENTATIONS[list])} as text
      from ${properties}
      where (${display_order}, ${id}) > (${placeholder('afterOrder')}, ${placeholder('afterId')} || ' ')
        and ${status} = ${placeholder(`status${index}`)} ${conditions}`,
  );
  return createStatement(sql<ListingRow>`${sql.join(ranges, sql` union all `)}
    order by display_order, id limit iif(${CATALOGUE_UNCHANGED}, 0, ${placeholder('maxRows')})`);
}
