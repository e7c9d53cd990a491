/** Reads the listings that the preview shows, including hidden ones. */

import { asc, eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { readConfig } from '../../config.ts';
import { render } from '../../properties/render.ts';
import type { Source } from '../../properties/source.ts';
import { properties } from '../../properties/table.ts';
import { readD1 } from '../../storage/d1.ts';
import type { Listing } from './missing.ts';

/** Reads all listings in the order of the feed, or only the listing with the given slug. */
export async function readListings(env: Env, slug?: string): Promise<Listing[]> {
  const { publicSiteUrl } = readConfig(env);
  const query = drizzle(env.DB)
    .select({ source: properties.source })
    .from(properties)
    .where(slug === undefined ? undefined : eq(properties.slug, slug))
    .orderBy(asc(properties.display_order), asc(properties.id));
  const rows = await readD1(() => query.all());
  return rows.flatMap((row) => {
    const source: Source = JSON.parse(row.source);
    // `render` skips hidden listings, so a hidden listing is rendered as if it were listed.
    const rendered = render({ ...source, status: 'listed' }, publicSiteUrl);
    return rendered ? { ...rendered, status: source.status } : [];
  });
}
