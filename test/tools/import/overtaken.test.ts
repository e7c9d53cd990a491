/** An import that another one overtakes at each of its round trips: both are in the store, and in the list of changes. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { readListingsFile } from '../../../tools/import/file.ts';
import { importListings } from '../../../tools/import/import.ts';
import { BAY, fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { type MemoryImports, openMemoryImports } from '../../support/node/memory-imports.ts';
import { tapD1 } from '../../support/tap.ts';

const first = propertyOf({ slug: 'first', location_id: BAY });
const second = propertyOf({ slug: 'second', location_id: BAY });

let imports: MemoryImports;
beforeAll(() => {
  imports = openMemoryImports();
});
afterAll(() => imports.close());

async function load(content: object, database: D1Database): Promise<void> {
  const read = readListingsFile(Buffer.from(JSON.stringify(content)));
  if (read.kind !== 'read') throw new Error('the file cannot be read');
  const outcome = await importListings(read, {
    database,
    publicSiteUrl: 'https://www.example.com',
    isDryRun: false,
    pruning: 'none',
    onProgress: () => undefined,
  });
  expect(outcome.kind).toBe('accepted');
}

/** Renames the bay, while another import adds a listing there before one of the round trips. Returns their number. */
async function renameOvertakenAt(trip: number): Promise<number> {
  imports.clear();
  await load(fileOf([first]), imports.database);
  let trips = 0;
  const database = tapD1(imports.database, async (call) => {
    trips += 1;
    if (trips === trip) await load({ properties: [second] }, imports.database);
    return call();
  });
  await load(fileOf([], { bay: 'Blue bay' }), database);
  return trips;
}

it('an import that another one overtakes at any moment changes the rows that the other one has stored', async () => {
  let trips = Number.POSITIVE_INFINITY;
  for (let trip = 1; trip <= trips; trip += 1) {
    trips = Math.min(trips, await renameOvertakenAt(trip));
    const rows = imports.rows(
      `SELECT slug, source->>'$.location.name.en' AS place, document->>'$.location.name.en' AS shown
       FROM properties ORDER BY slug`,
    );
    expect({ trip, rows }).toEqual({
      trip,
      rows: [
        { slug: 'first', place: 'Blue bay', shown: 'Blue bay' },
        { slug: 'second', place: 'Blue bay', shown: 'Blue bay' },
      ],
    });
    expect(imports.rows('SELECT count(DISTINCT change_seq) AS places FROM properties')).toEqual([
      { places: 2 },
    ]);
  }
  expect(trips).toBeGreaterThan(4);
});
