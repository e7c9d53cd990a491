/** Reading the newest change costs one row by D1's own count, for a table of any size. */

import { expect, it } from 'vitest';
import { migrate } from '../../../tools/database/migrations.ts';
import { openDatabase } from '../../../tools/database/open.ts';
import { findResumeCursor } from '../../../tools/import/store.ts';
import { tapD1 } from '../../support/tap.ts';

function placeIn(cursor: string): unknown {
  return JSON.parse(Buffer.from(cursor, 'base64url').subarray(8).toString())[3];
}

it('the place of the newest change is read from one row, however many listings there are', async () => {
  const { database, close } = await openDatabase('empty');
  try {
    await migrate(database);
    let rowsRead = 0;
    const counted = tapD1(database, async (call) => {
      const results = await call();
      for (const { meta } of results) rowsRead += meta.rows_read;
      return results;
    });
    expect(placeIn(await findResumeCursor(counted))).toEqual([expect.any(String), 0, 0]);
    await database
      .prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO properties (id, slug, status, display_order, rendering, source, change_seq)
         SELECT 'id-' || i, 'slug-' || i, iif(i % 3 = 0, 'hidden', 'listed'), i, '', '{}', iif(i % 7 = 0, NULL, i)
         FROM n`,
      )
      .run();
    rowsRead = 0;
    expect(placeIn(await findResumeCursor(counted))).toEqual([expect.any(String), 3_000, 3_000]);
    // One row of the listings, and the row with the generation.
    expect(rowsRead).toBe(2);
  } finally {
    await close();
  }
});
