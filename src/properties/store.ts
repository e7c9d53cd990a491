/** The feed's reads: one D1 round trip a page or an item, from the nearest replica. */

import { and, asc, eq, ne, type SQL, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import { readD1 } from '../storage/d1.ts';
import { limited, type Statement, statementOf, statementsOf } from '../storage/statement.ts';
import { render, renderingOf } from './render.ts';
import type { PROPERTY_TYPES, PUBLIC_STATUSES } from './resource.ts';
import { source } from './source.ts';
import { properties } from './table.ts';

export type PublicStatus = (typeof PUBLIC_STATUSES)[number];

/** Which listings. All filters that are given must fit; any of the statuses. */
export type Filters = {
  /** At least one, each once. */
  statuses: readonly PublicStatus[];
  type?: (typeof PROPERTY_TYPES)[number];
  locationId?: string;
};

/** Where a listing stands in the feed: `display_order`, then `id`, ascending. */
export type Position = readonly [displayOrder: number, id: string];

/** A page in the feed's order. */
export type Page = {
  /** Wire resources as JSON texts. */
  documents: string[];
  /** The position of the last listing when more follow, else null. */
  next: Position | null;
};

/** What names one listing. */
export type ListingKey = { id: string } | { slug: string };

type PageRequest = Filters & { limit: number; after?: Position };

/** As `columns` below: with the document that the present rules rendered, else with the source to render. */
type Row = [displayOrder: number, id: string, document: string | null, staleSource: string | null];

/**
 * One page of public listings. Reads `limit + 1` rows for one status; for several, each status is a
 * range of its own and at most twice that.
 */
export async function findPage(
  database: D1Database,
  publicSiteUrl: string,
  request: PageRequest,
): Promise<Page> {
  const { statuses, limit, type, locationId, after } = request;
  const rows = await readRows(database, pageStatement(request), {
    ...Object.fromEntries(statuses.map((status, index) => [`status${index}`, status])),
    ...(type && { type }),
    ...(locationId && { locationId }),
    // The space is what follows an id and comes before any other: SQLite begins to read at a position,
    // not behind it, and would read the last page's listing once more.
    ...(after && { afterOrder: after[0], afterId: `${after[1]} ` }),
    rows: limit + 1,
    rendering: renderingOf(publicSiteUrl),
  });
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    documents: shown.map((row) => documentOf(row, publicSiteUrl)),
    next: rows.length > shown.length && last ? [last[0], last[1]] : null,
  };
}

/** The wire resource of one public listing by id or by slug, as JSON text. */
export async function findDocument(
  database: D1Database,
  publicSiteUrl: string,
  key: ListingKey,
): Promise<string | undefined> {
  const rendering = renderingOf(publicSiteUrl);
  const [row] =
    'id' in key
      ? await readRows(database, BY_ID, { key: key.id, rendering })
      : await readRows(database, BY_SLUG, { key: key.slug, rendering });
  return row && documentOf(row, publicSiteUrl);
}

/** Reads may be served by a replica that lags: the feed tolerates that by its caches anyway. */
function readRows(
  database: D1Database,
  statement: Statement<unknown>,
  values: Record<string, string | number>,
): Promise<Row[]> {
  const session = database.withSession('first-unconstrained');
  return readD1(() => statement.bindTo(session, values).raw<Row>());
}

/** Whether the present rules, for the present site, rendered the document. */
const isCurrent = sql`${properties.rendering} = ${sql.placeholder('rendering')}`;
const columns = {
  displayOrder: properties.displayOrder,
  id: properties.id,
  document: sql`case when ${isCurrent} then ${properties.document} end`.as('current_document'),
  staleSource: sql`case when not ${isCurrent} then ${properties.source} end`.as('stale_source'),
};
const listings = () => new QueryBuilder().select(columns).from(properties);

const isPublic = ne(properties.status, 'hidden');
const BY_ID = statementOf(
  listings().where(and(eq(properties.id, sql.placeholder('key')), isPublic)),
);
const BY_SLUG = statementOf(
  listings().where(and(eq(properties.slug, sql.placeholder('key')), isPublic)),
);

/** Pages of one shape (the number of statuses, and which filters there are) differ in values only. */
const pageStatement = statementsOf(pageQuery, ({ statuses, type, locationId, after }) =>
  [statuses.length, !!type, !!locationId, !!after].join(),
);

function pageQuery(request: PageRequest): SQL {
  const rows = sql.placeholder('rows');
  const ranges = request.statuses.map((_, index) =>
    limited(
      listings()
        .where(rangeOf(index, request))
        .orderBy(asc(properties.displayOrder), asc(properties.id)),
      rows,
    ),
  );
  const [first, ...rest] = ranges;
  if (first === undefined) throw new Error('a page needs at least one status');
  if (rest.length === 0) return first;
  const all = ranges.map((range) => sql`select * from (${range})`);
  return limited(sql`${sql.join(all, sql` union all `)} order by display_order, id`, rows);
}

function rangeOf(index: number, { type, locationId, after }: PageRequest): SQL | undefined {
  const position = sql`(${sql.placeholder('afterOrder')}, ${sql.placeholder('afterId')})`;
  return and(
    eq(properties.status, sql.placeholder(`status${index}`)),
    type && eq(properties.type, sql.placeholder('type')),
    locationId ? eq(properties.locationId, sql.placeholder('locationId')) : undefined,
    after && sql`(${properties.displayOrder}, ${properties.id}) > ${position}`,
  );
}

function documentOf([, , document, staleSource]: Row, publicSiteUrl: string): string {
  if (document !== null) return document;
  return JSON.stringify(render(source.parse(JSON.parse(staleSource ?? 'null')), publicSiteUrl));
}
