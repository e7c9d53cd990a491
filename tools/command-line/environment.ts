/** wrangler.toml, and the environment in it that a command works on: its top level is production. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import * as z from 'zod';
import { PROJECT_DIRECTORY } from './project.ts';
import { messageOf, UserError } from './user-error.ts';

const text = z.string().optional();

const route = z.union([
  z.string(),
  z.looseObject({ pattern: z.string(), custom_domain: z.boolean().optional() }),
]);
const database = z.looseObject({ binding: z.string(), database_name: text, database_id: text });
const namespace = z.looseObject({ binding: z.string(), id: text });

const deployment = z.looseObject({
  name: text,
  account_id: text,
  route: route.optional(),
  routes: z.array(route).optional(),
  vars: z.record(z.string(), z.unknown()).default({}),
  d1_databases: z.array(database).default([]),
  kv_namespaces: z.array(namespace).default([]),
});

const wranglerConfig = deployment.extend({
  compatibility_date: z.string(),
  env: z.record(z.string(), deployment).default({}),
});

export type WranglerConfig = z.infer<typeof wranglerConfig>;

/** Wrangler's own reader takes a second. */
export function readWranglerConfig(directory = PROJECT_DIRECTORY): WranglerConfig {
  try {
    const toml = readFileSync(join(directory, 'wrangler.toml'), 'utf8');
    return wranglerConfig.parse(parseToml(toml));
  } catch (error) {
    const [reason] =
      error instanceof z.ZodError
        ? error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
        : messageOf(error).split('\n');
    throw new UserError(`wrangler.toml cannot be read: ${reason}`);
  }
}

/** Returns the settings of an environment, without the inherited ones. */
export function getOwn(config: WranglerConfig, environment: string | undefined) {
  const own = environment === undefined ? config : config.env[environment];
  if (own === undefined) throw new UserError(`wrangler.toml defines no environment ${environment}`);
  return own;
}

/** Returns the vars as wrangler uploads them. */
export function resolveVars(environment?: string, directory = PROJECT_DIRECTORY) {
  const { vars } = getOwn(readWranglerConfig(directory), environment);
  const format = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  return new Map(Object.entries(vars).map(([name, value]) => [name, format(value)]));
}

/** Returns the environment of `--env` or `CLOUDFLARE_ENV`. Throws for an unknown one. */
export function resolveEnvironment(option?: string): string | undefined {
  const name = option ?? process.env.CLOUDFLARE_ENV ?? '';
  // `--env=` is production, as in wrangler's own commands.
  if (name === '') return undefined;
  const known = Object.keys(readWranglerConfig().env);
  if (known.includes(name)) return name;
  const origin = option === undefined ? 'CLOUDFLARE_ENV' : '--env';
  throw new UserError(
    `${origin} ${JSON.stringify(name)}: wrangler.toml defines no such environment (it defines: ${known.join(', ') || 'none'})`,
  );
}

/** e.g. `npm run deploy -- --env staging` */
export function formatCommand(environment: string | undefined, command: string, ...args: string[]) {
  const all = [...args, ...(environment === undefined ? [] : ['--env', environment])];
  return [`npm run ${command}`, ...(all.length > 0 ? ['--', ...all] : [])].join(' ');
}
