/** The environment of wrangler.toml that a command works on. The top level of the file is production. */

import { join } from 'node:path';
import { parse as parseToml, type TomlTable } from 'smol-toml';
import { PROJECT_DIRECTORY } from './project.ts';
import { readTextFile } from './text-file.ts';
import { describeError, UserError } from './user-error.ts';

/** Throws a `UserError` if the file cannot be read. Wrangler's own reader would take a second. */
export function parseWranglerToml(directory = PROJECT_DIRECTORY): TomlTable {
  const text = readTextFile(join(directory, 'wrangler.toml'));
  try {
    return parseToml(text);
  } catch (error) {
    const [reason] = describeError(error).split('\n');
    throw new UserError(`wrangler.toml cannot be read: ${reason}`);
  }
}

/** Returns the environment of `--env` or `CLOUDFLARE_ENV`. Throws a `UserError` if it is not defined. */
export function resolveEnvironment(option?: string): string | undefined {
  const name = option ?? process.env.CLOUDFLARE_ENV ?? '';
  // `--env=` is production, as in wrangler's own commands.
  if (name === '') return undefined;
  const names = Object.keys(parseWranglerToml().env ?? {});
  if (names.includes(name)) return name;
  const origin = option === undefined ? 'CLOUDFLARE_ENV' : '--env';
  throw new UserError(
    `${origin} ${JSON.stringify(name)}: wrangler.toml defines no such environment (it defines: ${names.join(', ') || 'none'})`,
  );
}

/** e.g. `npm run deploy -- --env staging` */
export function formatCommand(environment: string | undefined, command: string, ...args: string[]) {
  const allArgs = [...args, ...(environment === undefined ? [] : ['--env', environment])];
  return [`npm run ${command}`, ...(allArgs.length > 0 ? ['--', ...allArgs] : [])].join(' ');
}
