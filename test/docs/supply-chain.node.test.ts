/** The packages: which are installed, which run install scripts, and which are in the Worker. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { codesIn, tableOf } from './markdown.ts';

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
  const { rows } = tableOf('docs/explain/dependencies.md', 'package');
  expect(rows.flatMap(([name = '']) => codesIn(name)).sort()).toEqual(names);
});
