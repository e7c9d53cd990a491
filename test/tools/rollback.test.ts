/**
 * An operator's evening: a first deployment, a second, a bad one, back, a key replaced, and a third
 * deployment.
 */

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useQuickWrangler } from '../support/cloudflare/quick-wrangler.ts';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';

let cloudflare: CloudflareStandIn;
let project: ProjectCopy;

beforeAll(async () => {
  cloudflare = await new CloudflareStandIn().start();
  project = new ProjectCopy();
  setEnvironment();
  useQuickWrangler(project);
  project.write('.gitignore', 'node_modules\n.wrangler*\nbin\n');
  git('init', '-q');
});
afterAll(async () => {
  expect(cloudflare.unknown).toEqual([]);
  await project.remove();
  await cloudflare.stop();
});

/**
 * `added`: variables of the programs, besides those that lead them to the stand-ins of Cloudflare
 * and npm.
 */
function setEnvironment(added: Record<string, string> = {}): void {
  const path = `${project.directory}/bin:${process.env.PATH}`;
  project.environment = { ...cloudflare.environment, PATH: path, ...added };
}

function git(...args: string[]): string {
  const identity = ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com'];
  const run = { cwd: project.directory, encoding: 'utf8' as const };
  return execFileSync('git', [...identity, ...args], run).trim();
}

/** Commits the working copy. Returns the tag that its deployment gets. */
function commit(subject: string): string {
  git('add', '-A');
  git('commit', '-qm', subject);
  return git('rev-parse', 'HEAD').slice(0, 12);
}

const deploy = () => project.run('deploy.ts');
const rollback = (...args: string[]) => project.run('rollback.ts', ...args);

/**
 * Puts the key, as `wrangler secret put` does. The stand-in rejects it while the latest version is
 * not deployed.
 */
function putKey(text: string): void {
  cloudflare.account.workers.get(NAME)?.putSecret({ name: 'API_KEY', text });
}

/**
 * Puts a program in the place of npm: it notes where and how it was called, and ends with `code`.
 */
function replaceNpm(code: number): void {
  mkdirSync(join(project.directory, 'bin'), { recursive: true });
  const file = project.write(
    'bin/npm',
    `#!/bin/sh\necho "$PWD: $@" > ${project.directory}/bin/called\nexit ${code}\n`,
  );
  chmodSync(file, 0o755);
}

/** The version that is served, and whether its code has the line. */
function served() {
  const { current } = cloudflare.account.workers.get(NAME) ?? {};
  const script = current?.files.get('index.js') ?? '';
  const { tag, secrets, annotations } = current ?? {};
  const message = annotations?.['workers/message'];
  return { tag, message, secrets, isBad: script.includes('a bad line') };
}

describe('rollback', () => {
  let [first, second] = ['', ''];

  it('is rejected while nothing is deployed', async () => {
    first = commit('the first');
    const { code, stderr } = await rollback();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `Not rolled back in production: the account has no Worker ${NAME}. Nothing has changed.\n`,
    });
  });

  it('deploys the earlier code again, with the present key and vars', async () => {
    expect((await deploy()).code).toBe(0);
    putKey('old-key');
    const index = readFileSync(join(project.directory, 'src/index.ts'), 'utf8');
    project.write('src/index.ts', `console.log('a bad line');\n${index}`);
    project.write('migrations/9999_more.sql', 'CREATE TABLE more (id text);');
    second = commit('a bad one');
    expect((await deploy()).code).toBe(0);
    putKey('new-key');
    expect(served()).toMatchObject({ secrets: { API_KEY: 'new-key' }, isBad: true });

    // The real wrangler has to find the packages of the code.
    setEnvironment({ REAL_WRANGLER_FOR: '--tag' });
    const { code, stdout, stderr } = await rollback();
    setEnvironment();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(served()).toMatchObject({ tag: first, secrets: { API_KEY: 'new-key' }, isBad: false });
    expect(stdout).toMatch(new RegExp(`^ {3}\\S+ {2}${first} {2}.*the first$`, 'm'));
    expect(stdout).toMatch(new RegExp(`^ {3}\\S+ {2}${second} {2}.*a bad one$`, 'm'));
    expect(stdout).toMatch(/^→ {2}\S+ {2}a changed secret$/m);
    expect(stdout).toMatch(
      new RegExp(`^Served now: version \\S+ \\(${first}\\) at .*, all is up$`, 'm'),
    );
    expect(stdout).toContain("Keys and vars are today's. Schema and data are unchanged.");
    expect(git('status', '--porcelain')).toBe('');
  });

  it('leaves a state in which the next key and the next deployment work', async () => {
    putKey('third-key');
    expect(served()).toMatchObject({ secrets: { API_KEY: 'third-key' }, isBad: false });
    const { code, stderr } = await rollback();
    expect(code).toBe(1);
    expect(stderr).toContain('no version before the one that serves is known');
    expect(await deploy()).toMatchObject({ code: 0, stderr: '' });
    expect(served()).toMatchObject({ tag: second, secrets: { API_KEY: 'third-key' } });
  });

  it('installs the packages of a commit with another lockfile beside its code, and is undone when npm fails', async () => {
    project.write('package-lock.json', { lockfileVersion: 3 });
    const third = commit(`other packages ${'and more '.repeat(20)}`);
    project.write('uncommitted.txt', '');
    expect((await deploy()).code).toBe(0);
    const { tag, message } = served();
    expect(tag).toBe(`${third}-dirty`);
    // Cloudflare takes no longer one.
    expect(message).toHaveLength(100);
    replaceNpm(1);
    const failed = await rollback();
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain(
      'Not rolled back in production: npm could not install its packages\n',
    );
    expect(failed.stderr).toContain('. Nothing has changed.\n');
    expect(served().tag).toBe(tag);
    replaceNpm(0);
    const { code, stdout, stderr } = await rollback();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('That commit has other packages: npm installs them.');
    const called = readFileSync(join(project.directory, 'bin/called'), 'utf8');
    expect(called).toMatch(/\/\.wrangler\/\.scratch-\S+: ci --ignore-scripts /);
    expect(served().tag).toBe(second);
  });

  it('goes to the tag that is named, and rejects one that is not known or serves already', async () => {
    expect((await rollback('--to', 'no-such-tag')).stderr).toBe(
      'Not rolled back in production: no version has the tag no-such-tag. Nothing has changed.\n',
    );
    expect((await rollback('--to', second)).stderr).toContain('serves already');
    expect(served().tag).toBe(second);
    expect(await rollback('--to', first)).toMatchObject({ code: 0, stderr: '' });
    expect(served()).toMatchObject({ tag: first, isBad: false });
  });

  it('reports a version that is down as rolled back with a fault', async () => {
    cloudflare.account.isDown = true;
    const { code, stderr } = await rollback('--to', second);
    cloudflare.account.isDown = false;
    expect(code).toBe(2);
    expect(stderr).toContain('Rolled back in production, but: version');
    expect(stderr).toContain('says that it is down: database');
  });
});
