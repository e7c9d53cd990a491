/** `npm run -s token`: prints a bearer token that the local service accepts. */

import { type Command, declare, readArguments, runCommand } from '../command-line/command.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { UserError } from '../command-line/user-error.ts';
import { createDevVars, readVars } from '../configuration/dev-vars.ts';
import { ensureDevelopmentKeys } from '../development/key-pair.ts';

const program = declare('-s token')
  .description(`Print a bearer token that the local service accepts.

Changes: creates .dev.vars and a key pair (.dev.key.json) if they are missing.
Exit codes: 0 a token is printed, 1 the development key cannot be read or created, 2 invalid arguments.
Example: npm run -s token -- --permission tool-web:viewer --expires 15m`)
  .option('--permission <area:level...>', 'what the token gives access to', ['tool-web:viewer'])
  .option('--expires <time>', 'lifetime of the token, such as 30s, 15m, 1h or 7d', '1h');

const REJECTION_WARNING =
  'The local service will reject this token, because .dev.vars configures another key set. Remove its lines JWT_JWKS_URL and JWT_JWKS, repeat this command, and restart dev.';
const LIFETIME = /^[1-9]\d{0,8}[smhd]$/;

type TokenOptions = ReturnType<typeof parseOptions>;

/** The `token` command. Tests run it outside the project folder. */
export const command = {
  program,
  parse: parseOptions,
  run: printToken,
} satisfies Command<TokenOptions>;

async function printToken(
  { permissions, expires }: TokenOptions,
  directory = PROJECT_DIRECTORY,
): Promise<number> {
  createDevVars(directory);
  const key = await ensureDevelopmentKeys(directory);
  const vars = readVars(directory);
  if (!vars.get('JWT_JWKS')?.includes(key.x)) console.error(REJECTION_WARNING);
  const { importJWK, SignJWT } = await import('jose');
  const token = new SignJWT({ permissions })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT' })
    .setSubject('developer')
    .setIssuer(vars.get('JWT_ISSUER') ?? '')
    .setAudience(vars.get('JWT_AUDIENCE') ?? '')
    .setIssuedAt()
    .setExpirationTime(expires);
  console.log(await token.sign(await importJWK(key, key.alg)));
  return 0;
}

function parseOptions(args: string[]) {
  const { values } = readArguments(program, args);
  const { permission: permissions, expires } = values;
  if (!LIFETIME.test(expires)) {
    throw new UserError(`--expires ${expires}: must be a number with s, m, h or d, such as 1h`);
  }
  return { permissions, expires };
}

if (import.meta.main) await runCommand(command);
