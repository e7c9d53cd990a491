/** Reads the locations that listings may name. */

import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { type CursorScope, decodeCursor, encodeCursor, listJson } from '../http/paging.ts';
import { uuid } from '../schema.ts';
import { readD1 } from '../storage/d1.ts';
import { keysetPage, readPage, statementOf, withinShare } from '../storage/statement.ts';
import type { FeedKind } from './feed.ts';
import { slug as slugText } from './slug.ts';
import { locations } from './table.ts';

/** The position of a location in the list: by slug, locations without a slug last, then by id. */
type LocationPosition = readonly [slug: string | null, id: string];

const position: z.ZodType<LocationPosition> = z.tuple([slugText.nullable(), uuid]).readonly();

const SCOPE: CursorScope = { list: 'locations' };

/** Throws `invalid_cursor` unless the cursor is of this list. */
export function decodeLocationPosition(cursor: string | undefined) {
  return decodeCursor(cursor, SCOPE, position);
}

type LocationsRequest = { limit: number; after?: LocationPosition | undefined };

/** The name is null if it was left out. */
type LocationRow = Omit<typeof locations.$inferSelect, 'sort_slug' | 'name'> & {
  name: string | null;
};

/** The `sort_slug` of a location without a slug. */
const NO_SLUG = '~';

export const LOCATION_PAGE: FeedKind<LocationsRequest> = {
  name: 'locations',
  /** Reads at most `limit + 1` rows. */
  async find(connection, _, { limit, after: [slug, id] = ['', ''] }) {
    const place = { after0: slug ?? NO_SLUG, after1: id };
    const { items, next } = await readPage(
      limit,
      (size) => readD1(() => PAGE.rows(connection, { ...place, ...size })),
      documentOf,
    );
    const documents = items.map(({ document }) => document);
    const last = next && [next.slug, next.id];
    return listJson(documents, last ? await encodeCursor(SCOPE, last) : null);
  },
};

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
