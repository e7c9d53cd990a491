/**
 * The vars of the service: those of wrangler.toml, and locally those of .dev.vars over them.
 *
 * Both files are parsed here: wrangler's own readers give the same, but take a second to load.
 */

import { constants, copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseDotenv } from 'dotenv';
import { parse as parseToml } from 'smol-toml';
import * as z from 'zod';
import { PROJECT_DIRECTORY, UserError } from '../command-line/project.ts';

const CONFIG_FILE = 'wrangler.toml';
export const DEV_VARS_FILE = '.dev.vars';
const EXAMPLE_FILE = '.dev.vars.example';

const workerConfig = z.object({ vars: z.record(z.string(), z.unknown()).default({}) });

/** Creates .dev.vars from its example unless it exists. Returns whether it did. */
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
 * Returns the vars that the service sees: `local` under `npm run dev`, `remote` once deployed.
 * Throws a `UserError` when wrangler.toml is not valid TOML.
 */
export function readVars(
  side: 'local' | 'remote',
  directory = PROJECT_DIRECTORY,
): ReadonlyMap<string, string> {
  const { vars } = workerConfig.parse(readWorkerConfig(directory));
  const defaults = Object.entries(vars).map(([name, value]) => [name, textOf(value)] as const);
  return new Map([...defaults, ...(side === 'local' ? readDevVars(directory) : [])]);
}

/** Returns what the text of a .dev.vars sets. */
export function parseDevVars(text: string): ReadonlyMap<string, string> {
  return new Map(Object.entries(parseDotenv(text)));
}

function readDevVars(directory: string): ReadonlyMap<string, string> {
  const file = join(directory, DEV_VARS_FILE);
  return parseDevVars(existsSync(file) ? readFileSync(file, 'utf8') : '');
}

/** Returns what wrangler.toml holds. Throws a `UserError` when it is not valid TOML. */
export function readWorkerConfig(directory = PROJECT_DIRECTORY): Record<string, unknown> {
  try {
    return parseToml(readFileSync(join(directory, CONFIG_FILE), 'utf8'));
  } catch (error) {
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw new UserError(`${CONFIG_FILE} cannot be read: ${reason}`);
  }
}

/** wrangler.toml may hold numbers and booleans too. */
function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
