/**
 * The hidden listings, for the preview only: the feed never shows them. Each is rendered by the feed's own
 * rules, as if it were listed.
 */

import { and, asc, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { render } from '../../properties/render.ts';
import type { Property } from '../../properties/resource.ts';
import { source } from '../../properties/source.ts';
import { properties } from '../../properties/table.ts';
import { readD1 } from '../../storage/d1.ts';

/** A listing that the site does not show, with the fields of a property. */
export type HiddenProperty = Omit<Property, 'status'> & { status: 'hidden' };

/** A page ends behind this many listings. */
const PAGE_LISTINGS = 100;

/**
 * Finds a page of hidden listings in the order of the feed. `afterId` is the id of the last listing of the
 * page before. `next` is the `afterId` of the next page, or null when there is none.
 */
export async function findHiddenPage(
  database: D1Database,
  publicSiteUrl: string,
  afterId: string | undefined,
): Promise<{ listings: HiddenProperty[]; next: string | null }> {
  const { display_order, id, status } = properties;
  const place = sql`(${display_order}, ${id})`;
  const isBehind =
    afterId === undefined
      ? undefined
      : sql`${place} > (select ${display_order}, ${id} from ${properties} where ${id} = ${afterId})`;
  const query = drizzle(database)
    .select({ id, source: properties.source })
    .from(properties)
    .where(and(eq(status, 'hidden'), isBehind))
    .orderBy(asc(display_order), asc(id))
    .limit(PAGE_LISTINGS + 1);
  const rows = await readD1(() => query.all());
  const page = rows.slice(0, PAGE_LISTINGS);
  return {
    listings: page.map((row) => hiddenPropertyOf(row.source, publicSiteUrl)),
    next: rows.length > page.length ? (page.at(-1)?.id ?? null) : null,
  };
}

/** Finds one hidden listing by its slug. */
export async function findHidden(
  database: D1Database,
  publicSiteUrl: string,
  slug: string,
): Promise<HiddenProperty | undefined> {
  const query = drizzle(database)
    .select({ source: properties.source })
    .from(properties)
    .where(and(eq(properties.slug, slug), eq(properties.status, 'hidden')));
  const row = await readD1(() => query.get());
  return row && hiddenPropertyOf(row.source, publicSiteUrl);
}

function hiddenPropertyOf(stored: string, publicSiteUrl: string): HiddenProperty {
  const listing = source.parse(JSON.parse(stored));
  const rendered = render({ ...listing, status: 'listed' }, publicSiteUrl);
  if (rendered === null) throw new Error(`the listing ${listing.id} is rendered to nothing`);
  return { ...rendered, status: 'hidden' };
}
