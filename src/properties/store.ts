/** The feed's reads: one D1 round trip for a page or an item, from the nearest replica. */

import { and, asc, eq, ne, type SQL, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import { readD1 } from '../storage/d1.ts';
import {
  limited,
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

/** Where a listing stands in the feed, which is sorted by `display_order`, then `id`, ascending. */
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
 * for each of several, which are a range each.
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
    // SQLite starts reading at a position, not after it, and would read the last listing of the page
    // before again. An id and a space sort after that id and before any other.
    ...(after && { afterOrder: after[0], afterId: `${after[1]} ` }),
    rows: limit + 1,
  });
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    documents: shown.map((row) => documentOf(row, publicSiteUrl)),
    next: rows.length > shown.length && last ? [last.display_order, last.id] : null,
  };
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
function readRows(
  database: D1Database,
  publicSiteUrl: string,
  statement: Statement<FeedRow>,
  values: Values,
): Promise<FeedRow[]> {
  const session = database.withSession('first-unconstrained');
  const rendering = renderingOf(publicSiteUrl);
  return readD1(() => statement.rows(session, { ...values, rendering }));
}

/** Whether a document was rendered by these rules for this site. */
const isCurrent = sql`${properties.rendering} = ${sql.placeholder('rendering')}`;
const currentDocument = sql<string | null>`case when ${isCurrent} then ${properties.document} end`;
const staleSource = sql<string | null>`case when not ${isCurrent} then ${properties.source} end`;
/** What `documentOf` needs of a listing, and its place in the feed. */
export const columns = {
  display_order: properties.display_order,
  id: properties.id,
  current_document: currentDocument.as('current_document'),
  stale_source: staleSource.as('stale_source'),
};
const listings = () => new QueryBuilder().select(columns).from(properties);

const isPublic = ne(properties.status, 'hidden');
const key = sql.placeholder('key');
const BY_ID = statementOf(listings().where(and(eq(properties.id, key), isPublic)));
const BY_SLUG = statementOf(listings().where(and(eq(properties.slug, key), isPublic)));

/** A listing with its document when that is current, else with the source to render. */
type FeedRow = RowOf<typeof BY_ID>;

/** Pages with as many statuses and the same filters differ in values only. */
const pageStatement = statementsOf(pageQuery, ({ filters, after }) =>
  [filters.status.length, ...exactFiltersOf(filters).map(([name]) => name), !!after].join(),
);

function pageQuery({ filters, after }: PageRequest): SQL<FeedRow> {
  const rows = sql.placeholder('rows');
  const position = sql`(${sql.placeholder('afterOrder')}, ${sql.placeholder('afterId')})`;
  const ranges = filters.status.map((_, index) => {
    const isInRange = and(
      eq(properties.status, sql.placeholder(`status${index}`)),
      ...exactFiltersOf(filters).map(([name]) => eq(properties[name], sql.placeholder(name))),
      after && sql`(${properties.display_order}, ${properties.id}) > ${position}`,
    );
    const range = listings().where(isInRange);
    return limited(range.orderBy(asc(properties.display_order), asc(properties.id)), rows);
  });
  const [first, ...rest] = ranges;
  if (first === undefined) throw new Error('a page needs at least one status');
  if (rest.length === 0) return first;
  const all = ranges.map((range) => sql`select * from (${range})`);
  return limited(sql<FeedRow>`${sql.join(all, sql` union all `)} order by display_order, id`, rows);
}

/** Returns the wire resource of a public listing as JSON text: as it is stored, or rendered now. */
export function documentOf(
  { current_document, stale_source }: Pick<FeedRow, 'current_document' | 'stale_source'>,
  publicSiteUrl: string,
): string {
  if (current_document !== null) return current_document;
  return JSON.stringify(render(source.parse(JSON.parse(stale_source ?? 'null')), publicSiteUrl));
}
