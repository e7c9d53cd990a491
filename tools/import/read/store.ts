/** The reads of an import. Ids travel as one JSON parameter: D1 binds at most 100. */

import { sql } from 'drizzle-orm';
import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { amenities, importStaging, locations, properties } from '../../../src/properties/table.ts';
import { statementOf } from '../../../src/storage/statement.ts';
import { databaseIdentity } from '../../../src/storage/table.ts';
import { readSource } from './version.ts';

/** About 1 MB. */
const SUMMARIES_PER_QUERY = 5_000;
/** About 0.5 MB of usual listings. */
const LISTINGS_PER_QUERY = 50;

/** Shows whether a file changes the listing. Several listings may have one `hid`. */
type ListingSummary = Pick<
  typeof properties.$inferSelect,
  'id' | 'slug' | 'status' | 'source_hash' | 'rendering' | 'former_slugs'
> & { hid: string | null; name: string };

export type StoredListing = Omit<
  typeof properties.$inferSelect,
  'type' | 'location_id' | 'display_order' | 'source_hash' | 'card' | 'source'
> & { listing: Source };

type State = {
  /** The id that the last import left as the `applied` row: another one if the store changed. */
  lastImport: string | null;
  /** See `database_identity`. */
  generation: string;
  /** New changes of listings are numbered after it. */
  newestChange: number;
};

export type Catalogue = State & {
  locations: Location[];
  amenities: Amenity[];
  /** By id. */
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
  select id, source->>'$.hid' as hid, source->>'$.name' as name, slug, status, source_hash, rendering, former_slugs
  from ${properties} where id > ${sql.placeholder('last')} order by id limit ${SUMMARIES_PER_QUERY}`);

const LISTINGS = statementOf(sql<Omit<StoredListing, 'listing'> & { source: string }>`
  select id, slug, status, rendering, source, document, change_seq, changed_at, removed_slug, former_slugs, operation
  from ${properties}
  join (select key as position, value as wanted_id from json_each(${sql.placeholder('ids')})) on id = wanted_id
  order by position`);

const LISTINGS_USING = statementOf(sql<{ id: string }>`
  select id from ${properties}
  where location_id in (select value from json_each(${sql.placeholder('keys')}))
    or exists (
      select 1 from json_each(source, '$.amenities') as used
      where used.value->>'slug' in (select value from json_each(${sql.placeholder('keys')})))`);

export async function readImportState(database: D1Database): Promise<State> {
  const [state] = await STATE.rows(database, {});
  if (state === undefined) throw new Error('the database has no state');
  return state;
}

/** Reads the state first: an import during the other reads is noticed later. */
export async function readCatalogue(database: D1Database): Promise<Catalogue> {
  const state = await readImportState(database);
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

/** Keeps the order of the ids. */
export async function* readListings(
  database: D1Database,
  ids: readonly string[],
): AsyncGenerator<StoredListing> {
  for (let start = 0; start < ids.length; start += LISTINGS_PER_QUERY) {
    const page = { ids: JSON.stringify(ids.slice(start, start + LISTINGS_PER_QUERY)) };
    const rows = await LISTINGS.rows(database, page);
    for (const { source, ...row } of rows) yield { ...row, listing: readSource(source) };
  }
}

/** The keys are ids of locations and slugs of amenities. */
export async function findListingsUsing(database: D1Database, keys: readonly string[]) {
  if (keys.length === 0) return [];
  const rows = await LISTINGS_USING.rows(database, { keys: JSON.stringify(keys) });
  return rows.map(({ id }) => id);
}
