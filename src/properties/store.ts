/** The feed's reads: one D1 round trip for a page or an item, from the nearest replica. */

import { and, asc, eq, ne, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { QueryBuilder, type SelectedFields } from 'drizzle-orm/sqlite-core';
import { readD1 } from '../storage/d1.ts';
import {
  byteLengthOf,
  itemOf,
  lastThatFits,
  NO_ID,
  type Place,
  shareOfPage,
  takePage,
} from '../storage/page-bound.ts';
import {
  type RowOf,
  type Statement,
  statementOf,
  statementsOf,
  type Values,
} from '../storage/statement.ts';
import { exactFiltersOf, type FeedFilters } from './filters.ts';
import { render, renderingOf } from './render.ts';
import { source } from './source.ts';
import { properties } from './table.ts';

/** The position of a listing in the feed, which is sorted by `display_order`, then `id`, ascending. */
export type Position = readonly [displayOrder: number, id: string];

/** Asks for at most `limit` listings after a position, or from the beginning. */
export type PageRequest = { filters: FeedFilters; limit: number; after?: Position | undefined };

export type FeedPage = {
  /** Wire resources as JSON texts. */
  documents: string[];
  /** The position of the last listing when more follow, else null. */
  next: Position | null;
};

/** The key of one listing. */
export type ListingKey = { id: string } | { slug: string };

/**
 * Finds a page of public listings. Reads `limit + 1` rows for one status, and at most twice as many
 * for each of several, which are a range each. Sizes that have to be added up cost more: see page-bound.ts.
 */
export async function findPage(
  database: D1Database,
  publicSiteUrl: string,
  request: PageRequest,
): Promise<FeedPage> {
  const { filters, limit, after } = request;
  const rows = await readRows(database, publicSiteUrl, pageStatement(request), {
    ...Object.fromEntries(filters.status.map((status, index) => [`status${index}`, status])),
    ...Object.fromEntries(exactFiltersOf(filters)),
    ...(after && { afterOrder: after[0], afterId: after[1] }),
    rows: limit + 1,
    share: shareOfPage(limit * filters.status.length),
  });
  const page = takePage(itemsOf(rows.slice(0, limit), publicSiteUrl));
  const last = page.at(-1);
  return {
    documents: page.map(({ document }) => document),
    next: rows.length > page.length && last ? [last.display_order, last.id] : null,
  };
}

/** Makes the items of a page, up to the first that the page cannot hold, whose texts are null. */
function* itemsOf(rows: readonly PageRow[], publicSiteUrl: string) {
  for (const { bytes, ...row } of rows) {
    const document = documentOf(row, publicSiteUrl);
    if (document === undefined) return;
    // The database knows the size of what it gives as it is stored.
    yield { ...row, document, bytes: row.current_document ? bytes : byteLengthOf(document) };
  }
}

/** Finds the wire resource of one public listing, as JSON text. */
export async function findDocument(
  database: D1Database,
  publicSiteUrl: string,
  key: ListingKey,
): Promise<string | undefined> {
  const [row] =
    'id' in key
      ? await readRows(database, publicSiteUrl, BY_ID, { key: key.id })
      : await readRows(database, publicSiteUrl, BY_SLUG, { key: key.slug });
  return row && documentOf(row, publicSiteUrl);
}

/** Reads from the nearest replica. It may lag, and the caches make answers older than that anyway. */
function readRows<Row extends FeedRow>(
  database: D1Database,
  publicSiteUrl: string,
  statement: Statement<Row>,
  values: Values,
): Promise<Row[]> {
  const session = database.withSession('first-unconstrained');
  const rendering = renderingOf(publicSiteUrl);
  return readD1(() => statement.rows(session, { ...values, rendering }));
}

/** Tells whether a document was rendered by these rules for this site. */
const isCurrent = sql`${properties.rendering} = ${sql.placeholder('rendering')}`;

/** The place of a listing in the feed, and what `documentOf` needs of it: texts only where `isWanted`. */
export const columnsOf = (isWanted: SQL) => {
  const document = sql<string | null>`
    case when ${isCurrent} and ${isWanted} then ${properties.document} end`;
  const source = sql<string | null>`
    case when not ${isCurrent} and ${isWanted} then ${properties.source} end`;
  return {
    display_order: properties.display_order,
    id: properties.id,
    current_document: document.as('current_document'),
    stale_source: source.as('stale_source'),
  };
};
const listings = () => new QueryBuilder().select(columnsOf(sql`true`)).from(properties);

/**
 * The size of a listing, towards the bound of its page. A source counts by half until it is rendered:
 * it is usually larger than what it renders to.
 */
export const bytes = sql<number>`
  case when ${isCurrent} then octet_length(${properties.document})
    else octet_length(${properties.source}) / 2 end`;

const isPublic = ne(properties.status, 'hidden');
const key = sql.placeholder('key');
const BY_ID = statementOf(listings().where(and(eq(properties.id, key), isPublic)));
const BY_SLUG = statementOf(listings().where(and(eq(properties.slug, key), isPublic)));

/** A listing with its document when that is current, else with the source to render. */
type FeedRow = RowOf<typeof BY_ID>;
type PageRow = FeedRow & { bytes: number };

/** Pages with as many statuses and the same filters differ in values only. */
const pageStatement = statementsOf(pageQuery, ({ filters, after }) =>
  [filters.status.length, ...exactFiltersOf(filters).map(([name]) => name), !!after].join(),
);

/** Selects a page, and the listing behind it. The texts of a listing that no such page holds are null. */
function pageQuery(request: PageRequest): SQL<PageRow> {
  const { display_order, id } = properties;
  const after: Place | undefined = request.after && [given('afterOrder'), behind(given('afterId'))];
  const next = (place: Place) => {
    const item = itemOf(bytes, display_order, behind(id)).as('item');
    return sql`select item from (${listed(request, { display_order, id, item }, place, sql`1`)})`;
  };
  const last = lastThatFits(after ?? BEGINNING, next, sql.placeholder('rows'));
  const isWanted = sql`(${bytes} <= ${given('share')}
    or (${display_order}, ${id}) <= (select item->>1, item->>2 from last_that_fits))`;
  const columns = { ...columnsOf(isWanted), size: bytes.as('bytes') };
  // Written once for all ranges, because D1 binds at most 100 values.
  return sql<PageRow>`with last_that_fits as (${last})
    ${listed(request, columns, after, sql`${given('rows')} + 0`)}`;
}

const given = (name: string) => sql`${sql.placeholder(name)}`;

/**
 * SQLite starts reading at a place, not behind it, and would read the listing there again. An id and a
 * space sort behind that id and before any other.
 */
export const behind = (id: SQLWrapper) => sql`${id} || ' '`;

/** A place that every listing comes behind: orders are 32-bit integers. */
const BEGINNING: Place = [sql.raw('-2147483649'), NO_ID];

/** Selects columns of the listings behind a place, in order. Each status is a range of its own. */
function listed(
  { filters }: PageRequest,
  columns: SelectedFields,
  place: Place | undefined,
  rows: SQL,
): SQL {
  const { display_order, id, status } = properties;
  const ranges = filters.status.map((_, index) => {
    const isInRange = and(
      eq(status, sql.placeholder(`status${index}`)),
      ...exactFiltersOf(filters).map(([name]) => eq(properties[name], sql.placeholder(name))),
      place && sql`(${display_order}, ${id}) > (${place[0]}, ${place[1]})`,
    );
    const range = new QueryBuilder().select(columns).from(properties).where(isInRange);
    return sql`${range.orderBy(asc(display_order), asc(id)).getSQL()} limit ${rows}`;
  });
  const [first, ...rest] = ranges;
  if (first === undefined) throw new Error('a page needs at least one status');
  if (rest.length === 0) return first;
  const all = ranges.map((range) => sql`select * from (${range})`);
  return sql`${sql.join(all, sql` union all `)} order by display_order, id limit ${rows}`;
}

/**
 * Returns the wire resource of a public listing as JSON text: as it is stored, or rendered now.
 * Returns undefined for a row without texts.
 */
export function documentOf(
  { current_document, stale_source }: Pick<FeedRow, 'current_document' | 'stale_source'>,
  publicSiteUrl: string,
): string | undefined {
  if (stale_source === null) return current_document ?? undefined;
  return JSON.stringify(render(source.parse(JSON.parse(stale_source)), publicSiteUrl));
}
