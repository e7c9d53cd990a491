/** Runs the project's commands in the test's process, with arguments, output and exit code. */

import { format } from 'node:util';
import { vi } from 'vitest';
import { type Command, runToExitCode } from '../../../tools/command-line/command.ts';
import type { WithDatabase } from '../../../tools/database/open.ts';
import type { Finished } from './project-copy.ts';

/** Runs a command. Commands must not run concurrently, because they share the console. */
export async function runHere<Request>(
  command: Command<Request>,
  ...args: string[]
): Promise<Finished> {
  const printed = { stdout: '', stderr: '' };
  const collect = (name: keyof typeof printed, method: 'log' | 'error') => {
    const write = (text: unknown) => {
      printed[name] += String(text);
      return true;
    };
    const print = (...values: unknown[]) => void write(`${format(...values)}\n`);
    return [
      vi.spyOn(process[name], 'write').mockImplementation(write),
      vi.spyOn(console, method).mockImplementation(print),
    ];
  };
  const spies = [...collect('stdout', 'log'), ...collect('stderr', 'error')];
  try {
    return { code: await runToExitCode(command, args), ...printed };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

type DatabaseCommand<Request> = Command<Request> & {
  run: (request: Request, open: WithDatabase) => Promise<number>;
};

/** Runs a command on the database that `open` provides. */
export function runWith<Request>(
  open: WithDatabase,
  { run, ...command }: DatabaseCommand<Request>,
  ...args: string[]
): Promise<Finished> {
  return runHere({ ...command, run: (request) => run(request, open) }, ...args);
}

/** Runs a command on a database. Ignores the target in the arguments. */
export function runOn<Request>(
  database: D1Database,
  command: DatabaseCommand<Request>,
  ...args: string[]
): Promise<Finished> {
  return runWith((_target, work) => work(database), command, ...args);
}

/**
 * Runs `import-listings` or `set-status`. Adds `--no-undo` unless the arguments include `--undo`.
 */
export function runImportOn<Request>(
  database: D1Database,
  command: DatabaseCommand<Request>,
  ...args: string[]
): Promise<Finished> {
  return runOn(database, command, ...args, ...(args.includes('--undo') ? [] : ['--no-undo']));
}
