/** A field that was added to the schema: stored listings and yesterday's files lack it. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'new-field-'));
const undo = join(folder, 'undo.json');
afterAll(() => rmSync(folder, { recursive: true }));

/** Fields with each kind of default: null, an empty map, an empty list, false. */
const NEW = ['beds', 'fraction_from', 'location_text', 'videos', 'is_early_access'];
const homes = ['casa-a', 'casa-b'].map((slug) => propertyOf({ slug, name: slug, price_from: 1 }));
type File = { properties: Record<string, unknown>[] };

/** Makes the stored listings those of a version that did not have the fields. */
function storeWithoutFields() {
  const paths = NEW.map((name) => `'$.${name}'`).join();
  imports.rows(`UPDATE properties SET source = json_remove(source, ${paths})`);
}

/** Returns a file of yesterday, whose records lack the fields. */
const withoutFields = (json: string): File => {
  const file: File = JSON.parse(json);
  const strip = (record: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !NEW.includes(name)));
  return { ...file, properties: file.properties.map(strip) };
};

beforeEach(async () => {
  imports.clear();
  rmSync(undo, { force: true });
  await imports.load({ properties: homes });
});

it("yesterday's export changes and empties nothing, and neither does one of today", async () => {
  const today = await imports.exported();
  storeWithoutFields();
  const yesterday = await imports.exported();
  for (const file of [withoutFields(yesterday), yesterday, today]) {
    for (const option of ['--prune', '--patch']) {
      const { code, stdout, stderr } = await imports.load(file, option);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain('Nothing changed: the store already holds all of it.');
    }
  }
});

it('a changed listing is no conflict with its version of yesterday, and only its change is told', async () => {
  const yesterday = withoutFields(await imports.exported());
  storeWithoutFields();
  const properties = yesterday.properties.map((each) =>
    each.slug === 'casa-a' ? { ...each, price_from: 2 } : each,
  );
  const { code, stdout, stderr } = await imports.load({ ...yesterday, properties });
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('\ncasa-a: price_from 1 → 2\n');
  expect(stdout).toContain('2 listings: 0 added, 1 changed, 1 unchanged\n');
});

it("yesterday's undo file still undoes its import", async () => {
  const change = { properties: [{ slug: 'casa-a', price_from: 2 }] };
  await imports.load(change, '--patch', '--undo', undo);
  writeFileSync(undo, JSON.stringify(withoutFields(readFileSync(undo, 'utf8'))));
  storeWithoutFields();
  expect(await imports.run(undo, '--many')).toMatchObject({ code: 0, stderr: '' });
  expect(await imports.stored('casa-a')).toMatchObject({ price_from: 1, beds: null, videos: [] });
});
