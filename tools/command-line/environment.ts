/**
 * Resolves the environment in wrangler.toml that a command works on. The file's top level is
 * production.
 */

import { join } from 'node:path';
import { parse as parseToml, type TomlTable } from 'smol-toml';
import { PROJECT_DIRECTORY } from './project.ts';
import { readTextFile } from './text-file.ts';
import { describeError, UserError } from './user-error.ts';

/**
 * Parses wrangler.toml. Throws a `UserError` if that fails. Wrangler's own parser would take a
 * second to load.
 */
export function parseWranglerToml(directory = PROJECT_DIRECTORY): TomlTable {
  const text = readTextFile(join(directory, 'wrangler.toml'));
  try {
    return parseToml(text);
  } catch (error) {
    const [reason] = describeError(error).split('\n');
    throw new UserError(`wrangler.toml cannot be read: ${reason}`);
  }
}

/**
 * Returns the environment that `--env` or `CLOUDFLARE_ENV` names; undefined for production. Throws
 * a `UserError` if wrangler.toml does not define it.
 */
export function resolveEnvironment(option?: string): string | undefined {
  const name = option ?? process.env.CLOUDFLARE_ENV ?? '';
  // `--env=` means production, as in wrangler's own commands.
  if (name === '') return undefined;
  const names = Object.keys(parseWranglerToml().env ?? {});
  if (names.includes(name)) return name;
  const origin = option === undefined ? 'CLOUDFLARE_ENV' : '--env';
  throw new UserError(
    `${origin} ${JSON.stringify(name)}: wrangler.toml defines no such environment (it defines: ${names.join(', ') || 'none'})`,
  );
}

/** Formats a command for the user to run, e.g. `npm run deploy -- --env staging`. */
export function formatCommand(environment: string | undefined, command: string, ...args: string[]) {
  const allArgs = [...args, ...(environment === undefined ? [] : ['--env', environment])];
  return [`npm run ${command}`, ...(allArgs.length > 0 ? ['--', ...allArgs] : [])].join(' ');
}
