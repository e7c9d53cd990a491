/** `npm run restore`: restores a backup. */

import { tmpdir } from 'node:os';
import { loadDump } from '../backup/dump.ts';
import { requireRestorable, restore } from '../backup/restore.ts';
import { type Command, readArguments, runCommand } from '../command-line/command.ts';
import { showProgress } from '../command-line/progress.ts';
import { pathFor } from '../command-line/project.ts';
import { withScratchFolder } from '../command-line/scratch.ts';
import { resolveTarget } from '../command-line/target.ts';
import { describeError } from '../command-line/user-error.ts';
import { rejectNewer } from '../database/migrations.ts';
import { withDatabase } from '../database/open.ts';
import { findCommit } from '../database/operations.ts';
import { formatEvents } from '../erasure/erase.ts';
import { declareWithLedger, OR_NO_LEDGER, readLedger } from '../erasure/ledger.ts';

const program = declareWithLedger('restore')
  .description(`Restore a backup into an empty database. Payloads that the ledger lists stay erased.
While it runs, the service has no tables and rejects events with 500, so that their senders retry them.

Changes: the database, which must have no rows. A file that is cut short or altered changes nothing.
Exit codes: 0 the database has the rows of the backup, 1 it does not have them, 2 invalid arguments.
Example: npm run restore -- backups/local-2026-11-21T12-00-00-000Z.sql`)
  .argument('<file>', 'backup to restore', pathFor('restore'));

const INTERRUPTED =
  'The restore may be unfinished. Run the same command again: it continues where it stopped. With another file or ledger, it starts over.';

type Request = ReturnType<typeof parse>;

export const command = { program, parse, run } satisfies Command<Request>;

function parse(args: string[]) {
  const { values, positionals } = readArguments(program, args);
  return { file: positionals[0], target: resolveTarget(values), ledger: values.ledger };
}

async function run(
  { file, target, ledger }: Request,
  open = withDatabase,
  bytesPerBatch?: number,
): Promise<number> {
  let state = 'Nothing was changed.';
  try {
    findCommit();
    const erasures = readLedger(ledger, OR_NO_LEDGER);
    await withScratchFolder(tmpdir(), async (folder) => {
      using dump = await loadDump(file, folder);
      await rejectNewer(dump.scratch);
      const erased = await open(target, async (database) => {
        await requireRestorable(database);
        state = INTERRUPTED;
        using progress = showProgress(process.stdout);
        const onProgress = (done: number, total: number) => progress.update('rows', done, total);
        const options = { file, sum: dump.sum, bytesPerBatch, onProgress };
        return restore(database, dump.scratch, erasures, options);
      });
      const rows = `${dump.rows} rows of ${dump.title}`;
      console.log(`Restored ${rows}. Erased again: ${formatEvents(erased)}.`);
    });
    return 0;
  } catch (error) {
    console.error(`Not restored: ${describeError(error)}.\n${state}`);
    return 1;
  }
}

if (import.meta.main) await runCommand(command);
