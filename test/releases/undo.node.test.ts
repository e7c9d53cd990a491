/** A deployment is undone by the runbook's command, which deploys the code of the release before. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { codeBlocksOf } from '../docs/markdown.ts';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';
import { readFixture } from './release.ts';

const NAME = 'events-and-property-feed';
/** The archive of the release has these of the files that the command restores. */
const ARCHIVED = ['src', 'tools', 'package.json'];

const command = codeBlocksOf('docs/operate/runbook.md', 'sh')
  .flatMap((block) => block.split('\n'))
  .find((line) => line.startsWith('git restore --source=COMMIT'));
const [restored = '', ...others] = command?.replace(/^.* -- /, '').split(' && ') ?? [];

const project = new ProjectCopy();
const cloudflare = new CloudflareStandIn();
beforeAll(() => cloudflare.start());
afterAll(async () => {
  await cloudflare.stop();
  await project.remove();
});

it('the command restores all code, and neither the settings nor the migrations', () => {
  expect(restored).toBe('src tools test docs package.json package-lock.json');
  expect(others).toEqual(['git commit -m "Undo to COMMIT"', 'npm ci', 'npm run deploy']);
});

/** What `npm ci` installs for the release: the packages of today, and the one that has left since. */
function installPackages(directory: string): void {
  const packages = join(directory, 'node_modules');
  const today = realpathSync(packages);
  rmSync(packages);
  mkdirSync(join(packages, 'csv-parse'), { recursive: true });
  for (const name of readdirSync(today)) symlinkSync(join(today, name), join(packages, name));
  project.write('node_modules/csv-parse/package.json', { exports: { './sync': './sync.js' } });
  project.write('node_modules/csv-parse/sync.js', 'exports.parse = exports.CsvError = class {};');
}

it('the restored code deploys under the settings and migrations of today', async () => {
  const { directory } = project;
  installPackages(directory);
  const names = restored.split(' ').filter((name) => ARCHIVED.includes(name));
  for (const name of names) rmSync(join(directory, name), { recursive: true });
  const extract = ['-x', '-C', directory, ...names];
  execFileSync('tar', extract, { input: readFixture('project.tar') });
  const settings = readFileSync(join(directory, 'wrangler.toml'), 'utf8');

  const { code, stdout, stderr } = await project.run('deploy.ts');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { id, script } = cloudflare.served(NAME);
  expect(stdout).toContain(`Served now: version ${id}`);
  expect(script).toContain('"1.0.0"');
  expect(readFileSync(join(directory, 'wrangler.toml'), 'utf8')).toBe(settings);

  // Another command starts too. That of today imports an export that the release lacks.
  expect(await project.run('import-listings.ts', '--help')).toMatchObject({ code: 0, stderr: '' });
});
