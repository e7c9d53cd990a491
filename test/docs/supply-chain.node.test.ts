/** The packages: which are installed, which run install scripts, and which are in the Worker. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

/** The packages that the modules reached from `entries` import. */
function packagesReachedFrom(...entries: string[]): string[] {
  const reached = new Set<string>();
  const packages = new Set<string>();
  const visit = (path: string) => {
    if (reached.has(path)) return;
    reached.add(path);
    for (const [, target = ''] of readFileSync(path, 'utf8').matchAll(
      /(?:from|import) '([^']+)'/g,
    )) {
      if (target.startsWith('.')) visit(join(dirname(path), target));
      else if (!/^(cloudflare|node):/.test(target)) {
        packages.add(/^(@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? '');
      }
    }
  };
  entries.forEach(visit);
  return [...packages].sort();
}

describe('install scripts', () => {
  it('run for three packages only, each of them approved', () => {
    const approved = Object.entries(manifest.allowScripts).filter(([, allowed]) => allowed);
    expect(approved.map(([name]) => name).sort()).toEqual(['esbuild', 'node', 'workerd']);
  });

  it('are decided on for every package that has one, and for no other', () => {
    const withScript = locked.filter(({ hasInstallScript }) => hasInstallScript);
    expect(namesOf(withScript)).toEqual(Object.keys(manifest.allowScripts).sort());
  });

  it('do not exist in the project itself', () => {
    const lifecycle = /^(pre|post)?(install|prepare|pack|publish)|^(pre|post)/;
    expect(Object.keys(manifest.scripts).filter((name) => lifecycle.test(name))).toEqual([]);
    expect(existsSync('binding.gyp')).toBe(false);
  });
});

describe('the lockfile', () => {
  it('names no registry, so that any mirror serves, and has a digest for each package but builds for other platforms', () => {
    expect(locked.length).toBeGreaterThan(100);
    expect(locked.filter(({ resolved }) => resolved !== undefined)).toEqual([]);
    const undigested = locked.filter(({ integrity }) => integrity === undefined);
    expect(undigested.filter(({ optional, os }) => !optional || os === undefined)).toEqual([]);
  });

  it('has exactly the versions that package.json names, which names no ranges', () => {
    const named = { ...manifest.dependencies, ...manifest.devDependencies };
    // An alias names another package: npm:typescript@7.0.2.
    const asked = Object.fromEntries(
      Object.entries(named).map(([name, version]) => [name, version.replace(/^npm:.*@/, '')]),
    );
    const found = Object.keys(asked).map((name) => [
      name,
      lockedPackages[`node_modules/${name}`]?.version,
    ]);
    expect(Object.fromEntries(found)).toEqual(asked);
  });

  it.each(['wrangler', 'workerd', 'miniflare', 'zod', 'hono', 'vitest'])(
    'has one copy of %s',
    (wanted) => {
      expect(locked.filter(({ name }) => name === wanted).map(({ place }) => place)).toEqual([
        `node_modules/${wanted}`,
      ]);
    },
  );
});

describe('production dependencies', () => {
  const inProduction = locked.filter(
    ({ dev, optional, devOptional }) => !dev && !optional && !devOptional,
  );

  it('are the eight packages that package.json lists, without dependencies of their own', () => {
    expect(namesOf(inProduction)).toEqual(Object.keys(manifest.dependencies).sort());
    expect(inProduction).toHaveLength(8);
  });

  it('are the packages that the Worker imports, no more and no fewer', () => {
    expect(packagesReachedFrom('src/index.ts')).toEqual(Object.keys(manifest.dependencies).sort());
  });

  it('have a reason each in docs/explain/dependencies.md', () => {
    const { rows } = tableIn(textOf('docs/explain/dependencies.md'), 'package');
    const names = rows.flatMap(([name = '']) => codesIn(name));
    expect(names.sort()).toEqual(Object.keys(manifest.dependencies).sort());
    for (const [name, reason = ''] of rows) expect(reason, name).toMatch(/\w+ \w+ \w+/);
  });
});
