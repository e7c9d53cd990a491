/** The reads of an import. Keys travel as one JSON parameter: D1 binds at most 100. */

import { and, asc, gt, inArray, ne, or, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import { changeCursor, LIST_STATE } from '../../src/properties/changes.ts';
import { amenity } from '../../src/properties/resource.ts';
import type { Amenity, Location, Source } from '../../src/properties/source.ts';
import { amenities, locations, properties } from '../../src/properties/table.ts';
import { type Statement, statementOf } from '../../src/storage/statement.ts';
import { patiently } from '../database/patiently.ts';
import type { ListingsFile } from './file.ts';
import { source } from './listing-schemas.ts';
import type { Stored } from './plan.ts';
import { writtenLocation } from './records.ts';

/** The JSON of so many keys stays far below the 2 MB of a bound value. */
const KEYS_PER_QUERY = 2_000;
/** An answer with so many ids is half a megabyte. */
const IDS_PER_QUERY = 10_000;
/** A page of so many usual sources is a megabyte at most. */
const SOURCES_PER_QUERY = 50;

const bound = (name: string) => sql`(select value from json_each(${sql.placeholder(name)}))`;
const keys = bound('keys');

const LISTINGS = statementOf(
  new QueryBuilder()
    .select({ id: properties.id, slug: properties.slug })
    .from(properties)
    .where(or(inArray(properties.id, keys), inArray(properties.slug, keys))),
);
/** Reads every listing: `hid` has no index, because only a patch looks for it. */
const LISTINGS_BY_HID = statementOf(
  new QueryBuilder()
    .select({ id: properties.id, slug: properties.slug })
    .from(properties)
    .where(inArray(sql`${properties.source}->>'$.hid'`, keys)),
);
const LOCATIONS = statementOf(
  new QueryBuilder()
    .select({ id: locations.id, slug: locations.slug, name: locations.name })
    .from(locations)
    .where(or(inArray(locations.id, keys), inArray(locations.slug, keys))),
);
const AMENITIES = statementOf(
  new QueryBuilder().select().from(amenities).where(inArray(amenities.slug, keys)),
);
const PUBLIC_IDS = statementOf(
  new QueryBuilder()
    .select({ id: properties.id })
    .from(properties)
    .where(and(gt(properties.id, sql.placeholder('last')), ne(properties.status, 'hidden')))
    .orderBy(asc(properties.id))
    .limit(IDS_PER_QUERY),
);
const SOURCES = statementOf(
  new QueryBuilder()
    .select({ source: properties.source })
    .from(properties)
    .where(inArray(properties.id, keys)),
);
const USERS = statementOf(
  new QueryBuilder()
    .select({ id: properties.id, source: properties.source })
    .from(properties)
    .where(
      and(
        gt(properties.id, sql.placeholder('last')),
        or(
          inArray(properties.location_id, bound('locations')),
          sql`exists (select 1 from json_each(${properties.source}, '$.amenities') as used
                      where used.value->>'slug' in ${bound('amenities')})`,
        ),
      ),
    )
    .orderBy(asc(properties.id))
    .limit(SOURCES_PER_QUERY),
);

/** Finds the stored records under the keys that the file names. */
export async function findStored(database: D1Database, file: ListingsFile): Promise<Stored> {
  const keysIn = (section: 'locations' | 'amenities' | 'properties') =>
    file[section].flatMap((record) => [record.keys.id, record.keys.slug]);
  const named = file.properties.map((record) => record.keys);
  const locationRows = await rowsByKeys(database, LOCATIONS, [
    ...keysIn('locations'),
    ...named.flatMap(({ location_id, location }) => [location_id, location]),
  ]);
  const amenityRows = await rowsByKeys(database, AMENITIES, [
    ...keysIn('amenities'),
    ...named.flatMap(({ amenities }) => amenities),
  ]);
  const listings = await rowsByKeys(database, LISTINGS, keysIn('properties'));
  const sources: Source[] = [];
  if (file.isPatch) {
    const hids = named.map(({ id, hid }) => (id === undefined ? hid : undefined));
    const ids = [...listings, ...(await rowsByKeys(database, LISTINGS_BY_HID, hids))];
    const unique = [...new Set(ids.map(({ id }) => id))];
    for await (const page of findSources(database, unique)) sources.push(...page);
  }
  return {
    listings,
    sources,
    locations: locationRows.map((row) =>
      writtenLocation.parse({ ...row, name: JSON.parse(row.name) }),
    ),
    amenities: amenityRows.map((row) => amenity.parse({ ...row, label: JSON.parse(row.label) })),
  };
}

/** Returns the cursor of the list of changes that a reader of all changes holds now. */
export async function findResumeCursor(database: D1Database): Promise<string> {
  const [state] = await patiently(() => LIST_STATE.rows(database, { begins: 1 }));
  const newest = state?.newest ?? 0;
  return changeCursor({ generation: state?.generation ?? '', seq: newest, start: newest });
}

/** Finds the ids of all public listings. */
export async function findPublicIds(database: D1Database): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const after = { last: ids.at(-1) ?? '' };
    const rows = await patiently(() => PUBLIC_IDS.rows(database, after));
    ids.push(...rows.map(({ id }) => id));
    if (rows.length < IDS_PER_QUERY) return ids;
  }
}

/** Finds the stored listings with these ids, page by page. */
export async function* findSources(
  database: D1Database,
  ids: readonly string[],
): AsyncGenerator<Source[]> {
  for (let start = 0; start < ids.length; start += SOURCES_PER_QUERY) {
    const values = { keys: JSON.stringify(ids.slice(start, start + SOURCES_PER_QUERY)) };
    const rows = await patiently(() => SOURCES.rows(database, values));
    yield rows.map((row) => source.parse(JSON.parse(row.source)));
  }
}

/** Finds every stored listing that uses one of the locations or amenities, page by page. */
export async function* findUsers(
  database: D1Database,
  locations: readonly Location[],
  amenities: readonly Amenity[],
): AsyncGenerator<Source[]> {
  if (locations.length === 0 && amenities.length === 0) return;
  const values = {
    locations: JSON.stringify(locations.map(({ id }) => id)),
    amenities: JSON.stringify(amenities.map(({ slug }) => slug)),
  };
  let last = '';
  for (;;) {
    const after = { ...values, last };
    const rows = await patiently(() => USERS.rows(database, after));
    if (rows.length > 0) yield rows.map((row) => source.parse(JSON.parse(row.source)));
    if (rows.length < SOURCES_PER_QUERY) return;
    last = rows.at(-1)?.id ?? last;
  }
}

/** Finds the rows that a statement gives for `keys`, each row once. */
async function rowsByKeys<Row>(
  database: D1Database,
  statement: Statement<Row>,
  keys: readonly (string | undefined)[],
): Promise<Row[]> {
  const wanted = [...new Set(keys)].filter((key) => key !== undefined);
  const found = new Map<string, Row>();
  for (let start = 0; start < wanted.length; start += KEYS_PER_QUERY) {
    const values = { keys: JSON.stringify(wanted.slice(start, start + KEYS_PER_QUERY)) };
    const rows = await patiently(() => statement.rows(database, values));
    for (const row of rows) found.set(JSON.stringify(row), row);
  }
  return [...found.values()];
}
