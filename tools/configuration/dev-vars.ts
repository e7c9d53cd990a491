/**
 * Reads and writes the vars of the local service. A var in .dev.vars overrides the same var in
 * wrangler.toml.
 */

import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseDotenv } from 'dotenv';
import { resolveEnvironment } from '../command-line/environment.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { readTextFile } from '../command-line/text-file.ts';
import { withPath } from '../command-line/user-error.ts';
import { resolveVars } from './wrangler-toml.ts';

const DEV_VARS_FILE = '.dev.vars';
const EXAMPLE_FILE = '.dev.vars.example';

/** Creates .dev.vars from the example file unless it exists. Returns whether it was created. */
export function createDevVars(directory = PROJECT_DIRECTORY): boolean {
  const file = join(directory, DEV_VARS_FILE);
  if (existsSync(file)) return false;
  copyFileSync(join(directory, EXAMPLE_FILE), file);
  return true;
}

/** Reads the vars of the environment in `CLOUDFLARE_ENV`. */
export function readVars(directory = PROJECT_DIRECTORY): ReadonlyMap<string, string> {
  const vars = resolveVars(resolveEnvironment(), directory);
  return new Map([...vars, ...readDevVars(directory)]);
}

export function readDevVars(directory: string): ReadonlyMap<string, string> {
  const file = join(directory, DEV_VARS_FILE);
  const text = existsSync(file) ? readTextFile(file) : '';
  return new Map(Object.entries(parseDotenv(text)));
}

/** Sets `JWT_JWKS` in .dev.vars. The file must exist. */
export function setKeySet(directory: string, keySet: object): void {
  const file = join(directory, DEV_VARS_FILE);
  const text = readTextFile(file);
  const line = `JWT_JWKS='${JSON.stringify(keySet)}'`;
  const existingLine = /^JWT_JWKS=.*$/m;
  const newText = existingLine.test(text)
    ? text.replace(existingLine, () => line)
    : `${text}\n${line}\n`;
  if (newText !== text) withPath(file, () => writeFileSync(file, newText));
}
