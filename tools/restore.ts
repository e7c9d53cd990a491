/**
 * `npm run restore -- FILE [--remote] [--env NAME] [--ledger FILE | --no-ledger]`: brings an empty database
 * into the state of a backup. Events that the ledger lists as erased stay erased.
 *
 * Exits with 0 when the database holds the rows of the backup, 1 when it does not, 2 for invalid arguments.
 */

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { userPath } from './command-line/npm.ts';
import { TARGET_OPTIONS, TARGET_USAGE, type Target, targetOf } from './command-line/target.ts';
import { messageOf, UserError } from './command-line/user-error.ts';
import { type LoadedDump, loadDump } from './database/dump-file.ts';
import { nameOfDatabase, withDatabase } from './database/open.ts';
import { requireRestorable, restore } from './database/restore.ts';
import { inScratchFolder } from './database/scratch.ts';
import { countedEvents } from './erasure/erase.ts';
import { type Erasure, ledgerReader, PLAY_OPTIONS, PLAY_USAGE } from './erasure/ledger.ts';

const USAGE = `Usage: npm run restore -- FILE [--remote] [--env NAME] [--ledger FILE | --no-ledger]

  ${TARGET_USAGE}
  ${PLAY_USAGE}`;

const UNTOUCHED = 'Nothing was changed.';
const INTERRUPTED =
  'The database may hold a part of the backup. Run the same command again: it starts from the beginning. If it then finds rows, this restore had succeeded.';

type Request = { file: string; target: Target; readErasures: () => Erasure[] };

/** Tests pass `run` another function that opens the database. */
export const command = { usage: USAGE, parse: parseArguments, run } satisfies Command<Request>;

if (import.meta.main) await runCommand(command);

function parseArguments(args: string[]): Request {
  const options = { ...TARGET_OPTIONS, ...PLAY_OPTIONS };
  const { values, positionals } = readArguments('restore', args, options, {
    allowPositionals: true,
  });
  const target = targetOf(values);
  const [file, ...rest] = positionals;
  if (!file || rest.length > 0) throw new UserError('Name one backup');
  const readErasures = ledgerReader('restore', values);
  return { file: userPath('restore', file), target, readErasures };
}

async function run(request: Request, open = withDatabase): Promise<number> {
  const { file, target, readErasures } = request;
  let state = UNTOUCHED;
  try {
    if (!existsSync(file)) throw new UserError(`there is no file ${file}`);
    const ledger = readErasures();
    await inScratchFolder(tmpdir(), async (folder) => {
      const dump = await loadDump(file, folder);
      try {
        const erased = await open(target, async (database) => {
          await requireRestorable(database, nameOfDatabase(target));
          state = INTERRUPTED;
          return restore(database, dump, ledger);
        });
        console.log(`Restored ${titleOf(dump)}. Erased again: ${countedEvents(erased)}.`);
      } finally {
        dump.scratch.close();
      }
    });
    return 0;
  } catch (error) {
    console.error(`Not restored: ${messageOf(error)}.\n${state}`);
    return 1;
  }
}

function titleOf({ counts, name, madeAt }: LoadedDump): string {
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return `${rows} rows of ${name} as it was at ${madeAt}`;
}
