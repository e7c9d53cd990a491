/**
 * `npm run set-status -- STATUS SLUG... [--dry-run] [--remote] [--env NAME] [--notify URL]`: sets the web
 * status of listings, and nothing else of them.
 *
 * Exits with 0 when it is set (or would be), 1 when it is not or when that is not known, 2 for invalid arguments.
 */

import { type Command, runCommand } from './command-line/command.ts';
import { watchNpm } from './command-line/npm.ts';
import { runStatusCommand, STATUS_USAGE } from './import/command.ts';
import { loadInTurn } from './import/load-listings.ts';

/** `npm run set-status`. */
export const command: Command<string[]> = {
  usage: STATUS_USAGE,
  parse: (args) => args,
  run: (args) =>
    runStatusCommand(args, { output: process.stdout, errors: process.stderr, load: loadInTurn }),
};

if (import.meta.main) {
  watchNpm(() => process.exit(1));
  await runCommand(command);
}
