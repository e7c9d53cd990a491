/** The database that a command works on: the local database, or a deployed one. */

import { resolveEnvironment } from './environment.ts';
import { UserError } from './user-error.ts';

export type Target = {
  kind: 'local' | 'remote';
  /** The environment in wrangler.toml; undefined for production. */
  environment: string | undefined;
};

export const TARGET_OPTIONS = {
  remote: { type: 'boolean', default: false },
  env: { type: 'string' },
} as const;

export const TARGET_USAGE = `--remote       the deployed database instead of the local one
  --env NAME     the deployed database of an environment in wrangler.toml, such as staging`;

/** Throws a `UserError` for an unknown environment, and for `--env` without `--remote`. */
export function resolveTarget({
  remote,
  env,
}: {
  remote: boolean;
  env?: string | undefined;
}): Target {
  const environment = resolveEnvironment(env);
  if (env !== undefined && !remote) throw new UserError('--env needs --remote');
  return { kind: remote ? 'remote' : 'local', environment };
}
