/** Reads the locations that listings may name, for sites that offer the filters `location` and `location_id`. */

import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { CursorScope } from '../http/paging.ts';
import { uuid } from '../schema.ts';
import { readD1 } from '../storage/d1.ts';
import { keysetPage, readPage, withinShare } from '../storage/page.ts';
import { type Connection, statementOf } from '../storage/statement.ts';
import { slug as slugText } from './slug.ts';
import type { DocumentPage } from './store.ts';
import { locations } from './table.ts';

/** The position of a location in the list: by slug, locations without a slug last, then by id. */
type LocationPosition = readonly [slug: string | null, id: string];

/** A position as it is in a cursor. */
export const locationPosition: z.ZodType<LocationPosition> = z
  .tuple([slugText.nullable(), uuid])
  .readonly();

export const LOCATIONS_SCOPE: CursorScope = { list: 'locations' };

/** A request for at most `limit` locations after a position, or from the beginning. */
export type LocationsRequest = { limit: number; after?: LocationPosition | undefined };

/** A location. Its name is null if it was left out. */
type LocationRow = Omit<typeof locations.$inferSelect, 'sort_slug' | 'name'> & {
  name: string | null;
};

/** The `sort_slug` of a location without a slug. */
const NO_SLUG = '~';

/** Finds a page of locations, as JSON texts of `LocationResource`. Reads at most `limit + 1` rows. */
export async function findLocations(
  connection: Connection,
  { limit, after = ['', ''] }: LocationsRequest,
): Promise<DocumentPage<LocationPosition>> {
  const [slug, id] = after;
  const place = { after0: slug ?? NO_SLUG, after1: id };
  const { items, next } = await readPage(
    limit,
    (size) => readD1(() => PAGE.rows(connection, { ...place, ...size })),
    documentOf,
  );
  const documents = items.map(({ document }) => document);
  return { documents, next: next ? [next.slug, next.id] : null };
}

function documentOf({ id, slug, name }: LocationRow): string | undefined {
  if (name === null) return undefined;
  const head = JSON.stringify({ object: 'location', id, slug });
  return `${head.slice(0, -1)},"name":${name}}`;
}

const { id, slug, sort_slug, name } = locations;

const PAGE = statementOf(
  keysetPage<LocationRow>({
    columns: sql`${slug}, ${withinShare(name)} as name`,
    from: locations,
    ranges: [sql`true`],
    order: [sort_slug, id],
  }),
);
