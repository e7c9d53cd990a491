/**
 * Reads the vars of the service: the vars of wrangler.toml, which .dev.vars overrides locally.
 *
 * Both files are parsed here: wrangler's own readers give the same, but take a second to load.
 */

import { constants, copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseDotenv } from 'dotenv';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { chosenEnvironment, readWranglerConfig, varsOf } from '../command-line/wrangler-config.ts';

export const DEV_VARS_FILE = '.dev.vars';
const EXAMPLE_FILE = '.dev.vars.example';

/** Creates .dev.vars from its example unless it exists. Returns whether it created the file. */
export function createDevVars(directory = PROJECT_DIRECTORY): boolean {
  const [example, created] = [join(directory, EXAMPLE_FILE), join(directory, DEV_VARS_FILE)];
  try {
    copyFileSync(example, created, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Returns the vars that the service gets: `local` under `npm run dev`, `remote` once deployed. As in wrangler,
 * `CLOUDFLARE_ENV` chooses the environment.
 * Throws a `UserError` when wrangler.toml is not valid TOML.
 */
export function readVars(
  side: 'local' | 'remote',
  directory = PROJECT_DIRECTORY,
): ReadonlyMap<string, string> {
  const vars = varsOf(readWranglerConfig(directory), chosenEnvironment(undefined, directory));
  return new Map([...vars, ...(side === 'local' ? readDevVars(directory) : [])]);
}

/** Parses the text of a .dev.vars: name → value. */
export function parseDevVars(text: string): ReadonlyMap<string, string> {
  return new Map(Object.entries(parseDotenv(text)));
}

function readDevVars(directory: string): ReadonlyMap<string, string> {
  const file = join(directory, DEV_VARS_FILE);
  return parseDevVars(existsSync(file) ? readFileSync(file, 'utf8') : '');
}
