/** What tools/own-node.js does before a command runs, such as choosing the folder for compiled code. */

import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const PRINT_FOLDER = 'process.getBuiltinModule("module").getCompileCacheDir() ?? "off"';

describe('the compile cache', () => {
  /** Returns the folder in which Node keeps compiled code for a project that `arrange` changes. */
  function findCompileCache(
    arrange: (project: string) => unknown,
    environment: Record<string, string> = {},
  ) {
    const project = mkdtempSync(join(tmpdir(), 'project-'));
    mkdirSync(join(project, 'tools'));
    copyFileSync('tools/own-node.js', join(project, 'tools/own-node.js'));
    symlinkSync(resolve('node_modules'), join(project, 'node_modules'));
    arrange(project);
    const { NODE_COMPILE_CACHE: _, ...env } = process.env;
    const args = ['--import', './tools/own-node.js', '--print', PRINT_FOLDER];
    const options = { cwd: project, env: { ...env, ...environment }, encoding: 'utf8' } as const;
    return { project, folder: execFileSync(process.execPath, args, options).trim() };
  }

  const getFolder = (project: string) => join(project, '.wrangler/compile-cache');
  const makeFolder = (project: string, mode: number) => {
    const folder = getFolder(project);
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, mode);
    return folder;
  };

  it('is in a folder of the working copy that only its user can write to', () => {
    const { project, folder } = findCompileCache(() => {});
    expect(folder).toContain(join(project, '.wrangler/compile-cache/'));
    expect(statSync(join(project, '.wrangler/compile-cache')).mode & 0o777).toBe(0o700);
  });

  it.each<[fact: string, arrange: (project: string) => unknown]>([
    ['can be written by the group', (project) => makeFolder(project, 0o770)],
    ['can be written by everyone', (project) => makeFolder(project, 0o777)],
    [
      'is a link',
      (project) => {
        mkdirSync(join(project, '.wrangler'));
        symlinkSync(mkdtempSync(join(tmpdir(), 'elsewhere-')), getFolder(project));
      },
    ],
    ['cannot be made', (project) => writeFileSync(join(project, '.wrangler'), '')],
  ])('is off without a message if its folder %s', (_, arrange) => {
    expect(findCompileCache(arrange).folder).toBe('off');
  });

  it('is off if its folder belongs to another user', ({ skip }) => {
    skip(process.getuid?.() !== 0, 'root');
    const { folder } = findCompileCache((project) => chownSync(makeFolder(project, 0o700), 1, 1));
    expect(folder).toBe('off');
  });

  it('leaves the folder of NODE_COMPILE_CACHE to Node', () => {
    const chosenFolder = mkdtempSync(join(tmpdir(), 'chosen-'));
    const { project, folder } = findCompileCache(() => {}, { NODE_COMPILE_CACHE: chosenFolder });
    expect(folder).toContain(chosenFolder);
    expect(readdirSync(project)).toEqual(['node_modules', 'tools']);
  });
});

it.each<[fact: string, installed: string[], message: string]>([
  ['no package', [], 'The packages of this project are not installed. Run: npm ci\n'],
  [
    'only the packages of production',
    ['hono'],
    'The development packages of this project are missing, because npm left them out (NODE_ENV=production, or its setting omit=dev). Run: npm ci --include=dev\n',
  ],
  ['every package', ['hono', 'node'], ''],
])('names the command that completes an installation with %s', (_, installed, message) => {
  const project = mkdtempSync(join(tmpdir(), 'project-'));
  for (const name of installed) {
    mkdirSync(join(project, 'node_modules', name), { recursive: true });
  }
  mkdirSync(join(project, 'tools'));
  copyFileSync('tools/own-node.js', join(project, 'tools/own-node.js'));
  const args = ['--import', './tools/own-node.js', '--eval', ''];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: message === '' ? 0 : 1, stderr: message });
});

it('prints the usage of an import without loading the libraries that only its work needs', () => {
  const printLoaded = `data:text/javascript,
    import module from 'node:module';
    module.registerHooks({
      load(url, context, next) {
        if (!url.startsWith('node:')) process.stderr.write(url + '\\n');
        return next(url, context);
      },
    });`;
  const preloads = ['--import', './tools/own-node.js', '--import', printLoaded];
  const args = [...preloads, 'tools/commands/import-listings.ts', '--help'];
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const packages = stderr.matchAll(/\/node_modules\/((?:@[^/]+\/)?[^/]+)/g);
  const names = new Set(Array.from(packages, ([, name]) => name));
  expect(names).toContain('commander');
  expect(names).not.toContain('hucre');
  expect(names).not.toContain('jose');
});
