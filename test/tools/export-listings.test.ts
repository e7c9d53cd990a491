/** `export-listings` run as a program: the program `import-listings` imports its file again, which changes nothing. */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { fileOf, propertyOf } from '../support/node/listings-file.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

const EXPORT = 'export-listings.ts';
const IMPORT = 'import-listings.ts';
const NAME = 'events-and-property-feed';

let project: ProjectCopy;
beforeAll(async () => {
  project = await copyWithStore('samples');
});
afterAll(() => project.remove());

const storedRows = () => project.rows('SELECT * FROM properties ORDER BY id');

describe('the program export-listings', () => {
  it('writes a file that changes nothing when it is imported again, whole or as a patch', async () => {
    const before = storedRows();
    const out = join(project.directory, 'catalogue.json');
    const written = await project.run(EXPORT, '--out', out);
    expect(written).toEqual({ code: 0, stdout: '', stderr: '71 of 71 listings read\n' });
    for (const options of [['--prune'], ['--patch']]) {
      const again = await project.run(IMPORT, out, ...options);
      expect(again).toMatchObject({ code: 0, stderr: '' });
      expect(again.stdout).toContain('71 listings: 0 added, 0 changed, 71 unchanged\n');
      expect(again.stdout).toContain('Nothing changed: the store already holds all of it.\n');
    }
    expect(storedRows()).toEqual(before);
    const printed = await project.run(EXPORT);
    expect(printed).toMatchObject({ code: 0, stderr: '71 of 71 listings read\n' });
    expect(printed.stdout).toBe(readFileSync(out, 'utf8'));
  });

  it('ends in silence when the reader of its output has ended', () => {
    const line = `node tools/${EXPORT} 2>errors.txt | head -1`;
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

  it('says in one line why a file cannot be written, and leaves none', async () => {
    const out = join(project.directory, 'nowhere', 'catalogue.json');
    const { code, stdout, stderr } = await project.run(EXPORT, '--out', out);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trim().split('\n').at(-1)).toMatch(/^The export failed: .*nowhere/);
    expect(existsSync(out)).toBe(false);
  });

  it('does not take an empty name for a file', async () => {
    const { code, stdout, stderr } = await project.run(EXPORT, '--out=');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(
      '--out needs the name of a file. Nothing was done.\n\nUsage: npm run -s export-listings',
    );
  });

  it('writes the catalogue of staging with --remote --env staging', async () => {
    const cloudflare = await new CloudflareStandIn().start();
    try {
      for (const name of [NAME, `${NAME}-staging`]) {
        cloudflare.account.createDatabase(name).migrate();
      }
      project.environment = cloudflare.environment;
      const file = project.write('remote.json', fileOf([propertyOf({ slug: 'far-away' })]));
      const staging = ['--remote', '--env', 'staging'];
      expect(await project.run(IMPORT, file, ...staging)).toMatchObject({ code: 0, stderr: '' });
      const { code, stdout, stderr } = await project.run(EXPORT, ...staging);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '1 of 1 listings read\n' });
      expect(JSON.parse(stdout).properties).toMatchObject([{ slug: 'far-away' }]);
      const again = await project.run(IMPORT, project.write('again.json', stdout), ...staging);
      expect(again.stdout).toContain('Nothing changed');
      const production = await project.run(EXPORT, '--remote');
      expect(JSON.parse(production.stdout).properties).toEqual([]);
      expect(cloudflare.unknown).toEqual([]);
      cloudflare.faults = [{ request: /\/d1\//, status: 403 }];
      const refused = await project.run(EXPORT, '--remote');
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toContain('lack the permissions "Account · D1 · Edit"');
    } finally {
      project.environment = {};
      await cloudflare.stop();
    }
  });
});
