/**
 * `npm run import-listings -- FILE [--dry-run] [--patch] [--remote] [--env NAME] [--prune] [--notify URL]`:
 * loads a listings file.
 *
 * Exits with 0 when the file is in the store (or would be), 1 when it is not or when that is not known,
 * 2 for invalid arguments. Problems go to stderr, one per line.
 */

import { type Command, runCommand } from './command-line/command.ts';
import { watchNpm } from './command-line/npm.ts';
import { IMPORT_USAGE, runImportCommand } from './import/command.ts';
import { loadInTurn } from './import/load-listings.ts';

/** `npm run import-listings`. */
export const command: Command<string[]> = {
  usage: IMPORT_USAGE,
  parse: (args) => args,
  run: (args) =>
    runImportCommand(args, { output: process.stdout, errors: process.stderr, load: loadInTurn }),
};

if (import.meta.main) {
  watchNpm(() => process.exit(1));
  await runCommand(command);
}
