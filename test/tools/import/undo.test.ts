/** Tests the undo file, which an import keeps only if it was applied. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { UserError } from '../../../tools/command-line/user-error.ts';
import { command as importCommand } from '../../../tools/commands/import-listings.ts';
import type { WithDatabase } from '../../../tools/database/open.ts';
import { interceptD1 } from '../../support/interceptor.ts';
import { runWith } from '../../support/node/in-process.ts';
import { importInto, makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'undo-'));
const path = join(folder, 'listings.json');
const undo = join(folder, 'made', "it's undo.json");
const file = { properties: [makeProperty({ slug: 'one' })] };
writeFileSync(path, JSON.stringify(file));
beforeEach(() => {
  imports.clear();
  rmSync(undo, { force: true });
});

/** Imports the file into the database that `open` opens. */
const load = (open: WithDatabase) => runWith(open, importCommand, path, '--undo', undo);

describe('an undo file', () => {
  it('is named in a command that works in the current folder', async () => {
    vi.stubEnv('INIT_CWD', join(folder, 'other'));
    vi.stubEnv('CLOUDFLARE_ENV', 'staging');
    const { stdout } = await imports.load(file, '--undo', undo);
    vi.unstubAllEnvs();
    expect(stdout).toContain(
      `\nTo undo it: npm run import-listings -- '../made/it'\\''s undo.json' --many\n`,
    );
    expect(existsSync(undo)).toBe(true);
  });

  it('is deleted if the same import was applied first', async () => {
    const overtaken = interceptD1(imports.database, async (call) => {
      if (existsSync(undo)) await importInto(imports.database, file);
      return call();
    });
    const { code, stdout } = await load((_target, work) => work(overtaken));
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 changed, 1 unchanged')]);
    expect([stdout.includes('To undo it'), existsSync(undo)]).toEqual([false, false]);
  });

  it('stays if the report fails', async () => {
    const open: WithDatabase = async (_target, work) => {
      const outcome = await work(imports.database);
      vi.spyOn(console, 'log').mockImplementation(() => {
        throw new UserError('the output has failed');
      });
      return outcome;
    };
    const failed = { code: 1, stdout: '', stderr: 'the output has failed\n' };
    expect(await load(open)).toEqual(failed);
    expect(existsSync(undo)).toBe(true);
  });

  it('is deleted if the import fails', async () => {
    const failing = interceptD1(imports.database, (call) => {
      return existsSync(undo) ? Promise.reject(new Error('D1 has failed')) : call();
    });
    const { stderr } = await load((_target, work) => work(failing));
    expect(stderr).toBe('The import failed: D1 has failed\nNothing was changed.\n');
    expect(existsSync(undo)).toBe(false);
    writeFileSync(undo, 'mine');
    const rejected = await imports.load(file, '--undo', undo);
    expect([rejected.code, readFileSync(undo, 'utf8')]).toEqual([1, 'mine']);
    expect(rejected.stderr).toMatch(
      /^The undo file was not written: .*: file already exists\. Choose another one with --undo, or import without one with --no-undo\.\nNothing was changed\.\n$/,
    );
  });

  it('restores slugs and removes unused added amenities', async () => {
    const old = makeProperty({ slug: 'home', hid: 'H-1' });
    await imports.load({ properties: [old] });
    const second = {
      amenities: ['pool', 'sauna'].map((slug) => ({ slug, label: { en: slug } })),
      properties: [
        { ...old, slug: 'moved' },
        { ...old, id: undefined, hid: undefined, amenities: ['pool', 'sauna'] },
      ],
    };
    await imports.load(second, '--undo', undo);
    await imports.load({ properties: [makeProperty({ slug: 'other', amenities: ['pool'] })] });
    const undone = await imports.run(undo, '--many', '--no-undo');
    expect(undone.stdout).toContain('amenity sauna: removed\n');
    expect(imports.rows('SELECT slug FROM amenities')).toEqual([{ slug: 'pool' }]);
    const slugs = () =>
      imports.rows('SELECT slug FROM properties ORDER BY slug').map(({ slug }) => slug);
    expect(slugs()).toEqual(['home', 'other', expect.stringMatching(/^undone-[0-9a-f-]{36}$/)]);
    expect((await imports.stored('home'))?.hid).toBe('H-1');
    expect(await imports.load(second)).toMatchObject({ code: 0, stderr: '' });
    expect(slugs()).toEqual(['home', 'moved', 'other']);
    const alone = { removed: { locations: [], amenities: ['pool'] } };
    expect(await imports.load(alone)).toMatchObject({ code: 0, stderr: '' });
  });

  it('is rejected if another location has the old slug', async () => {
    const [old, added] = [{ id: crypto.randomUUID() }, { id: crypto.randomUUID() }];
    await imports.load({ locations: [{ ...old, slug: 'coast', name: {} }] });
    const locations = [
      { ...old, slug: 'shore', name: {} },
      { ...added, slug: 'coast', name: {} },
    ];
    await imports.load({ locations }, '--undo', undo);
    const home = makeProperty({ slug: 'home', location_id: added.id });
    await imports.load({ properties: [home] });
    expect(await imports.run(undo)).toEqual({
      code: 1,
      stdout: '',
      stderr: `locations[0] (slug "coast"): slug "coast" repeats the slug of the stored location coast (id "${added.id}")\n1 problem. Nothing was changed.\n`,
    });
    await imports.load({ properties: [{ ...home, location_id: old.id }] });
    expect((await imports.run(undo)).stdout).toContain('location coast: removed\n');
    expect(imports.rows('SELECT id, slug FROM locations')).toEqual([{ ...old, slug: 'coast' }]);
  });
});
