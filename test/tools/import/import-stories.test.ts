/**
 * Tests the main stories of an editor from command-line arguments to the database, with real .xlsx and
 * JSON files. The tests merge, stored and sentences cover the details without such files.
 */

import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import {
  add,
  change,
  type Edit,
  editWorkbook,
  parseSheets,
  workbook,
} from '../../support/node/workbook.ts';

const imports = openMemoryImports();
const undo = join(mkdtempSync(join(tmpdir(), 'stories-')), 'undo.json');
const photo = (name: string, web_sort_order: number) => ({
  ...{ url: `https://a.example/${name}.jpg`, alt: { en: name }, section: 'gallery' },
  ...{ web_visible: true, web_sort_order },
});
const CATALOGUE = {
  locations: [{ slug: 'bay', name: { en: 'The bay' } }],
  amenities: [{ slug: 'wifi', label: { en: 'Wi-Fi' } }],
  properties: Array.from({ length: 6 }, (_, at) =>
    makeProperty({
      ...{ slug: `casa-${at}`, price_from: 100 + at, location: 'bay', amenities: ['wifi'] },
      photos: [photo(`${at}-a`, 1), photo(`${at}-b`, 2)],
      unique_features: [{ icon_slug: 'sea', label: { en: 'Sea' } }],
    }),
  ),
};
const price = (price_from: number, slug = 'casa-0') => change('listings', slug, { price_from });
const NEW = { slug: 'new', name: 'New', status: 'listed', display_order: 9 };

let exported: Uint8Array;
let restore = () => {};

beforeAll(async () => {
  await imports.load(CATALOGUE);
  exported = await imports.exportedWorkbook();
  restore = imports.keep();
});

beforeEach(() => {
  restore();
  return () => vi.unstubAllEnvs();
});

async function importAs(who: string, file: unknown, ...options: string[]) {
  vi.stubEnv('GITHUB_ACTOR', who);
  return await imports.load(file, ...options);
}

const edit = (...edits: Edit[]) => editWorkbook(exported, ...edits);

describe('import-listings', () => {
  it('applies an edited cell, which the undo file restores', async () => {
    const { code, stdout } = await importAs('ana', await edit(price(1)), '--undo', undo);
    expect([code, stdout]).toEqual([0, expect.stringContaining('6 listings: 0 added, 1 changed')]);
    expect(await imports.stored('casa-0')).toMatchObject({ price_from: 1 });
    await imports.run(undo, '--many');
    expect(await imports.stored('casa-0')).toMatchObject({ price_from: 100 });
  });

  it('compares a file with its previous import', async () => {
    const first = await edit(price(1));
    await importAs('ana', first);
    await importAs('ana', await editWorkbook(first, price(2)));
    expect(await imports.stored('casa-0')).toMatchObject({ price_from: 2 });
  });

  it('names the author of a conflict', async () => {
    await importAs('ben', await edit(price(1)));
    const { code, stderr } = await importAs('ana', await edit(price(2)));
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/The stored value was imported [^\n]* by ben, import-listings/),
    ]);
  });

  it('replaces the changes of others with --overwrite', async () => {
    await importAs('ben', await edit(price(1)));
    await importAs('ana', await edit(price(2)), '--overwrite');
    expect(await imports.stored('casa-0')).toMatchObject({ price_from: 2 });
  });

  it('rejects a second copy of an export', async () => {
    await importAs('ana', await edit(price(1), price(2, 'casa-1')), '--many');
    const copy = await edit(price(3, 'casa-2'));
    const { code, stderr } = await importAs('ana', copy);
    expect([code, stderr]).toEqual([1, expect.stringContaining('another copy of its export')]);
    expect((await importAs('ana', copy, '--overwrite', '--many')).code).toBe(0);
  });

  it('keeps listings that the editor has added to the export when --prune is given', async () => {
    await importAs('ana', await edit(add('listings', NEW)));
    const { stdout } = await importAs('ana', await edit(price(1)), '--prune');
    expect(stdout).toContain('new was added by your earlier import of this export and stays');
    expect(await imports.stored('new')).toMatchObject({ status: 'listed' });
  });

  it('replaces whole records by the records of a JSON file', async () => {
    const [home] = CATALOGUE.properties;
    await importAs('ana', { properties: [{ ...home, price_from: undefined, photos: [] }] });
    expect(await imports.stored('casa-0')).toMatchObject({ price_from: null, photos: [] });
  });

  it('changes only the fields of a patch', async () => {
    await importAs('ana', { properties: [{ slug: 'casa-0', price_from: 7 }] }, '--patch');
    expect(await imports.stored('casa-0')).toMatchObject({ price_from: 7, photos: [{}, {}] });
  });

  it('writes nothing in a dry run', async () => {
    const before = imports.rows('SELECT * FROM properties ORDER BY id');
    const { stdout } = await importAs(
      'ana',
      await edit(price(1)),
      '--dry-run',
      '--undo',
      `${undo}2`,
    );
    expect(stdout).toContain('casa-0: price_from 100 → 1\n');
    expect(existsSync(`${undo}2`)).toBe(false);
    expect(imports.rows('SELECT * FROM properties ORDER BY id')).toEqual(before);
  });

  it('imports the exports of an empty store', async () => {
    imports.clear();
    for (const file of [await imports.exported(), await imports.exportedWorkbook()]) {
      expect(await imports.load(file)).toMatchObject({ code: 0, stderr: '' });
    }
  });

  it.each([
    ['--prune', '--prune needs the sheet listings, which this workbook does not have'],
    ['--patch', '--patch is for JSON: a workbook changes only the columns that it has'],
  ])('rejects %s for a workbook that has only the sheet photos', async (option, message) => {
    const file = await workbook(parseSheets('== photos\nlisting | url'));
    const stderr = `${message}\nNothing was changed.\n`;
    expect(await imports.load(file, option)).toEqual({ code: 2, stdout: '', stderr });
  });
});

describe('set-status', () => {
  it('changes the status of a listing', async () => {
    await imports.setStatus('hidden', 'casa-1');
    expect(await imports.stored('casa-1')).toMatchObject({ status: 'hidden' });
  });
});
