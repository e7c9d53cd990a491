/**
 * `npm run -s api-key -- --name NAME --scope SCOPE... [--expires YYYY-MM-DD] [--env staging]`: makes a
 * named API key. Prints the key, which is shown this once, and the lines for wrangler.toml.
 *
 * Exits with 0 when it printed a key, 1 when wrangler.toml cannot be read, 2 when an argument was not
 * understood. It writes no file.
 */

import { createHash, randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { endOfDay, expiryDate, keyName, type NamedKey, scope } from '../src/auth/named-keys.ts';
import { UserError } from './command-line/project.ts';
import { readWranglerConfig } from './command-line/wrangler-config.ts';

const USAGE =
  'usage: npm run -s api-key -- --name NAME --scope SCOPE... [--expires YYYY-MM-DD] [--env staging]';

/** Says to whoever finds a key what it belongs to: events and property feed. */
const PREFIX = 'epf';
const RANDOM_BYTES = 32;

type KeyOptions = Omit<NamedKey, 'sha256'> & { environment: string | undefined };

/** The part of a configuration that names the keys there are. It is checked when the service reads it. */
const knownKeys = z.object({
  vars: z
    .object({ API_KEYS: z.array(z.object({ name: z.string() })).catch([]) })
    .catch({ API_KEYS: [] }),
});
const knownEnvironments = z.object({ env: z.record(z.string(), knownKeys).default({}) });

process.exitCode = main(process.argv.slice(2));

function main(args: string[]): number {
  try {
    const options = parseOptions(args);
    const problem = 'problem' in options ? options.problem : whyNotHere(options);
    if (problem !== undefined) {
      console.error(`${problem} (${USAGE})`);
      return 2;
    }
    if (!('problem' in options)) printKey(options);
    return 0;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(error.message);
    return 1;
  }
}

function parseOptions(args: string[]): KeyOptions | { problem: string } {
  let values: { name?: string; scope?: string[]; expires?: string; env?: string };
  try {
    ({ values } = parseArgs({
      args,
      options: {
        name: { type: 'string' },
        scope: { type: 'string', multiple: true },
        expires: { type: 'string' },
        env: { type: 'string' },
      },
    }));
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { problem: line };
  }
  const { name, expires, env: environment } = values;
  const scopes = (values.scope ?? []).flatMap((each) => each.split(','));
  if (name === undefined) return { problem: '--name is missing' };
  if (scopes.length === 0) return { problem: '--scope is missing' };
  const checks: [string, z.ZodType, string][] = [
    ['--name', keyName, name],
    ...scopes.map((each): [string, z.ZodType, string] => ['--scope', scope, each]),
    ...(expires === undefined
      ? []
      : [['--expires', expiryDate, expires] as [string, z.ZodType, string]]),
  ];
  for (const [option, schema, value] of checks) {
    const { error } = schema.safeParse(value);
    if (error) return { problem: `${option} ${JSON.stringify(value)} ${error.issues[0]?.message}` };
  }
  if (expires !== undefined && endOfDay(expires) <= Date.now()) {
    return { problem: `--expires ${expires} is in the past` };
  }
  return {
    name,
    scopes: scope.options.filter((each) => scopes.includes(each)),
    expires,
    environment,
  };
}

/** Returns why the key cannot be added to the configuration as it stands. */
function whyNotHere({ name, environment }: KeyOptions): string | undefined {
  const config = readWranglerConfig();
  const { env } = knownEnvironments.parse(config);
  if (environment !== undefined && env[environment] === undefined) {
    return `--env ${JSON.stringify(environment)} is not an environment of wrangler.toml`;
  }
  const { vars } =
    environment === undefined ? knownKeys.parse(config) : knownKeys.parse(env[environment]);
  const isTaken = vars.API_KEYS.some((each) => each.name === name);
  return isTaken ? `--name ${name} is the name of another key in wrangler.toml` : undefined;
}

function printKey({ name, scopes, expires, environment }: KeyOptions): void {
  const key = `${PREFIX}_${name}_${randomBytes(RANDOM_BYTES).toString('base64url')}`;
  const sha256 = createHash('sha256').update(key).digest('hex');
  const table = environment === undefined ? 'vars' : `env.${environment}.vars`;
  const lines = [
    `[[${table}.API_KEYS]]`,
    `name = "${name}"`,
    `scopes = [${scopes.map((each) => `"${each}"`).join(', ')}]`,
    `sha256 = "${sha256}"`,
    ...(expires === undefined ? [] : [`expires = "${expires}"`]),
  ];
  console.error(
    'The key, shown this once. Below it: lines for the end of wrangler.toml. Then: npm run types\n',
  );
  console.log(`${key}\n\n${lines.join('\n')}`);
}
