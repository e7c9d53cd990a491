/** `npm run -s token` in this process, in a folder of its own. */

import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { beforeEach, expect, it } from 'vitest';
import { command } from '../../../tools/commands/token.ts';
import { runHere } from '../../support/node/in-process.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'token-'));
  for (const name of ['.dev.vars.example', 'wrangler.toml']) copyFileSync(name, join(folder, name));
});

const token = (...args: string[]) =>
  runHere({ ...command, run: (options) => command.run(options, folder) }, ...args);
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const write = (file: string, text: string) => writeFileSync(join(folder, file), text);

/** Verifies a token as the service does, by the key set of .dev.vars. */
async function verify(text: string, issuer = 'https://other.example/') {
  const keys = createLocalJWKSet(JSON.parse(parseEnv(read('.dev.vars')).JWT_JWKS ?? ''));
  return (await jwtVerify(text.trim(), keys, { issuer })).payload;
}

it('prints a token and nothing else', async () => {
  // Without a final line end.
  write('.dev.vars', 'JWT_ISSUER=https://other.example/');
  const { stdout, stderr } = await token();
  expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^[\w.-]+\n$/), stderr: '' });
  const { permissions, exp = 0, iat = 0 } = await verify(stdout);
  expect([permissions, exp - iat]).toEqual([['tool-web:viewer'], 3_600]);
  const args = ['--permission', 'a:b', '--permission', 'tool-web:admin', '--expires', '2d'];
  const other = await verify((await token(...args)).stdout);
  expect(other.permissions).toEqual(['a:b', 'tool-web:admin']);
  expect((other.exp ?? 0) - (other.iat ?? 0)).toBe(172_800);
});

it('makes .dev.vars from the example, and keeps the private half to its user', async () => {
  await token();
  const before = read('.dev.vars');
  expect(before.startsWith(read('.dev.vars.example'))).toBe(true);
  expect(JSON.parse(parseEnv(before).JWT_JWKS ?? '').keys[0]).not.toHaveProperty('d');
  expect(statSync(join(folder, '.dev.key.json')).mode & 0o777).toBe(0o600);
  await token();
  expect(read('.dev.vars')).toBe(before);
});

it.each(['.dev.key.json', '.dev.vars'])('a lost %s is made again', async (file) => {
  write('.dev.vars.example', 'JWT_ISSUER=https://other.example/\n');
  await token();
  rmSync(join(folder, file));
  await verify((await token()).stdout);
  expect(read('.dev.vars').match(/JWT_JWKS/g)).toHaveLength(1);
});

it.each([
  'JWT_JWKS=',
  'JWT_JWKS={"keys":[]}',
  'JWT_JWKS_URL=',
  'JWT_JWKS_URL=https://identity.example.com/jwks',
])(
  'leaves a .dev.vars with %s unchanged, and says that the service rejects the token',
  async (line) => {
    write('.dev.vars', line);
    const { code, stdout, stderr } = await token();
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^[\w.-]+\n$/)]);
    expect(stderr).toMatch(
      /^The local service will reject this token: \.dev\.vars has a JWT_JWKS_URL or/,
    );
    expect(read('.dev.vars')).toBe(line);
  },
);

it('names a key file that has no key', async () => {
  write('.dev.key.json', '{');
  const { code, stderr } = await token();
  expect([code, stderr]).toEqual([1, expect.stringContaining('has no development key: delete it')]);
});
