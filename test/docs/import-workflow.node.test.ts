/** The steps of docs/examples/import.yml, run in a repository of their own. */

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ProjectCopy } from '../support/node/project-copy.ts';

const [, dryRunJob = '', importJob = ''] = readFileSync('docs/examples/import.yml', 'utf8').split(
  /^ {2}(?:dry-run|import):$/m,
);
/** The last step's script, without its indentation. */
const scriptOf = (job: string) => (job.split('run: |\n').at(-1) ?? '').replaceAll(/^ {10}/gm, '');

const HEAD = 'slug,name,status,display_order,location,price_from\n';
const NAMES = { locations: [{ slug: 'mallorca', name: { en: 'Mallorca' } }], amenities: [] };

let project: ProjectCopy;

function git(...args: string[]): string {
  const identity = ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com'];
  return execFileSync('git', [...identity, ...args], { cwd: project.directory, encoding: 'utf8' });
}

beforeAll(() => {
  project = new ProjectCopy();
  for (const folder of ['listings', 'bin']) mkdirSync(join(project.directory, folder));
  project.write('bin/gh', '#!/bin/sh\ncp comment.md posted.md\n');
  chmodSync(join(project.directory, 'bin/gh'), 0o755);
  project.write('listings/names.json', NAMES);
  project.write('listings/homes.csv', `${HEAD}casa-marea,Casa Marea,listed,1,mallorca,289000\n`);
  git('init', '-qb', 'main');
  git('add', 'listings');
  git('commit', '-qm', 'the listings');
});
afterAll(() => project.remove());

it('a pull request gets what its merge would change, and fails at a problem', () => {
  git('checkout', '-qb', 'change');
  project.write('listings/names.json', { ...NAMES, amenities: [{ slug: 'sauna', label: {} }] });
  project.write('listings/homes.csv', `${HEAD}casa-marea,Casa Marea,listed,1,menorca,289000\n`);
  git('commit', '-qam', 'a change');
  const head = git('rev-parse', 'HEAD').trim();
  git('checkout', '-q', 'main');
  const PATH = `${project.directory}/bin:${process.env.PATH}`;
  const { status } = spawnSync('bash', ['-e', '-c', scriptOf(dryRunJob)], {
    cwd: project.directory,
    env: { ...process.env, PATH, HEAD: head, PULL_REQUEST: 'it' },
  });
  const comment = readFileSync(join(project.directory, 'posted.md'), 'utf8');
  expect(comment).toContain('1 amenity: 1 added, 0 changed, 0 unchanged\n');
  expect(comment).toContain('location "menorca" is not known');
  expect(status).toBe(1);
});

it('only the import of a merge has the token, in its environment', () => {
  expect(dryRunJob).not.toContain('secrets.');
  expect(importJob).toContain('\n    environment: listings\n');
  const imports = scriptOf(importJob).trim().split('\n');
  expect(imports.map((line) => line.includes(' --remote '))).toEqual([true, true]);
});
