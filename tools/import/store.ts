/** The reads of an import. Ids travel as one JSON parameter: D1 binds at most 100. */

import { sql } from 'drizzle-orm';
import { renderingOf } from '../../src/properties/render.ts';
import type { Amenity, Location } from '../../src/properties/source.ts';
import { amenities, importStaging, locations, properties } from '../../src/properties/table.ts';
import { type Statement, statementOf, type Values } from '../../src/storage/statement.ts';
import { databaseIdentity } from '../../src/storage/table.ts';
import type { StoredListing } from './rows.ts';

/** A response with this many heads is a megabyte. */
const HEADS_PER_QUERY = 5_000;
/** A page of this many usual listings is half a megabyte. */
const LISTINGS_PER_QUERY = 50;

/** The part of a stored listing that shows whether a file changes it. */
export type Head = {
  id: string;
  hid: string | null;
  slug: string;
  status: string;
  source_hash: string;
  /** Whether it is rendered by today's rules for this site: 0 or 1. */
  is_current: number;
};

/** The database at one moment, without the listings. */
export type State = {
  /** The id of the import that was applied last. */
  lastImport: string | null;
  /** See `database_identity`. */
  generation: string;
  /** The place of the newest change of a listing. */
  newestChange: number;
  listings: number;
  locations: Location[];
  amenities: Amenity[];
};

/** The stored catalogue: its locations and amenities, and the head of each listing by its id. */
export type Catalogue = State & { heads: ReadonlyMap<string, Head> };

const STATE = statementOf(sql<Omit<State, 'locations' | 'amenities'>>`
  select
    (select ${importStaging.import_id} from ${importStaging} where kind = 'applied') as "lastImport",
    (select ${databaseIdentity.generation} from ${databaseIdentity}) as "generation",
    (select coalesce(max(${properties.change_seq}), 0) from ${properties}) as "newestChange",
    (select count(*) from ${properties}) as "listings"`);
const LOCATIONS = statementOf(sql<typeof locations.$inferSelect>`
  select id, slug, name from ${locations} order by slug, id`);
const AMENITIES = statementOf(sql<typeof amenities.$inferSelect>`
  select slug, label from ${amenities} order by slug`);

const HEADS = statementOf(sql<Head>`
  select id, source->>'$.hid' as hid, slug, status, source_hash,
    rendering = ${sql.placeholder('rendering')} as is_current
  from ${properties} where id > ${sql.placeholder('last')} order by id limit ${HEADS_PER_QUERY}`);

const STORED = `id, slug, status, source, document, change_seq, changed_at, removed_slug, former_slugs`;
const LISTINGS = statementOf(sql<StoredListing>`
  select ${sql.raw(STORED)} from ${properties}
  where id in (select value from json_each(${sql.placeholder('ids')})) order by id`);
const LISTINGS_AFTER = statementOf(sql<StoredListing>`
  select ${sql.raw(STORED)} from ${properties}
  where id > ${sql.placeholder('last')} order by id limit ${LISTINGS_PER_QUERY}`);

const USERS = statementOf(sql<{ id: string }>`
  select id from ${properties}
  where location_id in (select value from json_each(${sql.placeholder('locations')}))
    or exists (
      select 1 from json_each(source, '$.amenities') as used
      where used.value->>'slug' in (select value from json_each(${sql.placeholder('amenities')})))`);

/** Reads the state of the database. */
export async function readState(database: D1Database): Promise<State> {
  const [state] = await STATE.rows(database, {});
  if (state === undefined) throw new Error('the database has no state');
  const locationRows = await LOCATIONS.rows(database, {});
  const amenityRows = await AMENITIES.rows(database, {});
  return {
    ...state,
    locations: locationRows.map(({ id, slug, name }) => ({ id, slug, name: JSON.parse(name) })),
    amenities: amenityRows.map(({ slug, label }) => ({ slug, label: JSON.parse(label) })),
  };
}

/** Reads the state of the database, and the head of every listing. */
export async function readCatalogue(
  database: D1Database,
  publicSiteUrl: string,
): Promise<Catalogue> {
  const state = await readState(database);
  const rendering = renderingOf(publicSiteUrl);
  const heads = new Map<string, Head>();
  for await (const rows of pagesAfter(database, HEADS, HEADS_PER_QUERY, { rendering })) {
    for (const row of rows) heads.set(row.id, row);
  }
  return { ...state, heads };
}

/** Reads the rows of a statement page by page, in the order of their ids. */
async function* pagesAfter<Row extends { id: string }>(
  database: D1Database,
  statement: Statement<Row>,
  rowsPerPage: number,
  values: Values = {},
): AsyncGenerator<Row[]> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const place: Values = { ...values, last };
    const rows: Row[] = await statement.rows(database, place);
    yield rows;
    last = rows.length < rowsPerPage ? undefined : rows.at(-1)?.id;
  }
}

/** Finds at most `LISTINGS_PER_QUERY` stored listings. Returns them by id, in the order of the ids. */
export async function findListings(
  database: D1Database,
  ids: readonly string[],
): Promise<Map<string, StoredListing>> {
  if (ids.length === 0) return new Map();
  const values = { ids: JSON.stringify(ids) };
  const rows = await LISTINGS.rows(database, values);
  return new Map(rows.map((row) => [row.id, row]));
}

export function readListings(database: D1Database): AsyncGenerator<StoredListing[]> {
  return pagesAfter(database, LISTINGS_AFTER, LISTINGS_PER_QUERY);
}

/** Finds the ids of the listings that use one of the locations or amenities. */
export async function findUsers(
  database: D1Database,
  locations: readonly string[],
  amenities: readonly string[],
): Promise<string[]> {
  if (locations.length + amenities.length === 0) return [];
  const values = { locations: JSON.stringify(locations), amenities: JSON.stringify(amenities) };
  const rows = await USERS.rows(database, values);
  return rows.map(({ id }) => id);
}

/** Splits a list into lists of at most `LISTINGS_PER_QUERY` entries. */
export function pagesOf<T>(list: readonly T[]): T[][] {
  const pages = Math.ceil(list.length / LISTINGS_PER_QUERY);
  return Array.from({ length: pages }, (_, page) =>
    list.slice(page * LISTINGS_PER_QUERY, (page + 1) * LISTINGS_PER_QUERY),
  );
}
