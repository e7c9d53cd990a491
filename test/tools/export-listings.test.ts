/** `export-listings`: its file is imported again, which changes nothing. */

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
import { withLocalLock } from '../../tools/command-line/local-lock.ts';
import { command } from '../../tools/export-listings.ts';
import { runHere } from '../support/node/in-process.ts';
import { openMemoryImports } from '../support/node/memory-imports.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { tapD1 } from '../support/tap.ts';

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'export-'));
beforeAll(() => imports.load(readFileSync('tools/samples/listings.json', 'utf8')));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command in this process, on the database of `imports` or on another one. */
function exportHere(args: string[], database = imports.database) {
  const open = async () => ({ database, close: async () => {} });
  return runHere({ ...command, run: (request) => command.run(request, open) }, ...args);
}

describe('export-listings', () => {
  it('writes a file that changes nothing when it is imported again, whole or as a patch', async () => {
    const before = imports.rows('SELECT * FROM properties ORDER BY id');
    const out = join(folder, 'catalogue.json');
    expect(await exportHere(['--out', out])).toEqual({ code: 0, stdout: '', stderr: '' });
    for (const option of ['--prune', '--patch']) {
      const again = await imports.run(out, option);
      expect(again).toMatchObject({ code: 0, stderr: '' });
      expect(again.stdout).toContain('71 listings: 0 added, 0 changed, 71 unchanged\n');
      expect(again.stdout).toContain('Nothing changed: the store already holds all of it.\n');
    }
    expect(imports.rows('SELECT * FROM properties ORDER BY id')).toEqual(before);
  });

  it('writes a sheet, in which an editor changes a price', async () => {
    const out = join(folder, 'homes.csv');
    expect(await exportHere(['--out', out, '--separator', ';'])).toMatchObject({ code: 0 });
    const sheet = readFileSync(out, 'utf8');
    expect(sheet).toMatch(
      /^\ufeffslug;hid;id;name;status;.*;location;amenities;photos;hero_photo\r\n/,
    );
    expect(sheet).toContain('\r\ncasa-ginebrera;H-1042;38e41363-4d59-46f1-9e09-b6848ac0a8df;Casa ');
    writeFileSync(out, sheet.replace(';289000;', ';295000;'));
    const changed = await imports.run(out, '--dry-run');
    expect(changed.stdout).toContain('71 listings: 0 added, 1 changed, 70 unchanged\n');
    expect(changed.stdout).toContain('casa-ginebrera: price_from 289000 → 295000\n');
    const { stdout } = await exportHere(['--csv']);
    expect(stdout).toBe(await imports.exported(','));
    for (const args of [
      ['--separator', ';'],
      ['--csv', '--separator', 'x'],
      ['--csv', '--names'],
    ]) {
      expect(await exportHere(args)).toMatchObject({ code: 2, stdout: '' });
    }
  });

  it('prints the names of locations and amenities, one per line', async () => {
    const { stdout } = await exportHere(['--names']);
    expect(stdout).toMatch(/^(location [0-9a-z-]+: .+\n)+(amenity [a-z-]+: .+\n)+$/);
    expect(stdout).toContain('location mallorca: Mallorca\n');
    expect(stdout).toContain('amenity private-pool: ');
  });

  it('replaces a file only by a whole one, through a symbolic link too', async () => {
    const out = join(folder, 'before.json');
    const link = join(folder, 'link.json');
    writeFileSync(out, 'before', { mode: 0o600 });
    symlinkSync(out, link);
    let calls = 0;
    const failing = tapD1(imports.database, (call) => {
      calls += 1;
      return calls > 4 ? Promise.reject(new Error('D1 has failed')) : call();
    });
    expect(await exportHere(['--out', link], failing)).toMatchObject({
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
      expect(stderr).toContain(`The export to ${path} failed: `);
      expect(stderr).toContain(message);
    }
    expect(readFileSync(out, 'utf8')).toBe('before');
    expect(await exportHere(['--out', '/dev/null'])).toMatchObject({ code: 0 });
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
  });

  it('is a program that prints the local database, locked or not', async () => {
    const project = await copyWithStore('samples');
    const lock = join(project.directory, '.wrangler/lock.sqlite');
    const { code, stdout, stderr } = await withLocalLock(
      () => project.run('export-listings.ts'),
      lock,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe((await exportHere([])).stdout);
    await project.remove();
  });

  it('begins again when an import is applied while it reads', async () => {
    let calls = 0;
    const database = tapD1(imports.database, (call) => {
      calls += 1;
      // The amenities have been read by then.
      if (calls === 5) {
        imports.rows(`UPDATE import_staging SET import_id = 'other' WHERE kind = 'applied'`);
        imports.rows(`UPDATE amenities SET label = '{"en":"Changed meanwhile"}'`);
      }
      return call();
    });
    expect((await exportHere([], database)).stdout).toContain('"label":{"en":"Changed meanwhile"}');
  });
});
