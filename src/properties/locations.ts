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
import { justAfter } from './store.ts';
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
type LocationRow = Omit<typeof locations.$inferSelect, 'sort_slug' | 'name'> & {
  name: string | null;
};

/** The `sort_slug` of a location without a slug. */
const NO_SLUG = '~';

/** Finds a page of locations, as JSON texts of `LocationResource`. Reads at most `limit + 1` rows. */
export async function findLocations(
  connection: Connection,
  { limit, after = ['', ''] }: LocationsRequest,
): Promise<Page<LocationPosition>> {
  const [slug, id] = after;
  const values = { slug: slug ?? NO_SLUG, id: justAfter(id), ...valuesOfPage(limit) };
  const rows = await readD1(() => PAGE.rows(connection, values));
  const { documents, end } = takePage(rows, limit, documentOf);
  return { documents, next: end ? [end.slug, end.id] : null };
}

function documentOf({ id, slug, name }: LocationRow): string | undefined {
  if (name === null) return undefined;
  const resource = { object: 'location', id, slug, name: JSON.parse(name) };
  return JSON.stringify(locationResource.parse(resource));
}

const { id, slug, sort_slug, name } = locations;
const bytes = sql`octet_length(${name})`;
const isWanted = sql`(${bytes} <= ${SHARE} or (${sort_slug}, ${id}) <= ${LAST_THAT_FITS})`;

const listed = (columns: SQL, [afterSlug, afterId]: readonly [SQLWrapper, SQLWrapper]) => sql`
  select ${columns} from ${locations} where (${sort_slug}, ${id}) > (${afterSlug}, ${afterId})
  order by ${sort_slug}, ${id}`;

const START = [given('slug'), given('id')] as const;
const NEXT = sql`${listed(sql`json_array(${bytes}, ${sort_slug}, ${id} || ' ')`, WALKED)} limit 1`;
const PAGE = statementOf(sql<LocationRow>`
  ${withLastThatFits(START, NEXT)}
  ${listed(sql`${id}, ${slug}, case when ${isWanted} then ${name} end as name`, START)} limit ${ROWS}`);
