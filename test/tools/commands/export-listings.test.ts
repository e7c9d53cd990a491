/** Tests of `export-listings`, including that importing an export changes nothing. */

import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { command } from '../../../tools/commands/export-listings.ts';
import { interceptD1 } from '../../support/interceptor.ts';
import { runOn } from '../../support/node/in-process.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
const samples = JSON.parse(readFileSync('tools/samples/listings.json', 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'export-'));
beforeAll(() => imports.load({ ...samples, properties: samples.properties.slice(0, 12) }));

const exportHere = (...args: string[]) => runOn(imports.database, command, ...args);

describe('export-listings', () => {
  it.each(['catalogue.json', 'catalogue.xlsx'])(
    'writes %s so that importing it again changes nothing',
    async (name) => {
      const before = imports.rows('SELECT * FROM properties ORDER BY id');
      const out = join(folder, name);
      expect(await exportHere('--out', out)).toEqual({ code: 0, stdout: '', stderr: '' });
      const secondImport = await imports.run(out, '--prune');
      expect(secondImport).toMatchObject({ code: 0, stderr: '' });
      expect(secondImport.stdout).toContain('12 listings: 0 added, 0 changed, 12 unchanged\n');
      expect(imports.rows('SELECT * FROM properties ORDER BY id')).toEqual(before);
    },
  );

  it('writes a workbook that recreates the listings in an empty store', async () => {
    const empty = openMemoryImports();
    const file = await imports.exportedWorkbook();
    expect(await empty.load(file, '--no-undo')).toMatchObject({ code: 0, stderr: '' });
    const documents = 'SELECT id, slug, status, document FROM properties ORDER BY id';
    expect(empty.rows(documents)).toEqual(imports.rows(documents));
  });

  it('replaces an existing file only with a complete export', async () => {
    const out = join(folder, 'before.json');
    writeFileSync(out, 'before');
    let calls = 0;
    const failing = interceptD1(imports.database, (call) => {
      calls += 1;
      return calls > 7 ? Promise.reject(new Error('D1 has failed')) : call();
    });
    expect(await runOn(failing, command, '--out', out)).toMatchObject({
      code: 1,
      stderr: `The export to ${out} failed: D1 has failed\n`,
    });
    expect(readFileSync(out, 'utf8')).toBe('before');
    expect(await exportHere('--out', out)).toMatchObject({ code: 0 });
    const { export_id, ...catalogue } = JSON.parse(await imports.exported());
    expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject(catalogue);
    expect(readdirSync(folder).filter((name) => name.startsWith('.scratch'))).toEqual([]);
  });

  it('starts again if an import is applied while it reads', async () => {
    const database = interceptD1(imports.database, async (call) => {
      const result = await call();
      // At this point, the amenities have already been read.
      if (JSON.stringify(result).includes('"former_slugs":')) {
        imports.rows(`UPDATE import_staging SET import_id = 'other' WHERE kind = 'applied'`);
        imports.rows(`UPDATE amenities SET label = '{"en":"Changed"}'`);
      }
      return result;
    });
    expect((await runOn(database, command)).stdout).toContain('"label":{"en":"Changed"}');
  });
});
