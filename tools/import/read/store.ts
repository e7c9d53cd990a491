/** The reads of an import. Ids travel as one JSON parameter: D1 binds at most 100. */

import { sql } from 'drizzle-orm';
import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { amenities, importStaging, locations, properties } from '../../../src/properties/table.ts';
import { statementOf } from '../../../src/storage/statement.ts';
import { databaseIdentity } from '../../../src/storage/table.ts';

/** A response with this many summaries is a megabyte. */
const SUMMARIES_PER_QUERY = 5_000;
/** A page of this many usual listings is half a megabyte. */
const LISTINGS_PER_QUERY = 50;

/** The part of a stored listing that shows whether a file changes it. Several may have one `hid`. */
type ListingSummary = Pick<
  typeof properties.$inferSelect,
  'id' | 'slug' | 'status' | 'source_hash' | 'rendering'
> & { hid: string | null };

/** A stored listing, with the columns that an import compares or keeps. */
export type StoredListing = Omit<
  typeof properties.$inferSelect,
  'type' | 'location_id' | 'display_order' | 'rendering' | 'source_hash' | 'card' | 'source'
> & { listing: Source };

/** `lastImport` shows whether the store has changed since. The others place new changes. */
type State = {
  /** The id of the import that was applied last, which it leaves as the `applied` row. */
  lastImport: string | null;
  /** See `database_identity`. */
  generation: string;
  /** The place of the newest change of a listing. */
  newestChange: number;
};

/** `summaries` has each listing by its id. */
export type Catalogue = State & {
  locations: Location[];
  amenities: Amenity[];
  summaries: ReadonlyMap<string, ListingSummary>;
};

const STATE = statementOf(sql<State>`
  select
    (select ${importStaging.import_id} from ${importStaging} where kind = 'applied') as "lastImport",
    (select ${databaseIdentity.generation} from ${databaseIdentity}) as "generation",
    (select coalesce(max(${properties.change_seq}), 0) from ${properties}) as "newestChange"`);
const LOCATIONS = statementOf(sql<typeof locations.$inferSelect>`
  select id, slug, name from ${locations} order by slug, id`);
const AMENITIES = statementOf(sql<typeof amenities.$inferSelect>`
  select slug, label from ${amenities} order by slug`);

const SUMMARIES = statementOf(sql<ListingSummary>`
  select id, source->>'$.hid' as hid, slug, status, source_hash, rendering
  from ${properties} where id > ${sql.placeholder('last')} order by id limit ${SUMMARIES_PER_QUERY}`);

const LISTINGS = statementOf(sql<Omit<StoredListing, 'listing'> & { source: string }>`
  select id, slug, status, source, document, change_seq, changed_at, removed_slug, former_slugs
  from ${properties}
  join (select key as place, value as wanted_id from json_each(${sql.placeholder('ids')})) on id = wanted_id
  order by place`);

const LISTINGS_USING = statementOf(sql<{ id: string }>`
  select id from ${properties}
  where location_id in (select value from json_each(${sql.placeholder('keys')}))
    or exists (
      select 1 from json_each(source, '$.amenities') as used
      where used.value->>'slug' in (select value from json_each(${sql.placeholder('keys')})))`);

export async function readState(database: D1Database): Promise<State> {
  const [state] = await STATE.rows(database, {});
  if (state === undefined) throw new Error('the database has no state');
  return state;
}

/** Reads the state first: an import that is applied during the next reads is noticed later. */
export async function readCatalogue(database: D1Database): Promise<Catalogue> {
  const state = await readState(database);
  const locationRows = await LOCATIONS.rows(database, {});
  const amenityRows = await AMENITIES.rows(database, {});
  const summaries = new Map<string, ListingSummary>();
  for (let last: string | undefined = ''; last !== undefined; ) {
    const rows: ListingSummary[] = await SUMMARIES.rows(database, { last });
    for (const row of rows) summaries.set(row.id, row);
    last = rows.length < SUMMARIES_PER_QUERY ? undefined : rows.at(-1)?.id;
  }
  return {
    ...state,
    locations: locationRows.map(({ id, slug, name }) => ({ id, slug, name: JSON.parse(name) })),
    amenities: amenityRows.map(({ slug, label }) => ({ slug, label: JSON.parse(label) })),
    summaries,
  };
}

/** Reads the stored listings with these ids, in their order. */
export async function* readListings(
  database: D1Database,
  ids: readonly string[],
): AsyncGenerator<StoredListing> {
  for (let start = 0; start < ids.length; start += LISTINGS_PER_QUERY) {
    const page = { ids: JSON.stringify(ids.slice(start, start + LISTINGS_PER_QUERY)) };
    const rows = await LISTINGS.rows(database, page);
    for (const { source, ...row } of rows) yield { ...row, listing: JSON.parse(source) };
  }
}

/** Finds the ids of the listings that use one of the locations (by id) or amenities (by slug). */
export async function findListingsUsing(database: D1Database, keys: readonly string[]) {
  if (keys.length === 0) return [];
  const rows = await LISTINGS_USING.rows(database, { keys: JSON.stringify(keys) });
  return rows.map(({ id }) => id);
}
