/**
 * `npm run set-status -- STATUS SLUG... [--dry-run] [--remote] [--env NAME] [--notify URL]`: sets the web
 * status of listings, and nothing else of them.
 *
 * Exits with 0 when it is set (or would be), 1 when it is not or when that is not known, 2 for invalid arguments.
 */

import { runCommand } from './command-line/command.ts';
import { watchNpm } from './command-line/npm.ts';
import { setStatus as command } from './import/command.ts';

export { command };

if (import.meta.main) {
  watchNpm(() => process.exit(1));
  await runCommand(command);
}
