/** The packages: which are installed, which run install scripts, and which are in the Worker. */

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { textOf } from './markdown.ts';
import { codesIn, tableIn } from './tables.ts';

const versions = z.record(z.string(), z.string());

const manifest = z
  .object({
    scripts: versions,
    dependencies: versions,
    devDependencies: versions,
    allowScripts: z.record(z.string(), z.boolean()),
  })
  .parse(readJson('package.json'));

const lockedPackages = z
  .object({
    packages: z.record(
      z.string(),
      z.object({
        version: z.string().optional(),
        resolved: z.string().optional(),
        integrity: z.string().optional(),
        hasInstallScript: z.boolean().default(false),
        dev: z.boolean().default(false),
        optional: z.boolean().default(false),
        /** Set for packages that are built for some platforms only. */
        os: z.array(z.string()).optional(),
        devOptional: z.boolean().default(false),
      }),
    ),
  })
  .parse(readJson('package-lock.json')).packages;

/** The lockfile's packages without the project itself; `name` is the package's name. */
const locked = Object.entries(lockedPackages)
  .filter(([place]) => place !== '')
  .map(([place, details]) => ({
    place,
    name: place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length),
    ...details,
  }));

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function namesOf(packages: readonly { name: string }[]): string[] {
  return [...new Set(packages.map(({ name }) => name))].sort();
}

describe('install scripts', () => {
  it('are decided on for every package that has one, and run for three packages only', () => {
    const withScript = locked.filter(({ hasInstallScript }) => hasInstallScript);
    expect(namesOf(withScript)).toEqual(Object.keys(manifest.allowScripts).sort());
    const approved = Object.entries(manifest.allowScripts).filter(([, allowed]) => allowed);
    expect(approved.map(([name]) => name).sort()).toEqual(['esbuild', 'node', 'workerd']);
  });

  it('do not exist in the project itself', () => {
    const lifecycle = /^(pre|post)?(install|prepare|pack|publish)|^(pre|post)/;
    expect(Object.keys(manifest.scripts).filter((name) => lifecycle.test(name))).toEqual([]);
    expect(existsSync('binding.gyp')).toBe(false);
  });
});

describe('the lockfile', () => {
  it('names no registry, and has a digest for each package but builds for other platforms', () => {
    expect(locked.length).toBeGreaterThan(100);
    expect(locked.filter(({ resolved }) => resolved !== undefined)).toEqual([]);
    const undigested = locked.filter(({ integrity }) => integrity === undefined);
    expect(undigested.filter(({ optional, os }) => !optional || os === undefined)).toEqual([]);
  });

  it('has exactly the versions that package.json names, which names no ranges', () => {
    for (const [name, version] of Object.entries({
      ...manifest.dependencies,
      ...manifest.devDependencies,
    })) {
      // An alias names another package: npm:typescript@7.0.2.
      const exact = version.replace(/^npm:.*@/, '');
      expect(lockedPackages[`node_modules/${name}`]?.version, name).toBe(exact);
    }
  });

  it('has one copy of the tools and of what the Worker imports', () => {
    const tools = ['wrangler', 'workerd', 'miniflare', 'vitest'];
    const once = [...tools, ...Object.keys(manifest.dependencies)];
    const copies = locked.filter(({ name }) => once.includes(name)).map(({ place }) => place);
    expect(copies.sort()).toEqual(once.map((name) => `node_modules/${name}`).sort());
  });
});

it('production dependencies have none of their own, and a reason in the document', () => {
  const names = Object.keys(manifest.dependencies).sort();
  const inProduction = locked.filter(
    ({ dev, optional, devOptional }) => !dev && !optional && !devOptional,
  );
  expect(namesOf(inProduction)).toEqual(names);
  const { rows } = tableIn(textOf('docs/explain/dependencies.md'), 'package');
  expect(rows.flatMap(([name = '']) => codesIn(name)).sort()).toEqual(names);
});
