/** The environment of wrangler.toml that a command works on: its top level is production. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import * as z from 'zod';
import { PROJECT_DIRECTORY } from './project.ts';
import { messageOf, UserError } from './user-error.ts';

const environments = z.looseObject({ env: z.record(z.string(), z.unknown()).default({}) });

/** Reads wrangler.toml of a directory. Wrangler's own reader takes a second. */
export function readWranglerToml<T>(schema: z.ZodType<T>, directory: string): T {
  try {
    return schema.parse(parseToml(readFileSync(join(directory, 'wrangler.toml'), 'utf8')));
  } catch (error) {
    const [reason] =
      error instanceof z.ZodError
        ? error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
        : messageOf(error).split('\n');
    throw new UserError(`wrangler.toml cannot be read: ${reason}`);
  }
}

/** Returns the environment of `--env` or `CLOUDFLARE_ENV`. Throws for an unknown one. */
export function resolveEnvironment(
  option?: string,
  directory = PROJECT_DIRECTORY,
): string | undefined {
  const name = option ?? process.env.CLOUDFLARE_ENV ?? '';
  // `--env=` is production, as in wrangler's own commands.
  if (name === '') return undefined;
  const known = Object.keys(readWranglerToml(environments, directory).env);
  if (known.includes(name)) return name;
  const origin = option === undefined ? 'CLOUDFLARE_ENV' : '--env';
  throw new UserError(
    `${origin} ${JSON.stringify(name)}: wrangler.toml defines no such environment (it defines: ${known.join(', ') || 'none'})`,
  );
}

/** Returns a command as it is typed for an environment, e.g. `npm run deploy -- --env staging`. */
export function formatCommand(environment: string | undefined, command: string, ...args: string[]) {
  const all = [...args, ...(environment === undefined ? [] : ['--env', environment])];
  return [`npm run ${command}`, ...(all.length > 0 ? ['--', ...all] : [])].join(' ');
}
