/** Creates temporary files and folders, which are removed even if the command is interrupted. */

import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Prefix of this machine's files. Machines can share a folder, but not their process ids. */
const PREFIX = `.scratch-${hash('sha1', hostname()).slice(0, 8)}-`;

/**
 * Creates a temporary folder, passes it to `work`, and removes it when `work` ends or a signal ends
 * the program. Also removes folders that killed programs have left behind.
 */
export function withScratchFolder<T>(
  parent: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  return removeAfter(mkdtempSync(join(parent, `${PREFIX}${process.pid}-`)), work);
}

/** Creates a temporary file, passes it to `work`, and removes it as `withScratchFolder` does. */
export function withScratchFile<T>(
  parent: string,
  name: string,
  text: string,
  work: (file: string) => Promise<T>,
): Promise<T> {
  const file = join(parent, `${PREFIX}${process.pid}-${name}`);
  writeFileSync(file, text);
  return removeAfter(file, work);
}

/** Calls `clean` if a signal ends the program during the work. */
export async function beforeSignals<T>(clean: () => void, work: () => Promise<T>): Promise<T> {
  const cleanAndEnd = (signal: NodeJS.Signals) => {
    clean();
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, cleanAndEnd);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, cleanAndEnd);
  }
}

function removeAfter<T>(path: string, work: (path: string) => Promise<T>): Promise<T> {
  const clean = () => rmSync(path, { recursive: true, force: true });
  return beforeSignals(clean, () => {
    removeLeftovers(dirname(path));
    return work(path);
  }).finally(clean);
}

function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    // e.g. `.scratch-5e8f01ac-4711-x3Fq9z`
    if (!name.startsWith(PREFIX) || isRunning(Number.parseInt(name.slice(PREFIX.length), 10))) {
      continue;
    }
    try {
      rmSync(join(parent, name), { recursive: true, force: true });
    } catch {
      // The file belongs to another user, so it stays.
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM means that the process belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
