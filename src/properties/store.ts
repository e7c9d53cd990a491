/** The feed's reads of listings: one D1 round trip for a page or an item, from the nearest replica. */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { CursorScope } from '../http/cursor.ts';
import { uuid } from '../http/uuid.ts';
import { readD1 } from '../storage/d1.ts';
import {
  given,
  LAST_THAT_FITS,
  type Page,
  ROWS,
  SHARE,
  takePage,
  valuesOfPage,
  WALKED,
  withLastThatFits,
} from '../storage/page.ts';
import { type Statement, statementOf, statementsOf, type Values } from '../storage/statement.ts';
import type { FeedFilters } from './parameters.ts';
import { render, renderingOf } from './render.ts';
import { source } from './source.ts';
import { FILTER_COLUMNS, properties } from './table.ts';
import { order } from './text.ts';

/** The position of a listing in the feed, which is sorted by `display_order`, then `id`, ascending. */
export type Position = readonly [displayOrder: number, id: string];

/** A position as a cursor carries it. */
export const position: z.ZodType<Position> = z.tuple([order, uuid]).readonly();

/** Asks for at most `limit` listings after a position, or from the beginning. */
export type PageRequest = { filters: FeedFilters; limit: number; after?: Position | undefined };

/** The key of one listing. */
export type ListingKey = { id: string } | { slug: string };

/** Returns the scope of the cursors of a list with these filters. */
export function propertiesScope(filters: FeedFilters): CursorScope {
  return { list: 'properties', filters };
}

/** Comes before every position: orders are 32-bit integers. */
const BEGINNING: Position = [-2_147_483_649, ''];

/**
 * Finds a page of public listings, as JSON texts of `Property`. Reads `limit + 1` rows, and one more for each
 * further status. Sizes that have to be added up cost more: see page.ts.
 */
export async function findPage(
  database: D1Database,
  publicSiteUrl: string,
  request: PageRequest,
): Promise<Page<Position>> {
  const { filters, limit, after = BEGINNING } = request;
  const { status, ...exact } = filters;
  const rows = await readRows(database, publicSiteUrl, pageStatement(filters), {
    ...Object.fromEntries(status.map((each, index) => [`status${index}`, each])),
    ...exact,
    afterOrder: after[0],
    afterId: behind(after[1]),
    ...valuesOfPage(limit, status.length),
  });
  const { documents, end } = takePage(rows, limit, (row) => documentOf(row, publicSiteUrl));
  return { documents, next: end ? [end.display_order, end.id] : null };
}

/** Finds one public listing, as JSON text of a `Property`. */
export async function findDocument(
  database: D1Database,
  publicSiteUrl: string,
  key: ListingKey,
): Promise<string | undefined> {
  const [row] =
    'id' in key
      ? await readRows(database, publicSiteUrl, BY_ID, key)
      : await readRows(database, publicSiteUrl, BY_SLUG, key);
  return row && documentOf(row, publicSiteUrl);
}

/** Reads from the nearest replica. It may lag, and the caches make answers older than that anyway. */
function readRows<Row>(
  database: D1Database,
  publicSiteUrl: string,
  statement: Statement<Row>,
  values: Values,
): Promise<Row[]> {
  const session = database.withSession('first-unconstrained');
  return readD1(() =>
    statement.rows(session, { ...values, rendering: renderingOf(publicSiteUrl) }),
  );
}

/**
 * Returns a text that sorts behind an id and before any other id. SQLite starts reading at a place, not behind
 * it, and would read the listing with the id again.
 */
export function behind(id: string): string {
  return `${id} `;
}

/** A listing as JSON text, of a `Property` when these rules rendered it for this site, else of a `Source`. */
export type ListingText = { text: string | null; is_current: number };

const isCurrent = sql`${properties.rendering} = ${given('rendering')}`;

/** Selects a `ListingText`. `text` is null where `isWanted` is false. */
export const listingTextWhere = (isWanted: SQL) => sql`${isCurrent} as is_current,
  case when ${isWanted} then iif(${isCurrent}, ${properties.document}, ${properties.source}) end as text`;

/**
 * The size of a listing, towards the bound of its page. A source counts by half until it is rendered:
 * it is usually larger than the `Property` made of it.
 */
export const LISTING_BYTES = sql`
  iif(${isCurrent}, octet_length(${properties.document}), octet_length(${properties.source}) / 2)`;

/** Returns a listing as JSON text of a `Property`; undefined when its text was left out. */
export function documentOf(
  { text, is_current }: ListingText,
  publicSiteUrl: string,
): string | undefined {
  if (text === null) return undefined;
  return is_current ? text : JSON.stringify(render(source.parse(JSON.parse(text)), publicSiteUrl));
}

const { display_order, id, status, slug } = properties;

const BY_ID = statementOf(sql<ListingText>`
  select ${listingTextWhere(sql`true`)} from ${properties}
  where ${id} = ${given('id')} and ${status} <> 'hidden'`);

const BY_SLUG = statementOf(sql<ListingText>`
  select ${listingTextWhere(sql`true`)} from ${properties}
  where ${slug} = ${given('slug')} and ${status} <> 'hidden'`);

type PageRow = ListingText & { display_order: number; id: string };

/** Pages with as many statuses and the same filters differ in values only. */
const pageStatement = statementsOf(pageQuery, (filters) =>
  [filters.status.length, ...namesOf(filters)].join(),
);

function namesOf(filters: FeedFilters) {
  return FILTER_COLUMNS.filter((name) => filters[name] !== undefined);
}

/** Selects a page, and the listing behind it. Each status is one range of one index, and SQLite merges the ranges. */
function pageQuery(filters: FeedFilters): SQL<PageRow> {
  const exact = namesOf(filters).map((name) => sql`and ${properties[name]} = ${given(name)} `);
  const listed = (columns: SQL, [afterOrder, afterId]: readonly [SQLWrapper, SQLWrapper]) => {
    const ranges = filters.status.map(
      (_, index) => sql`
        select ${display_order}, ${id}, ${columns} from ${properties}
        where ${status} = ${given(`status${index}`)} ${sql.join(exact)}
          and (${display_order}, ${id}) > (${afterOrder}, ${afterId})`,
    );
    return sql`${sql.join(ranges, sql` union all `)} order by display_order, id`;
  };
  const start = [given('afterOrder'), given('afterId')] as const;
  const item = sql`json_array(${LISTING_BYTES}, ${display_order}, ${id} || ' ') as item`;
  const isWanted = sql`
    (${LISTING_BYTES} <= ${SHARE} or (${display_order}, ${id}) <= ${LAST_THAT_FITS})`;
  return sql<PageRow>`
    ${withLastThatFits(start, sql`select item from (${listed(item, WALKED)} limit 1)`)}
    ${listed(listingTextWhere(isWanted), start)} limit ${ROWS}`;
}
