/** The npm that runs this program. */

import { resolve } from 'node:path';
import { InvalidArgumentError, type Option } from '@commander-js/extra-typings';

const CHECK_MS = 250;

/** Returns the directory in which the user called npm or this program. */
export function userDirectory(): string {
  return process.env.INIT_CWD || process.cwd();
}

/** npm runs scripts in the project's directory. */
export function userPath(script: string, path: string): string {
  const isScript = process.env.npm_lifecycle_event === script;
  return resolve(isScript ? userDirectory() : process.cwd(), path);
}

/** Returns the parser of an option that names a file. */
export function pathFor(script: string) {
  return (path: string): string => {
    if (path === '') throw new InvalidArgumentError('It must name a file.');
    return userPath(script, path);
  };
}

/** Calls `onGone` once npm has ended, which `exec` in the script makes the parent. */
export function watchNpm(onGone: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(watch);
    onGone();
  }, CHECK_MS);
  watch.unref();
}

/** e.g. `npm run erase-events --dry-run` sets `npm_config_dry_run` */
export function isKeptByNpm(script: string, option: Option): boolean {
  const { env } = process;
  const value = env[`npm_config_${option.name().replaceAll('-', '_')}`];
  if (env.npm_lifecycle_event !== script || value === undefined) return false;
  // npm may set a flag that is off to an empty text.
  if (!option.required) return value !== '' && value !== 'false';
  // `scope` is npm's own setting too. Commands report a missing --scope themselves.
  return option.name() !== 'scope';
}
