/** The file on disk that undoes an import. */

import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf, UserError } from '../command-line/user-error.ts';

export type UndoFile = ReturnType<typeof undoFileAt>;

/** A file that exists before is never replaced. */
export function undoFileAt(path: string) {
  let isSaved = false;
  return {
    path,
    isSaved: () => isSaved,
    save(pieces: Iterable<string>): void {
      try {
        mkdirSync(dirname(path), { recursive: true });
        const file = openSync(path, 'wx');
        isSaved = true;
        for (const piece of pieces) writeSync(file, piece);
        closeSync(file);
      } catch (error) {
        throw new UserError(
          `The file that would undo the import is not written: ${messageOf(error)}. With --no-undo there is none.`,
        );
      }
    },
    discard(): void {
      if (isSaved) rmSync(path, { force: true });
      isSaved = false;
    },
  };
}
