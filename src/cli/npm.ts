/**
 * The npm that runs this program. It may be killed alone, and it runs its scripts through `sh -c`:
 * a shell that does not make way for the program goes on waiting for it then.
 */

import { readFileSync } from 'node:fs';

const CHECK_MS = 1_000;
const SHELL_OF_NPM = /^(?:\S*\/)?sh\0-c\0/;

/**
 * Which of the script's options npm has kept, as it does unless `--` stands before them: the program
 * would do something else than was asked. Of those only that npm hands on as its own settings.
 */
export function findKeptOption(script: string, options: readonly string[]): string | undefined {
  if (process.env.npm_lifecycle_event !== script) return undefined;
  return options.find((name) => process.env[`npm_config_${name.replace('-', '_')}`] === 'true');
}

/** Calls `onGone` once npm has ended, however it did. Without npm never: a parent may well end first. */
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

/** The parent and, when that is npm's shell, the shell's parent: npm. Either is another one once npm has ended. */
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
