/** An environment that wrangler.toml does not define: wrangler would take production's bindings for it. */

import { existsSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { targetOf } from '../../../tools/command-line/target.ts';
import { runHere } from '../../support/node/in-process.ts';

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')));

/** The scripts that run a program of the project. Scripts of other tools know no environment. */
const commands = Object.keys(scripts).filter((script) => existsSync(`tools/${script}.ts`));

describe('an environment that is not defined', () => {
  afterEach(() => vi.unstubAllEnvs());

  it('is looked for by Vitest, which `watch` runs', () => {
    expect(readFileSync('vitest.config.ts', 'utf8')).toMatch(/^requireKnownEnvironment\(\)/m);
  });

  it.each(commands)('is refused by %s when CLOUDFLARE_ENV names it', async (script) => {
    const { command } = await import(`../../../tools/${script}.ts`);
    vi.stubEnv('CLOUDFLARE_ENV', 'prod');
    const { code, stdout, stderr } = await runHere(command);
    // For deploy and rollback, 2 means that something was deployed.
    expect({ code, stdout }).toEqual({
      code: ['deploy', 'rollback'].includes(script) ? 1 : 2,
      stdout: '',
    });
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
