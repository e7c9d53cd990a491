/** `export-listings`: its file is imported again, which changes nothing. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../../tools/export-listings.ts';
import { importListings } from '../../tools/import/command.ts';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { runHere, runImportOn } from '../support/node/in-process.ts';
import { fileOf, propertyOf } from '../support/node/listings-file.ts';
import { type MemoryImports, openMemoryImports } from '../support/node/memory-imports.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

const NAME = 'events-and-property-feed';

let imports: MemoryImports;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'export-'));
  imports = openMemoryImports();
  await imports.load(readFileSync('tools/samples/listings.json', 'utf8'));
});
afterAll(() => {
  imports.close();
  rmSync(folder, { recursive: true });
});

/** Runs the command in this process, on the database of `imports`. */
function exportHere(...args: string[]) {
  const open = async () => ({ database: imports.database, close: async () => {} });
  return runHere({ ...command, run: (request) => command.run(request, open) }, ...args);
}

describe('export-listings', () => {
  it('writes a file that changes nothing when it is imported again, whole or as a patch', async () => {
    const before = imports.rows('SELECT * FROM properties ORDER BY id');
    const out = join(folder, 'catalogue.json');
    const written = await exportHere('--out', out);
    expect(written).toEqual({ code: 0, stdout: '', stderr: '71 of 71 listings read\n' });
    for (const option of ['--prune', '--patch']) {
      const again = await imports.run(out, option);
      expect(again).toMatchObject({ code: 0, stderr: '' });
      expect(again.stdout).toContain('71 listings: 0 added, 0 changed, 71 unchanged\n');
      expect(again.stdout).toContain('Nothing changed: the store already holds all of it.\n');
    }
    expect(imports.rows('SELECT * FROM properties ORDER BY id')).toEqual(before);
  });

  it('writes an empty catalogue', async () => {
    const empty = openMemoryImports();
    expect(JSON.parse(await empty.exported())).toEqual({
      locations: [],
      amenities: [],
      properties: [],
    });
    empty.close();
  });

  it('says in one line why a file cannot be written, and leaves none', async () => {
    const out = join(folder, 'nowhere', 'catalogue.json');
    const { code, stdout, stderr } = await exportHere('--out', out);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trim().split('\n').at(-1)).toMatch(/^The export failed: .*nowhere/);
    expect(existsSync(out)).toBe(false);
  });
});

describe('the program export-listings', () => {
  let project: ProjectCopy;
  beforeAll(async () => {
    project = await copyWithStore('samples');
  });
  afterAll(() => project.remove());

  it('prints the whole file of the local database', async () => {
    const { code, stdout, stderr } = await project.run('export-listings.ts');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '71 of 71 listings read\n' });
    expect(stdout).toBe((await exportHere()).stdout);
  });

  it('ends in silence when the reader of its output has ended', () => {
    const line = 'node tools/export-listings.ts 2>errors.txt | head -1';
    const { status, stdout } = spawnSync('bash', ['-c', `set -o pipefail; ${line}`], {
      cwd: project.directory,
      encoding: 'utf8',
    });
    const errors = readFileSync(join(project.directory, 'errors.txt'), 'utf8');
    expect({ status, stdout, errors }).toEqual({
      status: 0,
      stdout: '{\n',
      errors: '71 of 71 listings read\n',
    });
  });

  it('writes the catalogue of the deployed database that --env names with --remote', async () => {
    const cloudflare = await new CloudflareStandIn().start();
    try {
      for (const [name, slug] of [
        [NAME, 'near'],
        [`${NAME}-staging`, 'far-away'],
      ] as const) {
        const store = cloudflare.account.createDatabase(name);
        store.migrate();
        const file = project.write('remote.json', fileOf([propertyOf({ slug })]));
        await runImportOn(store.binding, importListings, file);
      }
      project.environment = cloudflare.environment;
      const staging = await project.run('export-listings.ts', '--remote', '--env', 'staging');
      expect(staging).toMatchObject({ code: 0, stderr: '1 of 1 listings read\n' });
      expect(JSON.parse(staging.stdout).properties).toMatchObject([{ slug: 'far-away' }]);
      expect(cloudflare.unknown).toEqual([]);
    } finally {
      await cloudflare.stop();
    }
  });
});
