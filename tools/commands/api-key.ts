/** `npm run -s api-key`: creates a named API key. It prints the key once and does not store it. */

import { hash, randomBytes } from 'node:crypto';
import { stringify as formatToml } from 'smol-toml';
import type * as z from 'zod';
import { endOfDay, keyFields, SCOPES } from '../../src/auth/named-keys.ts';
import { ZOD_OPTIONS } from '../../src/http/validation-problems.ts';
import { type Command, declare, readArguments, runCommand } from '../command-line/command.ts';
import { resolveEnvironment } from '../command-line/environment.ts';
import { UserError } from '../command-line/user-error.ts';

const program = declare('-s api-key')
  .description(`Create a named API key. The command prints the key once, with the lines for wrangler.toml.

Changes: nothing. The key is valid after its lines in wrangler.toml are deployed.
Exit codes: 0 a key is printed, 2 invalid arguments.
Example: npm run -s api-key -- --name marketing-site --scope feed:read`)
  .requiredOption(
    '--name <name>',
    'name of the client: lower-case words joined by hyphens, such as marketing-site',
  )
  .requiredOption(
    '--scope <scope...>',
    `what the key gives access to, repeated or comma-separated: ${SCOPES.join(', ')}`,
  )
  .option(
    '--rate-limit <n>',
    'limit of the key, 1 to 60000 requests per window, instead of the limits per address',
    Number,
  )
  .option(
    '--env <name>',
    'create lines for an environment of wrangler.toml, such as staging, instead of production',
  )
  .option('--expires <date>', 'last day on which the key is valid, in UTC, such as 2027-06-30');

/** Stands for "events and property feed", and makes leaked keys recognisable. */
const PREFIX = 'epf';

type KeyOptions = ReturnType<typeof parseKeyOptions>;

export const command = {
  program,
  parse: parseKeyOptions,
  run: printKey,
} satisfies Command<KeyOptions>;

function parseKeyOptions(args: string[]) {
  const { name, scope, expires, rateLimit, env } = readArguments(program, args).values;
  const environment = resolveEnvironment(env);
  const names = scope.flatMap((value) => value.split(','));
  const fields = keyFields();
  requireValid('--name', fields.name, name);
  for (const scopeName of names) requireValid('--scope', fields.scopes.element, scopeName);
  requireValid('--rate-limit', fields.rate_limit, rateLimit);
  requireValid('--expires', fields.expires, expires);
  if (expires !== undefined && endOfDay(expires) <= Date.now()) {
    throw new UserError(`--expires ${expires} is in the past`);
  }
  const scopes = SCOPES.filter((scopeName) => names.includes(scopeName));
  return { name, scopes, expires, rateLimit, environment };
}

function requireValid(option: string, schema: z.ZodType, value: unknown): void {
  const { error } = schema.safeParse(value, ZOD_OPTIONS);
  if (!error) return;
  throw new UserError(`${option} ${JSON.stringify(value)} ${error.issues[0]?.message}`);
}

function printKey({ name, scopes, expires, rateLimit, environment }: KeyOptions): number {
  const key = `${PREFIX}_${name}_${randomBytes(32).toString('base64url')}`;
  const entry = { name, scopes, sha256: hash('sha256', key), expires, rate_limit: rateLimit };
  const vars = { API_KEYS: [entry] };
  const lines = formatToml(
    environment === undefined ? { vars } : { env: { [environment]: { vars } } },
  );
  console.error(
    'The key, which is shown only once. Add the lines below it to the end of wrangler.toml, then run `npm run types`.\n',
  );
  console.log(`${key}\n\n${lines.trimEnd()}`);
  return 0;
}

if (import.meta.main) await runCommand(command);
