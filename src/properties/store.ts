/** The feed's reads: one D1 round trip a page or an item, from the nearest replica. */

import { and, asc, eq, ne, type SQL, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { unionAll } from 'drizzle-orm/sqlite-core';
import { readD1 } from '../storage/d1.ts';
import { render, renderingOf } from './render.ts';
import type { PROPERTY_TYPES, PUBLIC_STATUSES } from './resource.ts';
import { source } from './source.ts';
import { properties } from './table.ts';

export type PublicStatus = (typeof PUBLIC_STATUSES)[number];

export type Filters = {
  /** At least one, each once. */
  statuses: readonly PublicStatus[];
  type?: (typeof PROPERTY_TYPES)[number];
  locationId?: string;
};

/** Where a listing stands in the feed: `display_order`, then `id`, ascending. */
export type Position = readonly [displayOrder: number, id: string];

export type Page = {
  /** Wire resources as JSON texts. */
  documents: string[];
  /** The position of the last listing when more follow, else null. */
  next: Position | null;
};

/** What names one listing. */
export type ListingKey = { id: string } | { slug: string };

type PageRequest = Filters & { limit: number; after?: Position };

/**
 * One page of public listings. Reads `limit + 1` rows for one status; for several, each status is a
 * range of its own and at most twice that.
 */
export async function findPage(
  database: D1Database,
  publicSiteUrl: string,
  request: PageRequest,
): Promise<Page> {
  const rows = await readD1(() => pageQuery(database, publicSiteUrl, request));
  const shown = rows.slice(0, request.limit);
  const last = shown.at(-1);
  return {
    documents: shown.map((row) => documentOf(row, publicSiteUrl)),
    next: rows.length > shown.length && last ? [last.displayOrder, last.id] : null,
  };
}

/** The wire resource of one public listing by id or by slug, as JSON text. */
export async function findDocument(
  database: D1Database,
  publicSiteUrl: string,
  key: ListingKey,
): Promise<string | undefined> {
  const [row] = await readD1(() =>
    nearest(database)
      .select(columns(publicSiteUrl))
      .from(properties)
      .where(
        and(
          'id' in key ? eq(properties.id, key.id) : eq(properties.slug, key.slug),
          ne(properties.status, 'hidden'),
        ),
      ),
  );
  return row && documentOf(row, publicSiteUrl);
}

function pageQuery(database: D1Database, publicSiteUrl: string, request: PageRequest) {
  const db = nearest(database);
  const { limit } = request;
  const inOrder = [asc(properties.displayOrder), asc(properties.id)];
  const range = (status: PublicStatus) =>
    db
      .select(columns(publicSiteUrl))
      .from(properties)
      .where(rangeOf(status, request))
      .orderBy(...inOrder)
      .limit(limit + 1);
  const [first, second, ...rest] = request.statuses.map((status, index) =>
    db.select().from(range(status).as(`range_${index}`)),
  );
  if (first === undefined) throw new Error('a page needs at least one status');
  if (second === undefined) return first;
  return unionAll(first, second, ...rest)
    .orderBy(sql`display_order`, sql`id`)
    .limit(limit + 1);
}

function rangeOf(status: PublicStatus, { type, locationId, after }: PageRequest): SQL | undefined {
  return and(
    eq(properties.status, status),
    type === undefined ? undefined : eq(properties.type, type),
    locationId === undefined ? undefined : eq(properties.locationId, locationId),
    after && sql`(${properties.displayOrder}, ${properties.id}) > (${after[0]}, ${after[1]})`,
  );
}

/** A row gives its document, or its source when something else than the present rules rendered it. */
function columns(publicSiteUrl: string) {
  const isCurrent = sql`${properties.rendering} = ${renderingOf(publicSiteUrl)}`;
  return {
    id: properties.id,
    displayOrder: properties.displayOrder,
    document: sql<string | null>`case when ${isCurrent} then ${properties.document} end`.as(
      'current_document',
    ),
    source: sql<string | null>`case when not ${isCurrent} then ${properties.source} end`.as(
      'stale_source',
    ),
  };
}

function documentOf(
  row: { document: string | null; source: string | null },
  publicSiteUrl: string,
): string {
  if (row.document !== null) return row.document;
  return JSON.stringify(render(source.parse(JSON.parse(row.source ?? 'null')), publicSiteUrl));
}

/** Reads may be served by a replica that lags: the feed tolerates that by its caches anyway. */
function nearest(database: D1Database) {
  // Drizzle's type asks for a D1Database; of it, it calls only what a session has too.
  return drizzle(database.withSession('first-unconstrained') as unknown as D1Database);
}
