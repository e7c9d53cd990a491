/**
 * `npm run -s api-key`: in this process, and as a program in a copy of the project with keys in its
 * wrangler.toml.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { namedKeys } from '../../src/auth/named-keys.ts';
import { command } from '../../tools/api-key.ts';
import { runHere } from '../support/node/in-process.ts';
import { type Finished, ProjectCopy } from '../support/node/project-copy.ts';

let project: ProjectCopy;
let config: string;

beforeAll(() => {
  project = new ProjectCopy();
  config = `${readFileSync('wrangler.toml', 'utf8')}
[env.scratch.vars]
ENVIRONMENT = "scratch"

[[env.scratch.vars.API_KEYS]]
name = "taken-there"
scopes = ["feed:read"]
sha256 = "${'a'.repeat(64)}"
`;
  project.write('wrangler.toml', config);
});
afterAll(() => project.remove());

/**
 * Runs the command, which must print a key. Returns the key and wrangler.toml with the printed
 * lines at its end.
 */
async function make(run: (...args: string[]) => Promise<Finished>, ...args: string[]) {
  const { code, stdout } = await run(...args);
  expect(code).toBe(0);
  const [key = '', empty, ...lines] = stdout.split('\n');
  expect(empty).toBe('');
  return { key, toml: parse(`${config}\n${lines.join('\n')}`), stdout };
}

const inCopy = (...args: string[]) => project.run('api-key.ts', ...args);
const here = (...args: string[]) => runHere(command, ...args);

function keysOf(vars: unknown) {
  return namedKeys().parse(z.object({ API_KEYS: z.unknown() }).parse(vars).API_KEYS);
}

describe('api-key', () => {
  it('prints a key once, and lines by which the service recognizes it', async () => {
    const { key, toml, stdout } = await make(
      inCopy,
      ...['--name', 'marketing-site', '--scope', 'feed:read', '--expires', '2099-12-31'],
    );
    expect(key).toMatch(/^epf_marketing-site_[\w-]{43}$/);
    expect(stdout.split(key)).toHaveLength(2);
    expect(keysOf(toml.vars)).toEqual([
      {
        name: 'marketing-site',
        scopes: ['feed:read'],
        sha256: createHash('sha256').update(key).digest('hex'),
        expires: '2099-12-31',
      },
    ]);
  });

  it('takes scopes repeated, comma-separated or both, and makes another key each time', async () => {
    const scopes = ['--scope', 'events:read,events:write', '--scope', 'events:read'];
    const first = await make(here, '--name', 'booking-system', ...scopes);
    expect(keysOf(first.toml.vars)[0]?.scopes).toEqual(['events:write', 'events:read']);
    const second = await make(here, '--name', 'booking-system', ...scopes);
    expect(second.key).not.toBe(first.key);
  });

  it('prints the lines of another environment', async () => {
    const { toml } = await make(
      inCopy,
      ...['--name', 'site', '--scope', 'feed:read', '--env', 'scratch'],
    );
    const { env } = z
      .object({ env: z.object({ scratch: z.object({ vars: z.unknown() }) }) })
      .parse(toml);
    expect(keysOf(env.scratch.vars).map(({ name }) => name)).toEqual(['taken-there', 'site']);

    project.environment = { CLOUDFLARE_ENV: 'scratch' };
    const { stdout } = await make(inCopy, '--name', 'site', '--scope', 'feed:read');
    project.environment = {};
    expect(stdout).toContain('\n[[env.scratch.vars.API_KEYS]]\n');
  });

  it('takes a name of 40 characters, and today as a date: the key is valid to the end of the day', async () => {
    const today = new Date().toISOString().slice(0, 10);
    await make(here, '--name', 'a'.repeat(40), '--scope', 'feed:read', '--expires', today);
  });

  it('rejects the name of another key in wrangler.toml', async () => {
    const taken = ['--name', 'taken-there', '--scope', 'feed:read', '--env', 'scratch'];
    const { code, stdout, stderr } = await inCopy(...taken);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('--name taken-there is the name of another key in wrangler.toml');
  });

  it('leaves every file as it was', () => {
    expect(readFileSync(join(project.directory, 'wrangler.toml'), 'utf8')).toBe(config);
    expect(readdirSync(project.directory).filter((name) => /key|dev\.vars$/.test(name))).toEqual(
      [],
    );
  });
});
