/** The npm that runs this program. */

import { resolve } from 'node:path';

const CHECK_MS = 1_000;

/** Resolves a path against the user's directory: npm runs `script` in the project's directory instead. */
export function userPath(script: string, path: string): string {
  const { npm_lifecycle_event, INIT_CWD } = process.env;
  return resolve(npm_lifecycle_event === script && INIT_CWD ? INIT_CWD : process.cwd(), path);
}

/**
 * Calls `onGone` once npm has ended, even by a kill. The script begins with `exec`, so that npm is the parent of this
 * program: a shell between them would keep SIGINT, and survive when npm is killed.
 */
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
