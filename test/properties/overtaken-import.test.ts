/** An import that another one overtakes, at each of its round trips: both are in the store, and in the list of changes. */

import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { readListingsFile } from '../../tools/import/file.ts';
import { importListings } from '../../tools/import/import.ts';
import { PUBLIC_SITE_URL } from '../support/listings.ts';
import { BAY, fileOf, propertyOf } from '../support/node/listings-file.ts';
import { tapD1 } from '../support/tap.ts';

const first = propertyOf({ slug: 'first', location_id: BAY });
const second = propertyOf({ slug: 'second', location_id: BAY });

async function load(content: object, database: D1Database = env.DB): Promise<void> {
  const read = readListingsFile(new TextEncoder().encode(JSON.stringify(content)));
  if (read.kind !== 'read') throw new Error('the file cannot be read');
  const outcome = await importListings(read, {
    database,
    publicSiteUrl: PUBLIC_SITE_URL,
    isDryRun: false,
    pruning: 'none',
    onProgress: () => undefined,
  });
  expect(outcome.kind).toBe('accepted');
}

/** Renames the bay, while another import adds a listing there before one of the round trips. Returns their number. */
async function renameOvertakenAt(trip: number): Promise<number> {
  for (const table of ['properties', 'locations', 'amenities', 'import_staging']) {
    await env.DB.exec(`DELETE FROM ${table}`);
  }
  await load(fileOf([first]));
  let trips = 0;
  const database = tapD1(env.DB, async (call) => {
    trips += 1;
    if (trips === trip) await load({ properties: [second] });
    return call();
  });
  await load(fileOf([], { bay: 'Blue bay' }), database);
  return trips;
}

it('an import that another one overtakes at any moment changes the rows that the other one has stored', async () => {
  let trips = Number.POSITIVE_INFINITY;
  for (let trip = 1; trip <= trips; trip += 1) {
    const made = await renameOvertakenAt(trip);
    trips = Math.min(trips, made);
    const { results } = await env.DB.prepare(
      `SELECT slug, source->>'$.location.name.en' AS place, document->>'$.location.name.en' AS shown
       FROM properties ORDER BY slug`,
    ).all();
    expect({ trip, results }).toEqual({
      trip,
      results: [
        { slug: 'first', place: 'Blue bay', shown: 'Blue bay' },
        { slug: 'second', place: 'Blue bay', shown: 'Blue bay' },
      ],
    });
    const places = await env.DB.prepare(
      'SELECT count(DISTINCT change_seq) AS places, min(change_seq) > 0 AS are_given FROM properties',
    ).first();
    expect(places).toEqual({ places: 2, are_given: 1 });
  }
  expect(trips).toBeGreaterThan(4);
});
