/** The options of `npm run -s api-key`, checked against the configuration to which the key is to be added. */

import { parseArgs } from 'node:util';
import * as z from 'zod';
import { endOfDay, expiryDate, keyName, type NamedKey, scope } from '../../src/auth/named-keys.ts';
import { UserError } from '../command-line/project.ts';
import { chosenEnvironment, type WranglerConfig } from '../command-line/wrangler-config.ts';

export type KeyOptions = Omit<NamedKey, 'sha256'> & { environment: string | undefined };

/** The part of a configuration that names the keys there are. It is checked when the service reads it. */
const knownKeys = z.object({
  vars: z
    .object({ API_KEYS: z.array(z.object({ name: z.string() })).catch([]) })
    .catch({ API_KEYS: [] }),
});

/** Throws an `Error` that says which option is wrong. */
export function parseKeyOptions(args: string[], config: WranglerConfig): KeyOptions {
  const { values } = parseArgs({
    args,
    options: {
      name: { type: 'string' },
      scope: { type: 'string', multiple: true },
      expires: { type: 'string' },
      env: { type: 'string' },
    },
  });
  const environment = chosenEnvironment(values.env);
  const { name, scope: given = [], expires } = values;
  const scopes = given.flatMap((each) => each.split(','));
  if (name === undefined) throw new UserError('--name is missing');
  if (scopes.length === 0) throw new UserError('--scope is missing');
  requireValid('--name', keyName, name);
  for (const each of scopes) requireValid('--scope', scope, each);
  if (expires !== undefined) {
    requireValid('--expires', expiryDate, expires);
    if (endOfDay(expires) <= Date.now()) throw new UserError(`--expires ${expires} is in the past`);
  }
  if (namesIn(config, environment).includes(name)) {
    throw new UserError(`--name ${name} is the name of another key in wrangler.toml`);
  }
  return {
    name,
    scopes: scope.options.filter((each) => scopes.includes(each)),
    expires,
    environment,
  };
}

function requireValid(option: string, schema: z.ZodType, value: string): void {
  const { error } = schema.safeParse(value);
  if (!error) return;
  throw new UserError(`${option} ${JSON.stringify(value)} ${error.issues[0]?.message}`);
}

/** Returns the names of the keys that an environment has. */
function namesIn(config: WranglerConfig, environment: string | undefined): string[] {
  const own = environment === undefined ? config : config.env[environment];
  return knownKeys.parse(own).vars.API_KEYS.map(({ name }) => name);
}
