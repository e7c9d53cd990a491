/** Reads the locations that listings may name, for sites that offer the filters `location` and `location_id`. */

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import * as z from 'zod';
import type { CursorScope } from '../http/paging.ts';
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
import { type Connection, statementOf } from '../storage/statement.ts';
import { locationResource } from './resource.ts';
import { locations } from './table.ts';
import { slug as slugText } from './text.ts';

/** The position of a location in the list: by slug, locations without a slug last, then by id. */
type LocationPosition = readonly [slug: string | null, id: string];

/** A position as a cursor carries it. */
export const locationPosition: z.ZodType<LocationPosition> = z
  .tuple([slugText.nullable(), uuid])
  .readonly();

export const LOCATIONS_SCOPE: CursorScope = { list: 'locations' };

/** A request for at most `limit` locations after a position, or from the beginning. */
export type LocationsRequest = { limit: number; after?: LocationPosition | undefined };

/** A location. Its name is null when the page cannot hold it. */
type LocationRow = Omit<typeof locations.$inferSelect, 'name'> & { name: string | null };

/** Replaces the slug of a location without one, and sorts after every slug. */
const NO_SLUG = '~';

/**
 * Finds a page of locations, as JSON texts of `LocationResource`. Reads at most `limit + 2` rows. A page that has to be
 * cut costs more: see page.ts.
 */
export async function findLocations(
  connection: Connection,
  { limit, after = ['', ''] }: LocationsRequest,
): Promise<Page<LocationPosition>> {
  const [slug, id] = after;
  // The place of a location with a slug is the slug alone.
  const place = slug === null ? { slug: NO_SLUG, id } : { slug, id: '' };
  const rows = await readD1(() => PAGE.rows(connection, { ...place, ...valuesOfPage(limit) }));
  const { documents, end } = takePage(rows, limit, documentOf);
  return { documents, next: end ? [end.slug, end.id] : null };
}

function documentOf({ id, slug, name }: LocationRow): string | undefined {
  if (name === null) return undefined;
  const resource = { object: 'location', id, slug, name: JSON.parse(name) };
  return JSON.stringify(locationResource.parse(resource));
}

const { id, slug, name } = locations;
const bytes = sql`octet_length(${name})`;

/** The place of a location with a slug, and of a location without one. */
const NAMED = sql`${slug}, ''`;
const NAMELESS = sql.raw(`'${NO_SLUG}', id`);

/**
 * Selects columns of the locations after a place, in order. SQLite reads locations without a slug only when the page
 * has room for them. The index is named, because SQLite would choose the unique index of slugs, and sort the locations
 * without a slug at each read.
 */
const listed = (
  named: SQL,
  nameless: SQL,
  [afterSlug, afterId]: readonly [SQLWrapper, SQLWrapper],
  limit: SQL,
) => sql`
  select * from (select ${named} from ${locations} indexed by locations_by_slug
    where ${slug} > ${afterSlug} order by slug limit ${limit})
  union all select * from (select ${nameless} from ${locations} indexed by locations_by_slug
    where ${slug} is null and ${id} > ${afterId} order by id limit ${limit})
  limit ${limit}`;

const START = [given('slug'), given('id')] as const;

/** Selects a location, with null in place of a name that the page cannot hold. */
const columnsAt = (place: SQL) => sql`${id}, ${slug},
  case when ${bytes} <= ${SHARE} or (${place}) <= ${LAST_THAT_FITS} then ${name} end as name`;
const itemAt = (place: SQL) => sql`json_array(${bytes}, ${place}) as item`;
const NEXT = sql`
  select item from (${listed(itemAt(NAMED), itemAt(NAMELESS), WALKED, sql`1`)})`;

const PAGE = statementOf(sql<LocationRow>`
  ${withLastThatFits(START, NEXT)}
  ${listed(columnsAt(NAMED), columnsAt(NAMELESS), START, ROWS)}`);
