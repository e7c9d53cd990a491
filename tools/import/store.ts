/** What an import reads of the store. Keys travel as one JSON parameter, as D1 binds at most 100. */

import * as z from 'zod';
import {
  type Amenity,
  type Location,
  type Source,
  source,
  writtenAmenity,
  writtenLocation,
} from '../../src/properties/source.ts';
import { patiently } from '../../src/storage/d1.ts';
import type { ListingsFile } from './file.ts';
import type { Stored } from './plan.ts';

/** Keys a query: their JSON stays far below the 2 MB of a bound value. */
const KEYS_A_QUERY = 2_000;
/** Stored sources a query: a page of usual ones is a megabyte at most. */
const SOURCES_A_QUERY = 50;

const keyRow = z.object({ id: z.string(), slug: z.string() });
const locationRow = z.object({ id: z.string(), slug: z.string().nullable(), name: z.string() });
const amenityRow = z.object({ slug: z.string(), label: z.string() });
const sourceRow = z.object({ id: z.string(), source: z.string() });

/** What the store holds under the ids and slugs that the file names. */
export async function findStored(database: D1Database, file: ListingsFile): Promise<Stored> {
  const places = [...file.locations, ...file.properties];
  const locations = await rowsByKeys(
    database,
    'SELECT id, slug, name FROM locations WHERE id IN keys OR slug IN keys',
    [...places.flatMap(({ keys }) => keys.locationId ?? []), ...keysIn(file.locations)],
    locationRow,
  );
  const amenities = await rowsByKeys(
    database,
    'SELECT slug, label FROM amenities WHERE slug IN keys',
    [...keysIn(file.amenities), ...file.properties.flatMap(({ keys }) => keys.amenities)],
    amenityRow,
  );
  return {
    listings: await rowsByKeys(
      database,
      'SELECT id, slug FROM properties WHERE id IN keys OR slug IN keys',
      keysIn(file.properties),
      keyRow,
    ),
    locations: locations.map((row) =>
      writtenLocation.parse({ ...row, name: JSON.parse(row.name) }),
    ),
    amenities: amenities.map((row) =>
      writtenAmenity.parse({ ...row, label: JSON.parse(row.label) }),
    ),
  };
}

/** Every stored listing that uses one of the locations or amenities, page by page. */
export async function* usersOf(
  database: D1Database,
  locations: readonly Location[],
  amenities: readonly Amenity[],
): AsyncGenerator<Source[]> {
  if (locations.length === 0 && amenities.length === 0) return;
  const ids = JSON.stringify(locations.map(({ id }) => id));
  const slugs = JSON.stringify(amenities.map(({ slug }) => slug));
  let last = '';
  for (;;) {
    const statement = database
      .prepare(
        `SELECT id, source FROM properties
         WHERE id > ?1 AND (
           location_id IN (SELECT value FROM json_each(?2))
           OR EXISTS (SELECT 1 FROM json_each(source, '$.amenities') AS used
                      WHERE used.value->>'slug' IN (SELECT value FROM json_each(?3))))
         ORDER BY id LIMIT ${SOURCES_A_QUERY}`,
      )
      .bind(last, ids, slugs);
    const { results } = await patiently(() => statement.all());
    const page = z
      .array(sourceRow)
      .parse(results)
      .map((row) => source.parse(JSON.parse(row.source)));
    if (page.length > 0) yield page;
    if (page.length < SOURCES_A_QUERY) return;
    last = page.at(-1)?.id ?? last;
  }
}

function keysIn(
  records: readonly { keys: { id?: string | undefined; slug?: string | undefined } }[],
) {
  return records.flatMap(({ keys }) => [keys.id, keys.slug]);
}

/** The rows of a query over `keys`, each row once. */
async function rowsByKeys<Row>(
  database: D1Database,
  query: string,
  keys: readonly (string | undefined)[],
  schema: z.ZodType<Row>,
): Promise<Row[]> {
  const wanted = [...new Set(keys)].filter((key) => key !== undefined);
  const rows = new Map<string, Row>();
  for (let start = 0; start < wanted.length; start += KEYS_A_QUERY) {
    const statement = database
      .prepare(`WITH keys AS (SELECT value FROM json_each(?)) ${query}`)
      .bind(JSON.stringify(wanted.slice(start, start + KEYS_A_QUERY)));
    const { results } = await patiently(() => statement.all());
    for (const row of z.array(schema).parse(results)) rows.set(JSON.stringify(row), row);
  }
  return [...rows.values()];
}
