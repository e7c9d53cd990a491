/** `export-listings`: its file is imported again, which changes nothing. */

import { spawnSync } from 'node:child_process';
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../../tools/export-listings.ts';
import { importListings } from '../../tools/import/command.ts';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { runHere, runImportOn } from '../support/node/in-process.ts';
import { fileOf, propertyOf } from '../support/node/listings-file.ts';
import { openMemoryImports } from '../support/node/memory-imports.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { tapD1 } from '../support/tap.ts';

const NAME = 'events-and-property-feed';

const imports = openMemoryImports();
const empty = openMemoryImports();
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'export-'));
  await imports.load(readFileSync('tools/samples/listings.json', 'utf8'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Runs the command in this process, on the database of `imports` or on another one. */
function exportHere(args: string[] = [], database = imports.database) {
  const open = async () => ({ database, close: async () => {} });
  return runHere({ ...command, run: (request) => command.run(request, open) }, ...args);
}

describe('export-listings', () => {
  it('writes a file that changes nothing when it is imported again, whole or as a patch', async () => {
    const before = imports.rows('SELECT * FROM properties ORDER BY id');
    const out = join(folder, 'catalogue.json');
    const written = await exportHere(['--out', out]);
    expect(written).toEqual({ code: 0, stdout: '', stderr: '' });
    for (const option of ['--prune', '--patch']) {
      const again = await imports.run(out, option);
      expect(again).toMatchObject({ code: 0, stderr: '' });
      expect(again.stdout).toContain('71 listings: 0 added, 0 changed, 71 unchanged\n');
      expect(again.stdout).toContain('Nothing changed: the store already holds all of it.\n');
    }
    expect(imports.rows('SELECT * FROM properties ORDER BY id')).toEqual(before);
  });

  it('writes an empty catalogue', async () => {
    expect(JSON.parse(await empty.exported())).toEqual({
      locations: [],
      amenities: [],
      properties: [],
    });
  });

  it('replaces a file only by a whole one, through a symbolic link too', async () => {
    const [out, link] = ['before.json', 'link.json'].map((name) => join(folder, name));
    if (out === undefined || link === undefined) throw new Error('no paths');
    writeFileSync(out, 'before', { mode: 0o600 });
    symlinkSync(out, link);
    let calls = 0;
    const failing = tapD1(imports.database, (call) => {
      calls += 1;
      return calls > 4 ? Promise.reject(new Error('D1 has failed')) : call();
    });
    const failed = await exportHere(['--out', link], failing);
    expect(failed).toMatchObject({
      code: 1,
      stderr: `The export to ${link} failed: D1 has failed\n`,
    });
    expect(readFileSync(out, 'utf8')).toBe('before');
    expect(await exportHere(['--out', link])).toMatchObject({ code: 0 });
    expect(readFileSync(out, 'utf8')).toBe(await imports.exported());
    expect([lstatSync(link).isSymbolicLink(), statSync(out).mode & 0o777]).toEqual([true, 0o600]);
    expect(readdirSync(folder).filter((name) => name.startsWith('.scratch'))).toEqual([]);
  });

  it('writes to a device, and leaves a directory and a read-only file as they are', async () => {
    const out = join(folder, 'read-only.json');
    writeFileSync(out, 'before', { mode: 0o400 });
    for (const [path, message] of [
      [out, 'it is read-only'],
      [folder, 'it is a directory'],
      [join(folder, 'nowhere', 'catalogue.json'), 'no such file or directory'],
      ['/dev/full', 'cannot write: no space left on device'],
    ] as const) {
      const { code, stdout, stderr } = await exportHere(['--out', path]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr.trim().split('\n').at(-1)).toMatch(`The export to ${path} failed: `);
      expect(stderr).toContain(message);
    }
    expect(readFileSync(out, 'utf8')).toBe('before');
    expect(await exportHere(['--out', '/dev/null'])).toMatchObject({ code: 0 });
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
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
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
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
      errors: '',
    });
  });

  it('says in one line that the disk of its output is full', () => {
    const { status, stderr } = spawnSync(
      'bash',
      ['-c', 'node tools/export-listings.ts >/dev/full'],
      {
        cwd: project.directory,
        encoding: 'utf8',
      },
    );
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'The export failed: cannot write: no space left on device\n',
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
      expect(staging).toMatchObject({ code: 0, stderr: '' });
      expect(JSON.parse(staging.stdout).properties).toMatchObject([{ slug: 'far-away' }]);
      expect(cloudflare.unknown).toEqual([]);
    } finally {
      await cloudflare.stop();
    }
  });
});
