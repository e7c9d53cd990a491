/** The packages: which are installed, which run install scripts, and which are in the Worker. */

import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { getCodes, getTable } from '../support/markdown.ts';

const versions = z.record(z.string(), z.string());
const flag = z.boolean().default(false);

const manifest = z
  .object({
    scripts: versions,
    dependencies: versions,
    devDependencies: versions,
    allowScripts: z.record(z.string(), z.boolean()),
  })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));

const lockedPackage = z.object({
  hasInstallScript: flag,
  integrity: z.string().default(''),
  dev: flag,
  optional: flag,
  devOptional: flag,
});
const { '': _itself, ...packages } = z
  .object({ packages: z.record(z.string(), lockedPackage) })
  .parse(JSON.parse(readFileSync('package-lock.json', 'utf8'))).packages;
const locked = Object.entries(packages).map(([place, details]) => ({
  place,
  name: place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length),
  ...details,
}));

const namesOf = (found: readonly { name: string }[]) =>
  [...new Set(found.map(({ name }) => name))].sort();

it('install scripts are decided on for every package that has one, and run for three only', () => {
  const withScript = locked.filter(({ hasInstallScript }) => hasInstallScript);
  expect(namesOf(withScript)).toEqual(Object.keys(manifest.allowScripts).sort());
  const approved = Object.entries(manifest.allowScripts).filter(([, allowed]) => allowed);
  expect(approved.map(([name]) => name).sort()).toEqual(['esbuild', 'node', 'workerd']);
});

it('the lockfile has one copy of the tools and of what the Worker imports', () => {
  const tools = ['wrangler', 'workerd', 'miniflare', 'vitest'];
  const once = [...tools, ...Object.keys(manifest.dependencies)];
  const copies = locked.filter(({ name }) => once.includes(name)).map(({ place }) => place);
  expect(copies.sort()).toEqual(once.map((name) => `node_modules/${name}`).sort());
});

it('production dependencies have none of their own, and a reason in the document', () => {
  const names = Object.keys(manifest.dependencies).sort();
  const inProduction = locked.filter(
    ({ dev, optional, devOptional }) => !dev && !optional && !devOptional,
  );
  expect(namesOf(inProduction)).toEqual(names);
  const { rows } = getTable('docs/explain/dependencies.md', 'package');
  expect(rows.flatMap(([name = '']) => getCodes(name)).sort()).toEqual(names);
});

it('the lockfile has a hash of every package, also of those for other platforms', () => {
  const unproven = locked.filter(({ integrity }) => !integrity.startsWith('sha512-'));
  expect(unproven.map(({ place }) => place)).toEqual([]);
});

it('workflows name the actions that they use by their commits', () => {
  const files = globSync(['{.github/workflows,docs/examples}/*.yml']).sort();
  expect(files).toEqual(['.github/workflows/ci.yml', 'docs/examples/import.yml']);
  const used = files.flatMap((file) => readFileSync(file, 'utf8').match(/uses: .*/g) ?? []);
  expect(used).toHaveLength(6);
  for (const action of used) expect(action).toMatch(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});
