/** Reads the settings in wrangler.toml that commands use. */

import * as z from 'zod';
import { parseWranglerToml } from '../command-line/environment.ts';
import { UserError } from '../command-line/user-error.ts';

const text = z.string().optional();

const route = z.union([
  z.string(),
  z.looseObject({ pattern: z.string(), custom_domain: z.boolean().optional() }),
]);
const database = z.looseObject({ binding: z.string(), database_name: text, database_id: text });
const namespace = z.looseObject({ binding: z.string(), id: text });

const settings = z.looseObject({
  name: text,
  account_id: text,
  route: route.optional(),
  routes: z.array(route).optional(),
  vars: z.record(z.string(), z.unknown()).default({}),
  d1_databases: z.array(database).default([]),
  kv_namespaces: z.array(namespace).default([]),
});

const wranglerConfig = settings.extend({
  compatibility_date: z.string(),
  env: z.record(z.string(), settings).default({}),
});

export type WranglerConfig = z.infer<typeof wranglerConfig>;

/** Reads wrangler.toml. Throws a `UserError` if that fails, or if a setting has the wrong type. */
export function readWranglerConfig(directory?: string): WranglerConfig {
  const { data, error } = wranglerConfig.safeParse(parseWranglerToml(directory));
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new UserError(`wrangler.toml: ${issue?.path.join('.')} is not valid (${issue?.message})`);
}

/** Returns the settings of an environment, not including inherited ones. */
export function getSettings(config: WranglerConfig, environment: string | undefined) {
  const selected = environment === undefined ? config : config.env[environment];
  if (selected !== undefined) return selected;
  throw new UserError(`${environment} is not an environment of wrangler.toml`);
}

/** Returns an environment's vars in the form in which wrangler uploads them. */
export function resolveVars(environment?: string, directory?: string) {
  const { vars } = getSettings(readWranglerConfig(directory), environment);
  const format = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  return new Map(Object.entries(vars).map(([name, value]) => [name, format(value)]));
}
