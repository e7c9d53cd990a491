/** The feed's reads of listings: one D1 round trip for a page or an item. */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { CursorScope } from '../http/paging.ts';
import { uuid } from '../schema.ts';
import { readD1 } from '../storage/d1.ts';
import { given, keysetPage, readPage, withinShare } from '../storage/page.ts';
import { type Connection, statementOf, statementsOf } from '../storage/statement.ts';
import type { FeedFilters } from './parameters.ts';
import { cardOf, render, renderingOf } from './render.ts';
import type { Source } from './source.ts';
import { FILTER_COLUMNS, locations, properties } from './table.ts';

/** The position of a listing in the feed, which is sorted by `display_order`, then `id`, ascending. */
type Position = readonly [displayOrder: number, id: string];

/** A position as it is in a cursor. */
export const position: z.ZodType<Position> = z.tuple([z.int32(), uuid]).readonly();

/** A request for at most `limit` listings after a position, or from the beginning, as `Property` or `PropertyCard`. */
export type PageRequest = {
  shows: 'document' | 'card';
  filters: FeedFilters;
  limit: number;
  after?: Position | undefined;
};

/** Items as JSON texts, and the position of the last item if more items follow, else null. */
export type DocumentPage<Position> = { documents: string[]; next: Position | null };

/** The key of one listing. */
export type ListingKey = { id: string } | { slug: string };

export function propertiesScope({
  shows,
  filters,
}: Pick<PageRequest, 'shows' | 'filters'>): CursorScope {
  return { list: shows === 'card' ? 'property-cards' : 'properties', filters };
}

/** Comes before every position: orders are 32-bit integers. */
const BEGINNING: Position = [-2_147_483_649, ''];

/**
 * Finds a page of public listings, as JSON texts. Reads `limit + 1` rows, and one more for each further status; with
 * `location`, one more for each status.
 */
export async function findPage(
  connection: Connection,
  publicSiteUrl: string,
  { shows, filters, limit, after = BEGINNING }: PageRequest,
): Promise<DocumentPage<Position>> {
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
  return { documents, next: next ? [next.display_order, next.id] : null };
}

/** Finds one public listing, as JSON text of a `Property`. */
export async function findDocument(
  connection: Connection,
  publicSiteUrl: string,
  key: ListingKey,
): Promise<string | undefined> {
  const statement = 'id' in key ? BY_ID : BY_SLUG;
  const values = { ...key, rendering: renderingOf(publicSiteUrl) };
  const [row] = await readD1(() => statement.rows(connection, values));
  return row && documentOf(row, publicSiteUrl, 'document');
}

/** A listing as JSON text: the document or card if it is rendered by these rules for this site, else the `Source`. */
export type ListingText = { text: string | null; is_current: number };

type Shown = PageRequest['shows'];

const isCurrent = sql`${properties.rendering} = ${given('rendering')}`;

/** Selects the `is_current` of a `ListingText`, and its `text` by `select`. */
export const listingText = (
  shows: Shown,
  select: (column: SQLWrapper) => SQLWrapper,
) => sql`${isCurrent} as is_current,
  iif(${isCurrent}, ${select(properties[shows])}, ${select(properties.source)}) as text`;

/** Returns a listing as JSON text; undefined if its text was left out. */
export function documentOf(
  { text, is_current }: ListingText,
  publicSiteUrl: string,
  shows: Shown,
): string | undefined {
  if (text === null || is_current) return text ?? undefined;
  const source: Source = JSON.parse(text);
  const listing = render(source, publicSiteUrl);
  return JSON.stringify(listing && shows === 'card' ? cardOf(listing) : listing);
}

const { display_order, id, status, slug } = properties;

const BY_ID = statementOf(sql<ListingText>`
  select ${listingText('document', (column) => column)} from ${properties}
  where ${id} = ${given('id')} and ${status} <> 'hidden'`);

const BY_SLUG = statementOf(sql<ListingText>`
  select ${listingText('document', (column) => column)} from ${properties}
  where ${slug} = ${given('slug')} and ${status} <> 'hidden'`);

type ListingRow = ListingText & { display_order: number; id: string };

type Shape = Pick<PageRequest, 'shows' | 'filters'>;

/** Statements of one shape differ in their values only. */
const pageStatement = statementsOf(pageQuery, ({ shows, filters }) =>
  [shows, filters.status.length, ...namesOf(filters)].join(),
);

const EXACT_FILTERS = [...FILTER_COLUMNS, 'location'] as const;

function namesOf(filters: FeedFilters) {
  return EXACT_FILTERS.filter((name) => filters[name] !== undefined);
}

/** The id of the location with the slug of the request: one row read in each range. */
const LOCATION_ID = sql`
  (select ${locations.id} from ${locations} where ${locations.slug} = ${given('location')})`;

/** Selects a page, and the listing after it. Each status is one range of one index, and SQLite merges the ranges. */
function pageQuery({ shows, filters }: Shape): SQL<ListingRow> {
  const exact = namesOf(filters).map((name) =>
    name === 'location'
      ? sql`and ${properties.location_id} = ${LOCATION_ID} `
      : sql`and ${properties[name]} = ${given(name)} `,
  );
  const range = (index: number) => sql`${status} = ${given(`status${index}`)} ${sql.join(exact)}`;
  return keysetPage<ListingRow>({
    columns: listingText(shows, withinShare),
    from: properties,
    ranges: [range(0), ...filters.status.slice(1).map((_, index) => range(index + 1))],
    order: [display_order, id],
  });
}
