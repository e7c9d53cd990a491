/** The whole catalogue as a listings file: imported again it changes nothing. */

import { asc, gt, sql } from 'drizzle-orm';
import { QueryBuilder } from 'drizzle-orm/sqlite-core';
import type { Source } from '../../src/properties/source.ts';
import { amenities, locations, properties } from '../../src/properties/table.ts';
import { statementOf } from '../../src/storage/statement.ts';
import { patiently } from '../database/patiently.ts';
import { findLastImport } from './apply.ts';
import { source } from './listing-schemas.ts';
import { fileListingOf } from './records.ts';

/** A page of so many usual sources is a megabyte at most. */
const SOURCES_PER_QUERY = 50;

const LISTINGS = statementOf(
  new QueryBuilder()
    .select({ id: properties.id, source: properties.source })
    .from(properties)
    .where(gt(properties.id, sql.placeholder('last')))
    .orderBy(asc(properties.id))
    .limit(SOURCES_PER_QUERY),
);
const COUNT = statementOf(sql<{ total: number }>`select count(*) as total from ${properties}`);
const LOCATIONS = statementOf(
  new QueryBuilder()
    .select({ id: locations.id, slug: locations.slug, name: locations.name })
    .from(locations)
    .orderBy(asc(locations.slug), asc(locations.id)),
);
const AMENITIES = statementOf(
  new QueryBuilder().select().from(amenities).orderBy(asc(amenities.slug)),
);

/**
 * Returns the text of the file piece by piece, a record on each line, listings in the order of the feed. It is the
 * catalogue of one moment: when an import is applied meanwhile, it is read again.
 */
export async function* exportListings(
  database: D1Database,
  onProgress: (done: number, total: number) => void,
): AsyncGenerator<string> {
  const catalogue = await readCatalogue(database, onProgress);
  yield `{\n"locations": [${linesOf(catalogue.locations)}],\n"amenities": [${linesOf(catalogue.amenities)}],\n"properties": [`;
  for (const [index, listing] of catalogue.listings.entries()) {
    yield `${index === 0 ? '' : ','}\n${JSON.stringify(fileListingOf(listing))}`;
  }
  yield '\n]\n}\n';
}

async function readCatalogue(
  database: D1Database,
  onProgress: (done: number, total: number) => void,
) {
  for (;;) {
    const lastImport = await findLastImport(database);
    const [count] = await patiently(() => COUNT.rows(database, {}));
    const locationRows = await patiently(() => LOCATIONS.rows(database, {}));
    const amenityRows = await patiently(() => AMENITIES.rows(database, {}));
    const listings: Source[] = [];
    for (let last = ''; ; ) {
      const after = { last };
      const rows = await patiently(() => LISTINGS.rows(database, after));
      for (const row of rows) listings.push(source.parse(JSON.parse(row.source)));
      onProgress(listings.length, Math.max(listings.length, count?.total ?? 0));
      last = rows.at(-1)?.id ?? last;
      if (rows.length < SOURCES_PER_QUERY) break;
    }
    if ((await findLastImport(database)) !== lastImport) continue;
    return {
      locations: locationRows.map((row) => ({ ...row, name: JSON.parse(row.name) })),
      amenities: amenityRows.map((row) => ({ ...row, label: JSON.parse(row.label) })),
      listings: listings.sort(
        (a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1),
      ),
    };
  }
}

function linesOf(records: readonly unknown[]): string {
  return records.map((each) => `\n${JSON.stringify(each)}`).join(',');
}
