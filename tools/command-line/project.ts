/** Resolves paths of the project's files and of files that the user names. */

import { join, resolve } from 'node:path';
import { InvalidArgumentError } from '@commander-js/extra-typings';

export const PROJECT_DIRECTORY = join(import.meta.dirname, '..', '..');

/**
 * Returns a path that contains the current time, e.g. `backups/local-2026-11-21T12-00-00-000Z.sql`.
 */
export function datedPath(name: string, ending: string): string {
  const time = new Date().toISOString().replaceAll(/[:.]/g, '-');
  return join(PROJECT_DIRECTORY, 'backups', `${name}-${time}.${ending}`);
}

/** Returns the directory in which the user ran npm or this program. */
export function userDirectory(): string {
  return process.env.INIT_CWD || process.cwd();
}

/**
 * Resolves a path that the user typed. npm runs scripts in the project's directory, so the path is
 * resolved against the directory in which the user ran npm.
 */
export function userPath(script: string, path: string): string {
  const isScript = process.env.npm_lifecycle_event === script;
  return resolve(isScript ? userDirectory() : process.cwd(), path);
}

/** Returns a parser for an option that names a file. */
export function pathFor(script: string) {
  return (path: string): string => {
    if (path === '') throw new InvalidArgumentError('It must name a file.');
    return userPath(script, path);
  };
}
