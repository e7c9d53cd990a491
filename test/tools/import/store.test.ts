/** The imported rows and the operations that an import reads from the database and adds to it. */

import { beforeEach, describe, expect, it, vi } from 'vitest';
import { readCatalogue } from '../../../tools/import/catalogue/store.ts';
import { makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { add, change, editWorkbook } from '../../support/node/workbook.ts';

const imports = openMemoryImports();
beforeEach(imports.clear);

const properties = [1, 2, 3].map((at) => makeProperty({ slug: `casa-${at}`, price_from: at }));
const RECORDED = `SELECT slug FROM imported_rows JOIN properties ON record = 'listings ' || id`;

describe('imported_rows', () => {
  it('contains only the listings that a workbook changes', async () => {
    await imports.load({ properties });
    const edit = change('listings', 'casa-2', { price_from: 20 });
    const file = await editWorkbook(await imports.exportedWorkbook(), edit);
    expect(await imports.load(file, '--many')).toMatchObject({ code: 0 });
    expect(imports.rows(RECORDED)).toEqual([{ slug: 'casa-2' }]);
  });

  it('contains only the listings that a JSON export adds', async () => {
    await imports.load({ properties });
    const file = JSON.parse(await imports.exported());
    const [home] = file.properties;
    const changed = { ...home, price_from: 9 };
    const added = makeProperty({ slug: 'new' });
    await imports.load({ ...file, properties: [changed, added] }, '--many');
    expect(imports.rows(RECORDED)).toEqual([{ slug: 'new' }]);
  });

  it('names the export only in the mark of a record that the export had', async () => {
    await imports.load({ properties });
    const file = await editWorkbook(
      await imports.exportedWorkbook(),
      change('listings', 'casa-2', { price_from: 20 }),
      add('listings', { slug: 'new', name: 'New', status: 'listed', display_order: 1 }),
    );
    await imports.load(file, '--many');
    const rows = imports.rows(`SELECT slug, marks LIKE '% export:%' AS isNamed
      FROM imported_rows JOIN properties ON record = 'listings ' || id ORDER BY slug`);
    expect(rows).toEqual([
      { slug: 'casa-2', isNamed: 1 },
      { slug: 'new', isNamed: 0 },
    ]);
  });
});

describe('readCatalogue', () => {
  it('reads each imported row of the export once, in pages of 2 MB', async () => {
    for (const [at, bytes] of [900_000, 900_000, 900_000, 2_500_000, 10].entries()) {
      imports.rows(`INSERT INTO imported_rows (export_id, who, record, operation, marks)
        VALUES ('own', 'ana', 'listings ${at}', '', printf('%*c', ${bytes}, 'm')),
          ('other', 'ana', 'listings ${at}', '', 'm')`);
    }
    const prepare = vi.spyOn(imports.database, 'prepare').mockClear();
    const { importedRows } = await readCatalogue(imports.database, () => {}, 'own');
    expect(importedRows.map(({ record }) => record)).toEqual(
      [0, 1, 2, 3, 4].map((at) => `listings ${at}`),
    );
    // Three rows, the large one, the last one, and a page without rows.
    const pages = prepare.mock.calls.filter(([query]) => query.includes('imported_rows'));
    expect(pages).toHaveLength(4);
  });

  it.each([100, 10_000])('reads only named operations and the newest 100 of %i', async (count) => {
    await imports.load({ properties });
    imports.rows(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      INSERT INTO operations (id, at, who, command, counts) SELECT 'id-' || i, i, 'ana', 'x', '{}' FROM n`);
    const prepare = vi.spyOn(imports.database, 'prepare').mockClear();
    const { operations } = await readCatalogue(imports.database);
    // The import of the three listings, and the newest rows.
    expect(operations.size).toBe(101);
    const queries = prepare.mock.calls.map(([query]) => query);
    const [query = ''] = queries.filter((text) => text.includes('json_each'));
    const plan = imports.rows(`EXPLAIN QUERY PLAN ${query.replaceAll('?', "'[]'")}`);
    const steps = plan.map(({ detail }) => `${detail}`).filter((step) => /operations/.test(step));
    // The newest row is found from the end of the table.
    expect(steps.filter((step) => !step.startsWith('SEARCH operations'))).toEqual([]);
  });
});

describe('exportListings', () => {
  it('reads no operation', async () => {
    await imports.load({ properties });
    const prepare = vi.spyOn(imports.database, 'prepare').mockClear();
    await imports.exported();
    const queries = prepare.mock.calls.map(([query]) => query);
    expect(queries.filter((query) => /operations|imported_rows/.test(query))).toEqual([]);
  });
});
