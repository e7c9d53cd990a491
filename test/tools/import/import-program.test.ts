/**
 * `import-listings`: its arguments and unreadable files, and as a program its migrations and its
 * turn.
 */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importListings } from '../../../tools/import/command.ts';
import { openMigrated } from '../../../tools/import/load-listings.ts';
import { Database } from '../../support/cloudflare/database.ts';
import { runImportOn } from '../../support/node/in-process.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { type Finished, ProjectCopy } from '../../support/node/project-copy.ts';

const IMPORT = 'import-listings.ts';

let project: ProjectCopy;

beforeAll(() => {
  project = new ProjectCopy();
});
afterAll(() => project.remove());

function load(content: unknown, ...options: string[]): Promise<Finished> {
  return project.run(IMPORT, project.write('listings.json', content), ...options);
}

function expectDone(finished: Finished): void {
  expect(finished).toMatchObject({ code: 0, stderr: '' });
}

describe('the program import-listings', () => {
  it('migrates an empty database and loads the sample listings', async () => {
    const loaded = await project.run(IMPORT, 'tools/samples/listings.json');
    expectDone(loaded);
    expect(loaded.stdout).toContain('71 listings: 71 added, 0 changed, 0 unchanged');
    expect(project.rows('SELECT kind FROM import_staging')).toEqual([{ kind: 'applied' }]);
    const rows = project.rows('SELECT rendering FROM properties');
    expect(rows).toHaveLength(71);
    expect(new Set(rows.map((row) => row.rendering)).size).toBe(1);
  });

  it('does not take a store of an older state for an empty one under --dry-run', async () => {
    const next = project.write('migrations/9999_next.sql', 'CREATE TABLE next (id text)');
    const { code, stderr } = await load({ properties: [] }, '--dry-run');
    rmSync(next);
    expect(code).toBe(1);
    expect(stderr).toContain('the local database lacks migrations');
  });

  it('names the fault of PUBLIC_SITE_URL', async () => {
    const vars = project.write('.dev.vars', 'PUBLIC_SITE_URL=https://www.example.com/?a=1\n');
    const { code, stderr } = await load({ properties: [] });
    rmSync(vars);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'PUBLIC_SITE_URL must have no query and no fragment\nNothing was changed.\n',
    });
  });
});

describe('import-listings', () => {
  const imports = openMemoryImports();

  it('takes a store without tables for an empty one under --dry-run', async () => {
    const store = new Database('without-tables');
    const stores = { local: store, remote: store, empty: new Database('empty') };
    const { database } = await openMigrated({ isRemote: false, isDryRun: true }, async (kind) => ({
      database: stores[kind].binding,
      close: async () => {},
    }));
    const samples = 'tools/samples/listings.json';
    const dry = await runImportOn(database, importListings, '--dry-run', samples);
    expectDone(dry);
    expect(dry.stdout).toContain('71 listings: 71 added, 0 changed, 0 unchanged');
    expect(store.rows('SELECT name FROM sqlite_schema')).toEqual([]);
  });

  it('names the fault of an unreadable file in one line', async () => {
    mkdirSync(join(project.directory, 'folder'));
    const failures = [
      [await imports.run('missing.json'), 'missing.json: no such file or directory'],
      [
        await imports.run(join(project.directory, 'folder')),
        'folder: cannot read: illegal operation on a directory',
      ],
      [await imports.load(new Uint8Array([0xff, 0xfe])), 'the file: is not UTF-8 text'],
    ] as const;
    for (const [{ code, stderr }, message] of failures) {
      expect(code).toBe(1);
      expect(stderr.split('\n')[0]).toContain(message);
      expect(stderr).not.toMatch(/^\s+at /m);
    }
  });
});
