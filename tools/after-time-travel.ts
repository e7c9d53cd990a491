/**
 * `npm run after-time-travel [-- --remote] [--env NAME] [--ledger FILE | --no-ledger]`: finishes the work
 * after a database was rewound in place. It repeats the erasures that the ledger has for the lineage of the database,
 * and begins a new generation, so that readers with a cursor of the undone time start again.
 *
 * Exits with 0 when both are done, 1 when one may be missing, 2 for invalid arguments. It may be repeated.
 */

import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { TARGET_OPTIONS, TARGET_USAGE, type Target, targetOf } from './command-line/target.ts';
import { messageOf } from './command-line/user-error.ts';
import { beginGeneration, readLineage, rejectUnfinishedRestore } from './database/identity.ts';
import { withDatabase } from './database/open.ts';
import { countedEvents } from './erasure/erase.ts';
import {
  type Erasure,
  ledgerReader,
  PLAY_OPTIONS,
  PLAY_USAGE,
  playLedger,
} from './erasure/ledger.ts';

const USAGE = `Usage: npm run after-time-travel [-- [--remote] [--env NAME] [--ledger FILE | --no-ledger]]

  ${TARGET_USAGE}
  ${PLAY_USAGE}`;

type Request = { target: Target; readErasures: () => Erasure[] };

/** Tests pass `run` another function that opens the database. */
export const command = { usage: USAGE, parse: parseArguments, run } satisfies Command<Request>;

if (import.meta.main) await runCommand(command);

function parseArguments(args: string[]): Request {
  const options = { ...TARGET_OPTIONS, ...PLAY_OPTIONS };
  const { values } = readArguments('after-time-travel', args, options);
  return { target: targetOf(values), readErasures: ledgerReader('after-time-travel', values) };
}

async function run({ target, readErasures }: Request, open = withDatabase): Promise<number> {
  try {
    const ledger = readErasures();
    const erased = await open(target, async (database) => {
      await rejectUnfinishedRestore(database);
      const played = await playLedger(database, await readLineage(database), ledger);
      await beginGeneration(database);
      return played;
    });
    console.log(
      `Erased again: ${countedEvents(erased)}. A new generation has begun: cursors from before are refused.`,
    );
    return 0;
  } catch (error) {
    console.error(`Not done: ${messageOf(error)}.\nRun the command again: it may be repeated.`);
    return 1;
  }
}
