/** Describes errors for the user of a command. */

import { getSystemErrorMessage } from 'node:util';

/** An error that the user can correct. It is printed without a stack trace. */
export class UserError extends Error {
  override readonly name = 'UserError';
}

/**
 * Thrown for arguments that do not suit the file. The exit code is the same as for invalid
 * arguments.
 */
export class UsageError extends UserError {}

/** Whether an error's message is enough for the user without a stack trace. */
export function needsNoStack(error: unknown): boolean {
  return error instanceof UserError || isSystemError(error);
}

/** Describes an error to the user, e.g. `cannot open notes.csv: no such file or directory`. */
export function describeError(error: unknown): string {
  if (!isSystemError(error)) return error instanceof Error ? error.message : String(error);
  const { errno, syscall, path, dest } = error;
  const files = [path, dest].filter((file) => file !== undefined).join(' to ');
  // Error numbers are negative, except when Node removes a folder recursively.
  return `cannot ${syscall}${files && ` ${files}`}: ${getSystemErrorMessage(-Math.abs(errno))}`;
}

/** Runs `work`. Adds the path to errors that do not name it, such as SQLite's. */
export function withPath<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const message = describeError(error);
    if (message.includes(path)) throw error;
    throw new UserError(`${path}: ${message}`, { cause: error });
  }
}

type SystemError = Error & { errno: number; syscall: string; path?: string; dest?: string };

const isSystemError = (error: unknown): error is SystemError =>
  error instanceof Error && 'syscall' in error && 'errno' in error;
