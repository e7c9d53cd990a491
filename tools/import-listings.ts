/**
 * `npm run import-listings -- FILE [--dry-run] [--patch] [--remote] [--env NAME] [--prune] [--notify URL]`:
 * loads a listings file.
 *
 * Exits with 0 when the file is in the store (or would be), 1 when it is not or when that is not known,
 * 2 for invalid arguments. Problems go to stderr, one per line.
 */

import { runCommand } from './command-line/command.ts';
import { watchNpm } from './command-line/npm.ts';
import { importListings as command } from './import/command.ts';

export { command };

if (import.meta.main) {
  watchNpm(() => process.exit(1));
  await runCommand(command);
}
