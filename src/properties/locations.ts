/** The locations that listings may name, for sites that offer the filter `location_id`. */

import { type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';
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

/** A location. Its name is null when the page cannot hold it. */
type LocationRow = Omit<typeof locations.$inferSelect, 'name'> & { name: string | null };

/**
 * Finds a page of locations, from the nearest replica. Reads at most `limit + 2` rows. Sizes that have to be
 * added up cost more: see page-bound.ts.
 */
export async function findLocations(
  database: D1Database,
  { limit, after }: LocationsRequest,
): Promise<{ documents: string[]; next: LocationPosition | null }> {
  const session = database.withSession('first-unconstrained');
  const [slug, id] = after ?? ['', ''];
  const place = slug === null ? { slug: NO_SLUG, id } : { slug, id: '' };
  const values = { ...place, rows: limit + 1, share: shareOfPage(limit) };
  const rows = await readD1(() => PAGE.rows(session, values));
  const page = takePage(itemsOf(rows.slice(0, limit)));
  const last = page.at(-1);
  return {
    documents: page.map(({ document }) => document),
    next: rows.length > page.length && last ? [last.slug, last.id] : null,
  };
}

/** Makes the items of a page, up to the first that the page cannot hold, whose name is null. */
function* itemsOf(rows: readonly LocationRow[]) {
  for (const { id, slug, name } of rows) {
    if (name === null) return;
    const resource = { object: 'location', id, slug, name: JSON.parse(name) };
    const document = JSON.stringify(locationResource.parse(resource));
    yield { id, slug, document, bytes: byteLengthOf(document) };
  }
}

/** Takes the place of the slug that a location lacks. It is behind every slug. */
const NO_SLUG = '~';

const given = (name: string) => sql`${sql.placeholder(name)}`;
const { slug, id, name } = locations;
const bytes = sql`octet_length(${name})`;

/** The place of a location: the id tells those without a slug apart. */
const IN_SLUGS: Place = [sql`${slug}`, NO_ID];
const WITHOUT_SLUG: Place = [sql.raw(`'${NO_SLUG}'`), sql`${id}`];

/** Selects columns of the locations behind a place, in order. */
function listed(columnsAt: (place: Place) => SQL, [afterSlug, afterId]: Place, rows: SQL): SQL {
  // SQLite would rather take the unique index of slugs, and sort those without one at each read.
  const from = sql`from ${locations} indexed by locations_by_slug`;
  // It reads those without a slug only when there is room for them.
  return sql`
    select * from (select ${columnsAt(IN_SLUGS)} ${from}
      where ${slug} > ${afterSlug} order by slug limit ${rows})
    union all select * from (select ${columnsAt(WITHOUT_SLUG)} ${from}
      where ${slug} is null and ${id} > ${afterId} order by id limit ${rows})
    limit ${rows}`;
}

/** The texts of a location that no page of this size holds are null. */
function columnsAt([orderedBy, ownId]: Place): SQL {
  const isWanted = sql`${bytes} <= ${given('share')}
    or (${orderedBy}, ${ownId}) <= (select item->>1, item->>2 from last_that_fits)`;
  return sql`${id}, ${slug}, case when ${isWanted} then ${name} end as name`;
}

function nextItem(place: Place): SQL {
  const item = ([orderedBy, ownId]: Place) => sql`${itemOf(bytes, orderedBy, ownId)} as item`;
  return sql`select item from (${listed(item, place, sql`1`)})`;
}

const START: Place = [given('slug'), given('id')];

const PAGE = statementOf(sql<LocationRow>`
  with last_that_fits as (${lastThatFits(START, nextItem, sql.placeholder('rows'))})
  ${listed(columnsAt, START, sql`${given('rows')} + 0`)}`);
