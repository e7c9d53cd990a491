/**
 * The hidden listings, for the preview only: the feed never shows them. Each is rendered by the feed's own rules, as if
 * it were listed.
 */

import { and, asc, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { render } from '../../properties/render.ts';
import type { Property } from '../../properties/resource.ts';
import { source } from '../../properties/source.ts';
import { properties } from '../../properties/table.ts';
import { readD1 } from '../../storage/d1.ts';

/** A listing that the site does not show, with the fields of a property. */
type HiddenProperty = Omit<Property, 'status'> & { status: 'hidden' };

/** Listings per page. */
const PAGE_LISTINGS = 100;

/** A request for the hidden listings after the listing `afterId`, or for the listing of a slug. */
type HiddenRequest = { afterId?: string | undefined; slug?: string | undefined };

/**
 * Finds a page of hidden listings, in the order of the feed. `next` is the `afterId` of the next page, or null on the
 * last page.
 */
export async function findHidden(
  database: D1Database,
  publicSiteUrl: string,
  request: HiddenRequest,
): Promise<{ listings: HiddenProperty[]; next: string | null }> {
  const { display_order, id, slug, status } = properties;
  const isAfter = sql`(${display_order}, ${id}) >
    (select ${display_order}, ${id} from ${properties} where ${id} = ${request.afterId})`;
  const query = drizzle(database)
    .select({ id, source: properties.source })
    .from(properties)
    .where(
      and(
        eq(status, 'hidden'),
        request.afterId === undefined ? undefined : isAfter,
        request.slug === undefined ? undefined : eq(slug, request.slug),
      ),
    )
    .orderBy(asc(display_order), asc(id))
    .limit(PAGE_LISTINGS + 1);
  const rows = await readD1(() => query.all());
  const page = rows.slice(0, PAGE_LISTINGS);
  return {
    listings: page.map((row) => hiddenPropertyOf(row.source, publicSiteUrl)),
    next: rows.length > page.length ? (page.at(-1)?.id ?? null) : null,
  };
}

function hiddenPropertyOf(stored: string, publicSiteUrl: string): HiddenProperty {
  const listing = source.parse(JSON.parse(stored));
  const rendered = render({ ...listing, status: 'listed' }, publicSiteUrl);
  if (rendered === null) throw new Error(`the listing ${listing.id} is rendered to nothing`);
  return { ...rendered, status: 'hidden' };
}
