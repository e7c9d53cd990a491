/** Selects the local or deployed database that a command works on. */

import { declare } from './command.ts';
import { resolveEnvironment } from './environment.ts';
import { UserError } from './user-error.ts';

export type Target = {
  kind: 'local' | 'remote';
  /** Name of the environment; undefined for production. */
  environment: string | undefined;
};

/** Starts the declaration of a command that works on the local or the deployed database. */
export function declareWithTarget(script: string) {
  return declare(script)
    .option('--remote', 'use the deployed database instead of the local one')
    .option('--env <name>', 'with --remote: the environment in wrangler.toml, such as staging');
}

type TargetOptions = { remote?: boolean | undefined; env?: string | undefined };

/**
 * Returns the database that the options select. Throws a `UserError` for an unknown environment,
 * and for `--env` without `--remote`.
 */
export function resolveTarget({ remote = false, env }: TargetOptions): Target {
  const environment = resolveEnvironment(env);
  if (env !== undefined && !remote) throw new UserError('--env needs --remote');
  return { kind: remote ? 'remote' : 'local', environment };
}
