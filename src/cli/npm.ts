/**
 * The npm that runs this program. It may be killed without the program, and it runs scripts through
 * `sh -c`: a shell that has not become the program itself then goes on waiting for it.
 */

import { readFileSync } from 'node:fs';

const CHECK_MS = 1_000;
const SHELL_OF_NPM = /^(?:\S*\/)?sh\0-c\0/;

/**
 * The option of this script that npm has kept for itself, as it does unless `--` stands before it: the
 * program would do something else than was asked. Only those of `options` are looked for.
 */
export function findKeptOption(script: string, options: readonly string[]): string | undefined {
  if (process.env.npm_lifecycle_event !== script) return undefined;
  return options.find((name) => process.env[`npm_config_${name.replace('-', '_')}`] === 'true');
}

/** Calls `onGone` once npm has ended, in whatever way; never when no npm runs this program, whose parent may end first. */
export function watchNpm(onGone: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const ancestors = npmAncestors();
  const watch = setInterval(() => {
    if (npmAncestors() === ancestors) return;
    clearInterval(watch);
    onGone();
  }, CHECK_MS);
  watch.unref();
}

/** The parent's id and, when that is npm's shell, the id of its parent, npm: one of them changes once npm has ended. */
function npmAncestors(): string {
  const { ppid } = process;
  const isShell = SHELL_OF_NPM.test(procFile(ppid, 'cmdline'));
  return isShell ? `${ppid} ${parentOf(ppid)}` : String(ppid);
}

/** The fourth field of Linux's `stat`; the second is a name in brackets that may hold anything. */
function parentOf(pid: number): string | undefined {
  return /.*\) \S (\d+)/s.exec(procFile(pid, 'stat'))?.[1];
}

/** A file about a process, empty where there is no such file: without /proc only the parent is watched. */
function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
