/** Reads the vars of the local service: the vars of wrangler.toml, which .dev.vars overrides. */

import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseDotenv } from 'dotenv';
import { resolveEnvironment } from '../command-line/environment.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { withPath } from '../command-line/user-error.ts';
import { resolveVars } from './wrangler-toml.ts';

const DEV_VARS_FILE = '.dev.vars';
const EXAMPLE_FILE = '.dev.vars.example';

/** Returns whether it created the file. */
export function createDevVars(directory = PROJECT_DIRECTORY): boolean {
  const created = join(directory, DEV_VARS_FILE);
  if (existsSync(created)) return false;
  copyFileSync(join(directory, EXAMPLE_FILE), created);
  return true;
}

/** `CLOUDFLARE_ENV` chooses the environment. */
export function readVars(directory = PROJECT_DIRECTORY): ReadonlyMap<string, string> {
  const vars = resolveVars(resolveEnvironment(), directory);
  return new Map([...vars, ...readDevVars(directory)]);
}

export function readDevVars(directory: string): ReadonlyMap<string, string> {
  const file = join(directory, DEV_VARS_FILE);
  const text = existsSync(file) ? withPath(file, () => readFileSync(file, 'utf8')) : '';
  return new Map(Object.entries(parseDotenv(text)));
}

/** Sets `JWT_JWKS` in .dev.vars, which must exist. */
export function setKeySet(directory: string, keySet: object): void {
  const file = join(directory, DEV_VARS_FILE);
  const text = readFileSync(file, 'utf8');
  const line = `JWT_JWKS='${JSON.stringify(keySet)}'`;
  const known = /^JWT_JWKS=.*$/m;
  const changed = known.test(text) ? text.replace(known, () => line) : `${text}\n${line}\n`;
  if (changed !== text) withPath(file, () => writeFileSync(file, changed));
}
