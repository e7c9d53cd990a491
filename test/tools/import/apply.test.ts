/** The transaction of an import: overtaken by another import at each of its round trips, or with an unknown outcome. */

import { expect, it } from 'vitest';
import { databaseOver } from '../../../tools/cloudflare/rest-database.ts';
import { apply } from '../../../tools/import/apply.ts';
import { BAY, fileOf, importInto, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { tapD1 } from '../../support/tap.ts';

const first = propertyOf({ slug: 'first', location_id: BAY });
const second = propertyOf({ slug: 'second', location_id: BAY });

const imports = openMemoryImports();

/** Renames the bay, while another import adds a listing there before one of the round trips. Returns their number. */
async function renameOvertakenAt(trip: number): Promise<number> {
  imports.clear();
  await importInto(imports.database, fileOf([first]));
  let trips = 0;
  const database = tapD1(imports.database, async (call) => {
    trips += 1;
    if (trips === trip) await importInto(imports.database, { properties: [second] });
    return call();
  });
  await importInto(database, fileOf([], { bay: 'Blue bay' }));
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

it('an import whose repeated transaction is rejected, and that cannot read back why, has an unknown outcome', async () => {
  const database = databaseOver(async (_schema, body) => {
    const isBatch = 'batch' in body;
    throw new Error(
      isBatch
        ? 'NOT NULL constraint failed: import_staging.row: SQLITE_CONSTRAINT'
        : 'Cloudflare gave no usable answer',
    );
  });
  await expect(apply(database, { importId: 'own', rows: 1 }, null)).rejects.toMatchObject({
    name: 'OutcomeUnknown',
    message: expect.stringContaining('no usable answer'),
  });
});
