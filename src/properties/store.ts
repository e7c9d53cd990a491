/** The feed's reads of listings: one D1 round trip for a page or an item. */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import * as z from 'zod';
import { type CursorScope, decodeCursor, encodeCursor, listJson } from '../http/paging.ts';
import { uuid } from '../schema.ts';
import { readD1 } from '../storage/d1.ts';
import {
  keysetPage,
  placeholder,
  readPage,
  statementOf,
  statementsOf,
  withinShare,
} from '../storage/statement.ts';
import type { FeedKind } from './feed.ts';
import type { FeedFilters } from './parameters.ts';
import { cardOf, render, renderingOf } from './render.ts';
import type { Source } from './source.ts';
import { FILTER_COLUMNS, locations, properties } from './table.ts';

/** A listing's place in the feed: by `display_order`, then `id`. */
type Position = readonly [displayOrder: number, id: string];

const position: z.ZodType<Position> = z.tuple([z.int32(), uuid]).readonly();

type PageRequest = {
  shows: 'document' | 'card';
  filters: FeedFilters;
  limit: number;
  after?: Position | undefined;
};

type ListingKey = { id: string } | { slug: string };

/** One list of the feed, at any position. */
type FeedList = Pick<PageRequest, 'shows' | 'filters'>;

function scopeOf({ shows, filters }: FeedList): CursorScope {
  return { list: shows === 'card' ? 'property-cards' : 'properties', filters };
}

/** Throws `invalid_cursor` unless the cursor is of this list. */
export function decodeListingPosition(
  cursor: string,
  list: FeedList,
): Promise<Position | undefined> {
  return decodeCursor(cursor, scopeOf(list), position);
}

/** Comes before every position: orders are 32-bit integers. */
const BEGINNING: Position = [-2_147_483_649, ''];

export const LISTING_PAGE: FeedKind<PageRequest> = {
  name: 'page',
  /** Feed read, 5. Reads `limit + 1` rows, one per further status, and per status a `location`. */
  async find(connection, publicSiteUrl, { shows, filters, limit, after = BEGINNING }) {
    const { status, ...exact } = filters;
    const values = {
      ...Object.fromEntries(status.map((each, index) => [`status${index}`, each])),
      ...exact,
      after0: after[0],
      after1: after[1],
      rendering: renderingOf(publicSiteUrl),
    };
    const statement = pageStatement({ shows, filters });
    const { items, next } = await readPage(
      limit,
      (size) => readD1(() => statement.rows(connection, { ...values, ...size })),
      (row) => documentOf(row, publicSiteUrl, shows),
    );
    const documents = items.map(({ document }) => document);
    const scope = scopeOf({ shows, filters });
    const cursor = next ? await encodeCursor(scope, [next.display_order, next.id]) : null;
    return listJson(documents, cursor);
  },
};

/** One listing. A hidden one is missing under its id and its last public slug too. */
export const LISTING: FeedKind<ListingKey> = {
  name: 'listing',
  canBeMissing: true,
  async find(connection, publicSiteUrl, key) {
    const statement = 'id' in key ? BY_ID : BY_SLUG;
    const values = { ...key, rendering: renderingOf(publicSiteUrl) };
    const [row] = await readD1(() => statement.rows(connection, values));
    const document = row && documentOf(row, publicSiteUrl, 'document');
    if (document !== undefined) return document;
    return { missing: row ? [key, { id: row.id }, { slug: row.removed_slug ?? row.slug }] : [key] };
  },
};

/** The document or card as JSON text, if it is rendered by these rules, else the `Source`. */
export type ListingText = { text: string | null; is_current: number };

type Shown = PageRequest['shows'];

const currentSql = sql`${properties.rendering} = ${placeholder('rendering')}`;

/**
 * Selects a `ListingText`. `boundSql` wraps the column of the text: it leaves out a text that may
 * not be read.
 *
 *     rendering = ? as is_current, iif(rendering = ?, document, source) as text
 */
export const listingText = (
  shows: Shown,
  boundSql: (column: SQLWrapper) => SQLWrapper,
) => sql`${currentSql} as is_current,
  iif(${currentSql}, ${boundSql(properties[shows])}, ${boundSql(properties.source)}) as text`;

/** Feed read, 6: returns a listing as JSON text; undefined if its text was left out. */
export function documentOf(
  { text, is_current }: ListingText,
  publicSiteUrl: string,
  shows: Shown,
): string | undefined {
  if (text === null) return undefined;
  if (is_current) return text;
  const source: Source = JSON.parse(text);
  const listing = render(source, publicSiteUrl);
  return JSON.stringify(listing && shows === 'card' ? cardOf(listing) : listing);
}

const { display_order, id, status, slug, removed_slug } = properties;

type Names = Pick<typeof properties.$inferSelect, 'id' | 'slug' | 'removed_slug'>;

const listingBy = (condition: SQL) =>
  statementOf(sql<ListingText & Names>`
    select ${id}, ${slug}, ${removed_slug},
      ${listingText('document', (column) => sql`iif(${status} <> 'hidden', ${column}, null)`)}
    from ${properties} where ${condition}`);

const BY_ID = listingBy(sql`${id} = ${placeholder('id')}`);
const BY_SLUG = listingBy(sql`${slug} = ${placeholder('slug')}`);

type ListingRow = ListingText & { display_order: number; id: string };

const pageStatement = statementsOf(pageQuery, ({ shows, filters }) =>
  [shows, filters.status.length, ...namesOf(filters)].join(),
);

/** The filters that compare a column with one value. */
const EXACT_FILTERS = [...FILTER_COLUMNS, 'location'] as const;

/** Returns the names of the exact filters that a request has. */
function namesOf(filters: FeedFilters) {
  return EXACT_FILTERS.filter((name) => filters[name] !== undefined);
}

/** The id of the location with the slug of the request: one row read in each range. */
const LOCATION_ID = sql`
  (select ${locations.id} from ${locations} where ${locations.slug} = ${placeholder('location')})`;

/**
 * Selects a page, and the listing after it. Each status is one range of one index, and SQLite
 * merges the ranges:
 *
 *     select display_order, id, … from properties
 *     where (display_order, id) > (?, ? || ' ') and status = ? and type = ?
 *     union all … order by display_order, id limit ?
 */
function pageQuery({ shows, filters }: FeedList): SQL<ListingRow> {
  const exact = namesOf(filters).map((name) =>
    name === 'location'
      ? sql`and ${properties.location_id} = ${LOCATION_ID} `
      : sql`and ${properties[name]} = ${placeholder(name)} `,
  );
  const range = (index: number) =>
    sql`${status} = ${placeholder(`status${index}`)} ${sql.join(exact)}`;
  return keysetPage<ListingRow>({
    columns: listingText(shows, withinShare),
    from: properties,
    ranges: [range(0), ...filters.status.slice(1).map((_, index) => range(index + 1))],
    order: [display_order, id],
  });
}
