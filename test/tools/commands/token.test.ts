/** Runs `npm run -s token` in this process, in a scratch folder. */

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

const runToken = (...args: string[]) =>
  runHere({ ...command, run: (options) => command.run(options, folder) }, ...args);
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const write = (file: string, text: string) => writeFileSync(join(folder, file), text);

/** Verifies a token as the service does, using the key set in .dev.vars. */
async function verify(text: string, issuer = 'https://other.example/') {
  const keys = createLocalJWKSet(JSON.parse(parseEnv(read('.dev.vars')).JWT_JWKS ?? ''));
  return (await jwtVerify(text.trim(), keys, { issuer })).payload;
}

it('prints only a token to stdout', async () => {
  // This file does not end with a line break.
  write('.dev.vars', 'JWT_ISSUER=https://other.example/');
  const { stdout, stderr } = await runToken();
  expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^[\w.-]+\n$/), stderr: '' });
  const { permissions, exp = 0, iat = 0 } = await verify(stdout);
  expect([permissions, exp - iat]).toEqual([['tool-web:viewer'], 3_600]);
  const args = ['--permission', 'a:b', '--permission', 'tool-web:admin', '--expires', '2d'];
  const other = await verify((await runToken(...args)).stdout);
  expect(other.permissions).toEqual(['a:b', 'tool-web:admin']);
  expect((other.exp ?? 0) - (other.iat ?? 0)).toBe(172_800);
});

it('creates .dev.vars from the example', async () => {
  await runToken();
  const before = read('.dev.vars');
  expect(before.startsWith(read('.dev.vars.example'))).toBe(true);
  await runToken();
  expect(read('.dev.vars')).toBe(before);
});

it('stores the private key in a file that only its owner can read', async () => {
  await runToken();
  const [key] = JSON.parse(parseEnv(read('.dev.vars')).JWT_JWKS ?? '').keys;
  expect(key).toHaveProperty('x');
  expect(key).not.toHaveProperty('d');
  expect(statSync(join(folder, '.dev.key.json')).mode & 0o777).toBe(0o600);
});

it.each(['.dev.key.json', '.dev.vars'])('recreates a deleted %s', async (file) => {
  write('.dev.vars.example', 'JWT_ISSUER=https://other.example/\n');
  await runToken();
  rmSync(join(folder, file));
  await verify((await runToken()).stdout);
  expect(read('.dev.vars').match(/JWT_JWKS/g)).toHaveLength(1);
});

it.each([
  'JWT_JWKS=',
  'JWT_JWKS={"keys":[]}',
  'JWT_JWKS_URL=',
  'JWT_JWKS_URL=https://identity.example.com/jwks',
])('warns that the service will reject the token if .dev.vars contains %s', async (line) => {
  write('.dev.vars', line);
  const { code, stdout, stderr } = await runToken();
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^[\w.-]+\n$/)]);
  expect(stderr).toMatch(
    /^The local service will reject this token, because \.dev\.vars configures another key set\./,
  );
  expect(read('.dev.vars')).toBe(line);
});

it('rejects a malformed key file', async () => {
  write('.dev.key.json', '{');
  const { code, stderr } = await runToken();
  const message = expect.stringContaining('has no development key. Delete the file');
  expect([code, stderr]).toEqual([1, message]);
});
