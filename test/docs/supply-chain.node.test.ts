/** The packages that are installed, that run install scripts, and that are in the Worker. */

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

it('allowScripts has every package with an install script', () => {
  const withScript = locked.filter(({ hasInstallScript }) => hasInstallScript);
  expect(listNames(withScript)).toEqual(Object.keys(manifest.allowScripts).sort());
});

it('allowScripts lets three packages run their install script', () => {
  const approved = Object.entries(manifest.allowScripts).filter(([, allowed]) => allowed);
  expect(approved.map(([name]) => name).sort()).toEqual(['esbuild', 'node', 'workerd']);
});

it('package-lock.json has one copy of the tools and of each import of the Worker', () => {
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

it('production dependencies have a reason in the document', () => {
  const { rows } = getTable('docs/explain/dependencies.md', 'package');
  expect(rows.flatMap(([name = '']) => getCodes(name)).sort()).toEqual(productionNames);
});

it('package-lock.json has a hash of every package, including other platforms', () => {
  const withoutHash = locked.filter(({ integrity }) => !integrity.startsWith('sha512-'));
  expect(withoutHash.map(({ path }) => path)).toEqual([]);
});

it('workflows name the actions that they use by their commits', () => {
  const files = globSync(['{.github/workflows,docs/examples}/*.yml']).sort();
  expect(files).toEqual(['.github/workflows/ci.yml', 'docs/examples/import.yml']);
  const actions = files.flatMap((file) => readFileSync(file, 'utf8').match(/uses: .*/g) ?? []);
  expect(actions).toHaveLength(6);
  for (const action of actions) expect(action).toMatch(/@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});
