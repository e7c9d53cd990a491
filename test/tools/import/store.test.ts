/** What imports of an export have said: only what they change is recorded, and it is read in pages. */

import { beforeEach, expect, it, vi } from 'vitest';
import { readCatalogue } from '../../../tools/import/catalogue/store.ts';
import { makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { change, editWorkbook } from '../../support/node/workbook.ts';

const imports = openMemoryImports();
beforeEach(imports.clear);

it('an import records the listings that its file changes, and no other', async () => {
  const properties = [1, 2, 3].map((at) => makeProperty({ slug: `casa-${at}`, price_from: at }));
  await imports.load({ properties });
  const edit = change('listings', 'casa-2', { price_from: 20 });
  const file = await editWorkbook(await imports.exportedWorkbook(), edit);
  expect(await imports.load(file, '--many')).toMatchObject({ code: 0 });
  const recorded = `SELECT slug FROM imported_rows JOIN properties ON record = 'listings ' || id`;
  expect(imports.rows(recorded)).toEqual([{ slug: 'casa-2' }]);
});

it('reads each row of the export once, and a page ends after 2 MB', async () => {
  for (const [at, bytes] of [900_000, 900_000, 900_000, 2_500_000, 10].entries()) {
    imports.rows(`INSERT INTO imported_rows (export_id, who, record, operation, marks)
      VALUES ('own', 'ana', 'listings ${at}', '', printf('%*c', ${bytes}, 'm')),
        ('other', 'ana', 'listings ${at}', '', 'm')`);
  }
  const prepare = vi.spyOn(imports.database, 'prepare');
  const { importedRows } = await readCatalogue(imports.database, () => {}, 'own');
  expect(importedRows.map(({ record }) => record)).toEqual(
    [0, 1, 2, 3, 4].map((at) => `listings ${at}`),
  );
  // Three rows, the large one, the last one, and a page without rows.
  const pages = prepare.mock.calls.filter(([query]) => query.includes('imported_rows'));
  expect(pages).toHaveLength(4);
});
