/** An environment that wrangler.toml does not define: wrangler would take production's bindings for it. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { targetOf } from '../../../tools/command-line/target.ts';

const isFull = process.env.FULL === '1';

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));

/** The scripts that run a program of the project. Scripts of other tools know no environment. */
const programs = Object.entries(scripts).flatMap(([script, command]) => {
  const [, program] = /\bnode (tools\/\S+\.ts)$/.exec(command) ?? [];
  return program === undefined ? [] : [{ script, program }];
});

/** These scripts work on a deployment, or print lines for one. The others are run with FULL only. */
const OF_DEPLOYMENTS = [
  'api-key',
  'backup',
  'deploy',
  'erase-events',
  'export-listings',
  'import-listings',
  'restore',
  'rollback',
  'set-status',
];

const run = programs.filter(({ script }) => isFull || OF_DEPLOYMENTS.includes(script));
/** The arguments that a program has to be given before it looks at anything else. */
const NEEDED: Record<string, string[]> = { 'import-listings': ['x.json'], restore: ['x.sql'] };

describe('an environment that is not defined', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('is looked for by every program, and by Vitest, which `watch` runs', () => {
    const files = programs.map(({ program }) => program);
    expect(files.length).toBeGreaterThan(10);
    const heedless = files.filter(
      (file) => !/^await runCommand\(/m.test(readFileSync(file, 'utf8')),
    );
    expect(heedless).toEqual([]);
    expect(readFileSync('vitest.config.ts', 'utf8')).toMatch(/^requireKnownEnvironment\(\)/m);
  });

  it.each(run)('is refused by $script when CLOUDFLARE_ENV names it', ({ script, program }) => {
    const env = { ...process.env, CLOUDFLARE_ENV: 'prod' };
    const args = [program, ...(NEEDED[script] ?? [])];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    // For deploy and rollback, 2 means that something was deployed.
    const code = ['deploy', 'rollback'].includes(script) ? 1 : 2;
    expect({ script, status, stdout }).toEqual({ script, status: code, stdout: '' });
    expect(stderr).toContain('CLOUDFLARE_ENV "prod": wrangler.toml defines no such environment');
  });

  it('is refused when --env names it, and so is one for the local database', () => {
    expect(targetOf({ remote: false })).toEqual({ kind: 'local', environment: undefined });
    const staging = { kind: 'remote', environment: 'staging' };
    expect(targetOf({ remote: true, env: 'staging' })).toEqual(staging);
    expect(() => targetOf({ remote: true, env: 'prod' })).toThrow(
      '--env "prod": wrangler.toml defines no such environment (it defines: staging)',
    );
    expect(() => targetOf({ remote: false, env: 'staging' })).toThrow('--env needs --remote');
    vi.stubEnv('CLOUDFLARE_ENV', 'staging');
    expect(targetOf({ remote: true })).toEqual(staging);
    // In wrangler's words, and in these, an empty name is production.
    expect(targetOf({ remote: true, env: '' }).environment).toBeUndefined();
    vi.stubEnv('CLOUDFLARE_ENV', 'prod');
    expect(() => targetOf({ remote: true })).toThrow('CLOUDFLARE_ENV "prod": wrangler.toml');
  });
});
