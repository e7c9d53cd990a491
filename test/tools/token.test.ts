/** `npm run -s token` in a scratch copy: once as a program, and else in this process. */

import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { command } from '../../tools/token.ts';
import { runHere } from '../support/node/in-process.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';

let project: ProjectCopy;

beforeEach(() => {
  project = new ProjectCopy();
});
afterEach(() => project.remove());

function token(...args: string[]) {
  return runHere(
    { ...command, run: (options) => command.run(options, project.directory) },
    ...args,
  );
}

function read(file: string) {
  return readFileSync(join(project.directory, file), 'utf8');
}

function vars() {
  return parseEnv(read('.dev.vars'));
}

/** Verifies a token as the service does, by the key set of .dev.vars. */
async function verify(text: string, issuer = 'https://identity.example.com/') {
  const keys = createLocalJWKSet(JSON.parse(vars().JWT_JWKS ?? ''));
  return (await jwtVerify(text, keys, { issuer, audience: 'events-and-property-feed' })).payload;
}

describe('token', () => {
  it('prints a token that the service accepts, and nothing else', async () => {
    const { code, stdout, stderr } = await project.run('token.ts');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const payload = await verify(stdout.trim());
    expect(payload.permissions).toEqual(['tool-web:viewer']);
    expect(Number(payload.exp) - Number(payload.iat)).toBe(3_600);
  });

  it('signs the permissions and the lifetime of its arguments', async () => {
    const { stdout } = await token(
      '--permission',
      'a:b',
      '--permission',
      'tool-web:admin',
      '--expires',
      '2d',
    );
    const payload = await verify(stdout.trim());
    expect(payload.permissions).toEqual(['a:b', 'tool-web:admin']);
    expect(Number(payload.exp) - Number(payload.iat)).toBe(172_800);
  });

  it('makes .dev.vars from the example, with the public half, and keeps the private one to its user', async () => {
    await token();
    expect(read('.dev.vars').startsWith(read('.dev.vars.example'))).toBe(true);
    const [published] = JSON.parse(vars().JWT_JWKS ?? '').keys;
    expect(published).not.toHaveProperty('d');
    expect(JSON.parse(read('.dev.key.json'))).toHaveProperty('d');
    expect(statSync(join(project.directory, '.dev.key.json')).mode & 0o777).toBe(0o600);
    const before = read('.dev.vars');
    await token();
    expect(read('.dev.vars')).toBe(before);
  });

  it('adds the public half to a .dev.vars that names no key set, with or without a final line end', async () => {
    project.write('.dev.vars', 'API_KEY=mine');
    await verify((await token()).stdout.trim());
    expect(vars().API_KEY).toBe('mine');
  });

  it.each(['JWT_JWKS=', 'JWT_JWKS_URL=', 'JWT_JWKS_URL=https://identity.example.com/jwks'])(
    'leaves a .dev.vars with %s unchanged, and warns',
    async (line) => {
      project.write('.dev.vars', `${line}\n`);
      const { code, stdout, stderr } = await token();
      expect(code).toBe(0);
      expect(read('.dev.vars')).toBe(`${line}\n`);
      expect(decodeJwt(stdout.trim()).permissions).toEqual(['tool-web:viewer']);
      expect(stderr).toContain('will reject this token');
    },
  );

  it('says in one line that .dev.vars cannot be written, or that the key file has no key', async () => {
    // Not even root can write to this file.
    symlinkSync('/proc/version', join(project.directory, '.dev.vars'));
    const { code, stdout, stderr } = await token();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^the development key cannot be added to \.dev\.vars: .*\n$/);
    project.write('.dev.key.json', '{');
    expect(await token()).toEqual({
      code: 1,
      stdout: '',
      stderr: '.dev.key.json has no development key: delete it, and a new one is made\n',
    });
  });

  it('says in one line that .dev.vars is a directory, or cannot be made without its example', async () => {
    const vars = join(project.directory, '.dev.vars');
    mkdirSync(vars);
    const isDirectory = `${vars}: cannot read: illegal operation on a directory\n`;
    expect(await token()).toEqual({ code: 1, stdout: '', stderr: isDirectory });
    rmSync(vars, { recursive: true });
    rmSync(`${vars}.example`);
    const isMissing = `cannot copyfile ${vars}.example to ${vars}: no such file or directory\n`;
    expect(await token()).toEqual({ code: 1, stdout: '', stderr: isMissing });
  });

  it('makes a new pair when the private half is lost', async () => {
    await token();
    const before = read('.dev.vars');
    rmSync(join(project.directory, '.dev.key.json'));
    await verify((await token()).stdout.trim());
    expect(read('.dev.vars')).not.toBe(before);
    expect(read('.dev.vars').match(/JWT_JWKS/g)).toHaveLength(1);
  });

  it('publishes the pair again when .dev.vars is lost', async () => {
    const first = (await token()).stdout.trim();
    rmSync(join(project.directory, '.dev.vars'));
    await token();
    await verify(first);
  });

  it('takes issuer and audience from .dev.vars before wrangler.toml', async () => {
    project.write('.dev.vars', 'JWT_ISSUER=https://other.example/\n');
    await verify((await token()).stdout.trim(), 'https://other.example/');
  });
});
