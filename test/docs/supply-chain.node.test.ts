/**
 * Checks which packages are installed, which run install scripts, and which are part of the Worker.
 */

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
const locked = Object.entries(packages).map(([path, details]) => ({
  path,
  name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
  ...details,
}));

const listNames = (entries: readonly { name: string }[]) =>
  [...new Set(entries.map(({ name }) => name))].sort();

it('allowScripts lists every package that has an install script', () => {
  const withScript = locked.filter(({ hasInstallScript }) => hasInstallScript);
  expect(listNames(withScript)).toEqual(Object.keys(manifest.allowScripts).sort());
});

it('allowScripts permits the install scripts of three packages', () => {
  const approved = Object.entries(manifest.allowScripts).filter(([, allowed]) => allowed);
  expect(approved.map(([name]) => name).sort()).toEqual(['esbuild', 'node', 'workerd']);
});

it('package-lock.json has only one copy of each tool and of each package that the Worker imports', () => {
  const tools = ['wrangler', 'workerd', 'miniflare', 'vitest'];
  const singleNames = [...tools, ...Object.keys(manifest.dependencies)];
  const copies = locked.filter(({ name }) => singleNames.includes(name)).map(({ path }) => path);
  expect(copies.sort()).toEqual(singleNames.map((name) => `node_modules/${name}`).sort());
});

const productionNames = Object.keys(manifest.dependencies).sort();

it('production dependencies have no dependencies', () => {
  const installed = locked.filter(
    ({ dev, optional, devOptional }) => !dev && !optional && !devOptional,
  );
  expect(listNames(installed)).toEqual(productionNames);
});

it('production dependencies are explained in docs/explain/dependencies.md', () => {
  const { rows } = getTable('docs/explain/dependencies.md', 'package');
  expect(rows.flatMap(([name = '']) => getCodes(name)).sort()).toEqual(productionNames);
});

it('package-lock.json has a hash for every package, including packages for other platforms', () => {
  const withoutHash = locked.filter(({ integrity }) => !integrity.startsWith('sha512-'));
  expect(withoutHash.map(({ path }) => path)).toEqual([]);
});

it('workflows pin every action to a commit', () => {
  const files = globSync(['{.github/workflows,docs/examples}/*.yml']).sort();
  expect(files).toEqual(['.github/workflows/ci.yml', 'docs/examples/import.yml']);
  const actions = files.flatMap((file) => readFileSync(file, 'utf8').match(/uses: .*/g) ?? []);
  expect(actions).toHaveLength(6);
  for (const action of actions) expect(action).toMatch(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});
