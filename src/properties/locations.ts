/** The locations that listings may name, for sites that offer the filter `location_id`. */

import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { readD1 } from '../storage/d1.ts';
import { statementOf } from '../storage/statement.ts';
import { location } from './resource.ts';
import { locations } from './table.ts';

/** A location as a resource of its own. */
export const locationResource = z
  .strictObject({ object: z.literal('location'), ...location.shape })
  .meta({ id: 'LocationResource', description: 'A place that listings may name.' });

export type LocationResource = z.infer<typeof locationResource>;

/** The place of a location in the list: by slug, those without one last, then by id. */
export type LocationPosition = readonly [slug: string | null, id: string];

export type LocationsRequest = { limit: number; after?: LocationPosition | undefined };

type LocationRow = typeof locations.$inferSelect;

/** Finds a page of locations, from the nearest replica. Reads at most `limit + 2` rows. */
export async function findLocations(
  database: D1Database,
  { limit, after }: LocationsRequest,
): Promise<{ documents: string[]; next: LocationPosition | null }> {
  const session = database.withSession('first-unconstrained');
  const [slug, id] = after ?? ['', ''];
  const values = { slug: slug ?? '', id, rows: limit + 1 };
  const statement = slug === null ? WITHOUT_SLUG : ALL;
  const rows = await readD1(() => statement.rows(session, values));
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    documents: shown.map((row) => JSON.stringify(resourceOf(row))),
    next: rows.length > shown.length && last ? [last.slug, last.id] : null,
  };
}

function resourceOf({ id, slug, name }: LocationRow): z.infer<typeof locationResource> {
  return locationResource.parse({ object: 'location', id, slug, name: JSON.parse(name) });
}

const rows = sql`limit ${sql.placeholder('rows')} + 0`;
// SQLite would rather take the unique index of slugs, and sort those without one at each read.
const columns = sql`select ${locations.id}, ${locations.slug}, ${locations.name}
  from ${locations} indexed by locations_by_slug`;
const withoutSlug = sql`${columns} where ${locations.slug} is null
  and ${locations.id} > ${sql.placeholder('id')} order by id ${rows}`;

const WITHOUT_SLUG = statementOf(sql<LocationRow>`${withoutSlug}`);

/** Every location without a slug follows after those with one. SQLite reads them only when there is room. */
const ALL = statementOf(sql<LocationRow>`
  select * from (${columns} where ${locations.slug} > ${sql.placeholder('slug')} order by slug ${rows})
  union all select * from (${columns} where ${locations.slug} is null order by id ${rows}) ${rows}`);
