/** A temporary folder, which an interrupted command does not leave behind. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** e.g. `.scratch-4711-x3Fq9z`, with the id of the program that made it. */
const NAME = /^\.scratch-(\d+)-/;

/** Removes the folder after the work and on a signal to end, and the folders of killed programs. */
export async function inScratchFolder<T>(
  parent: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const remove = (path: string) => rmSync(path, { recursive: true, force: true });
  for (const name of readdirSync(parent)) {
    const [, pid] = NAME.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid))) remove(join(parent, name));
  }
  const folder = mkdtempSync(join(parent, `.scratch-${process.pid}-`));
  const removeAndEnd = (signal: NodeJS.Signals) => {
    remove(folder);
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, removeAndEnd);
  try {
    return await work(folder);
  } finally {
    remove(folder);
    for (const signal of SIGNALS) process.off(signal, removeAndEnd);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: the program is another user's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
