/** Runs `npm run -s api-key` in this process. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { namedKeys } from '../../../src/auth/named-keys.ts';
import { command } from '../../../tools/commands/api-key.ts';
import { runHere } from '../../support/node/in-process.ts';

const config = readFileSync('wrangler.toml', 'utf8');
const vars = z.object({ API_KEYS: z.unknown().optional() });
const lines = z.object({ vars, env: z.object({ staging: z.object({ vars }) }) });

/** Creates a key. Returns it with wrangler.toml, to which the printed lines have been added. */
async function createKey(...args: string[]) {
  const { code, stdout } = await runHere(command, ...args);
  expect(code).toBe(0);
  const [key = '', emptyLine, ...tomlLines] = stdout.split('\n');
  expect(emptyLine).toBe('');
  // The key is printed only once.
  expect(stdout.split(key)).toHaveLength(2);
  return { key, toml: lines.parse(parse(`${config}\n${tomlLines.join('\n')}`)) };
}

it('prints a new key with the lines for wrangler.toml', async () => {
  const name = 'a'.repeat(40);
  const options = '--scope feed:read --expires 2099-12-31 --rate-limit 6000';
  const args = ['--name', name, ...options.split(' ')];
  const { key, toml } = await createKey(...args);
  expect(key).toMatch(new RegExp(`^epf_${name}_[\\w-]{43}$`));
  const sha256 = createHash('sha256').update(key).digest('hex');
  const limits = { expires: '2099-12-31', rate_limit: 6_000 };
  const expected = { name, scopes: ['feed:read'], sha256, ...limits };
  expect(namedKeys().parse(toml.vars.API_KEYS)).toEqual([expected]);
  expect((await createKey(...args)).key).not.toBe(key);
});

it('accepts comma-separated scopes, repeated options and an expiry date of today', async () => {
  const today = new Date().toISOString().slice(0, 10);
  const scopes = ['--scope', 'events:read,events:write', '--scope', 'events:read'];
  const args = ['--name', 'booking-system', ...scopes, '--expires', today, '--env', 'staging'];
  const { toml } = await createKey(...args);
  const [entry] = namedKeys().parse(toml.env.staging.vars.API_KEYS);
  expect(entry?.scopes).toEqual(['events:write', 'events:read']);
});
