/** The transaction of an import that was repeated, because its first answer was lost. */

import { expect, it } from 'vitest';
import { databaseOver } from '../../../tools/cloudflare/rest-database.ts';
import { applyStaged } from '../../../tools/import/apply.ts';

it('an import whose repeated transaction is refused, and that cannot read back why, has an unknown outcome', async () => {
  const database = databaseOver(async (_schema, body) => {
    const isBatch = 'batch' in body;
    throw new Error(
      isBatch
        ? 'NOT NULL constraint failed: import_staging.row: SQLITE_CONSTRAINT'
        : 'Cloudflare gave no usable answer',
    );
  });
  await expect(applyStaged(database, 'own', 1, null)).rejects.toMatchObject({
    name: 'OutcomeUnknown',
    message: expect.stringContaining('no usable answer'),
  });
});
