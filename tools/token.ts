/**
 * `npm run -s token -- [--permission tool-web:viewer]... [--expires 1h]`: prints a bearer token that
 * the local service accepts, and nothing else.
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs, parseEnv } from 'node:util';
import { importJWK, SignJWT } from 'jose';
import { UserError } from './command-line/project.ts';
import { type DevelopmentKey, ensureDevelopmentKeys } from './development/key-pair.ts';

const USAGE = 'usage: npm run -s token -- [--permission AREA:LEVEL]... [--expires 30s|15m|1h|7d]';
const AREA_AND_LEVEL = /^[^\s:]+:[^\s:]+$/;
const LIFETIME = /^([1-9]\d{0,8})([smhd])$/;
const SECONDS = new Map([
  ['s', 1],
  ['m', 60],
  ['h', 3_600],
  ['d', 86_400],
]);

type Wish = { permissions: readonly string[]; lifetimeSeconds: number };

const directory = process.cwd();
const wish = parseWish(process.argv.slice(2));
if ('problem' in wish) {
  console.error(`${wish.problem}\n${USAGE}`);
  process.exit(2);
}
const key = await ensureDevelopmentKeys(directory).catch(endOnUserError);
const vars = readVars(directory);
const problem = whyRefused(vars, key);
if (problem !== undefined) console.error(`The local service will refuse this token: ${problem}.`);
console.log(await sign(key, vars, wish));

function endOnUserError(error: unknown): never {
  if (!(error instanceof UserError)) throw error;
  console.error(error.message);
  process.exit(1);
}

/** Without `--permission`, what opens the property feed. */
function parseWish(args: string[]): Wish | { problem: string } {
  let values: { permission?: string[]; expires?: string };
  try {
    ({ values } = parseArgs({
      args,
      options: {
        permission: { type: 'string', multiple: true },
        expires: { type: 'string' },
      },
    }));
  } catch (error) {
    return { problem: error instanceof Error ? error.message : 'The arguments cannot be read.' };
  }
  const { permission: permissions = ['tool-web:viewer'], expires = '1h' } = values;
  const malformed = permissions.find((permission) => !AREA_AND_LEVEL.test(permission));
  if (malformed !== undefined) {
    return { problem: `--permission ${malformed}: must be AREA:LEVEL, such as tool-web:viewer` };
  }
  const [, amount, unit = ''] = LIFETIME.exec(expires) ?? [];
  const lifetimeSeconds = Number(amount) * (SECONDS.get(unit) ?? Number.NaN);
  if (Number.isNaN(lifetimeSeconds)) {
    return { problem: `--expires ${expires}: must be a number with s, m, h or d, such as 1h` };
  }
  return { permissions, lifetimeSeconds };
}

/**
 * The vars as the local service sees them: .dev.vars over wrangler.toml, where each stands on one
 * line. Read here as text: wrangler's own reader takes seconds to load.
 */
function readVars(root: string): Readonly<Record<string, string | undefined>> {
  const [, section = ''] = readFileSync(join(root, 'wrangler.toml'), 'utf8').split('[vars]\n');
  const [own = ''] = section.split(/^\[/m);
  const defaults = [...own.matchAll(/^(\w+) = (".*")$/gm)].map(([, name = '', value = '""']) => [
    name,
    String(JSON.parse(value)),
  ]);
  const overrides = join(root, '.dev.vars');
  return {
    ...Object.fromEntries(defaults),
    ...(existsSync(overrides)
      ? parseEnv(readFileSync(overrides, 'utf8').replace(/^\ufeff/, ''))
      : {}),
  };
}

/** What in the vars keeps a token of the development key out; undefined for nothing. */
function whyRefused(
  { JWT_ISSUER, JWT_AUDIENCE, JWT_JWKS }: Readonly<Record<string, string | undefined>>,
  { x }: DevelopmentKey,
): string | undefined {
  if (!JWT_ISSUER) return 'JWT_ISSUER is empty';
  if (!JWT_AUDIENCE) return 'JWT_AUDIENCE is empty';
  if (!JWT_JWKS?.includes(x)) return '.dev.vars names another key set than the development one';
  return undefined;
}

async function sign(
  jwk: DevelopmentKey,
  { JWT_ISSUER = '', JWT_AUDIENCE = '' }: Readonly<Record<string, string | undefined>>,
  { permissions, lifetimeSeconds }: Wish,
): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  return new SignJWT({ permissions })
    .setProtectedHeader({ alg: jwk.alg, kid: jwk.kid, typ: 'JWT' })
    .setSubject('developer')
    .setIssuer(JWT_ISSUER)
    .setAudience(JWT_AUDIENCE)
    .setIssuedAt(now)
    .setExpirationTime(now + lifetimeSeconds)
    .sign(await importJWK(jwk, jwk.alg));
}
