/**
 * `npm run restore -- FILE [--remote] [--env NAME] [--ledger FILE | --no-ledger]`: brings an empty database
 * into the state of a backup. Events that the ledger lists as erased stay erased.
 *
 * Exits with 0 when the database holds the rows of the backup, 1 when it does not, 2 for invalid arguments.
 */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { userPath } from './command-line/npm.ts';
import { UserError } from './command-line/project.ts';
import { TARGET_OPTIONS, TARGET_USAGE, type Target, targetOf } from './command-line/target.ts';
import { loadDump } from './database/dump-file.ts';
import { type WithDatabase, withDatabase } from './database/open.ts';
import { restore } from './database/restore.ts';
import { type Erasure, ledgerReader, PLAY_OPTIONS } from './erasure/ledger.ts';

const USAGE = `Usage: npm run restore -- FILE [--remote] [--env NAME] [--ledger FILE | --no-ledger]

  ${TARGET_USAGE}
  --ledger FILE  instead of erasures.jsonl
  --no-ledger    when nothing was ever erased, or erased payloads may come back`;

type Request = { file: string; target: Target; readErasures: () => Erasure[] };

/** `npm run restore`. `run` may be given another function that opens the database. */
export const command = { usage: USAGE, parse: parseArguments, run } satisfies Command<Request>;

if (import.meta.main) await runCommand(command);

async function run(request: Request, open = withDatabase): Promise<number> {
  const progress = { isBegun: false };
  try {
    console.log(await restoreFile(request, progress, open));
    return 0;
  } catch (error) {
    console.error(`Not restored: ${error instanceof Error ? error.message : String(error)}.`);
    console.error(
      progress.isBegun
        ? 'The database may hold a part of the backup. Run the same command again: it goes on.'
        : 'Nothing was changed.',
    );
    return 1;
  }
}

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

/** Returns the line to print. */
async function restoreFile(
  { file, target, readErasures }: Request,
  progress: { isBegun: boolean },
  open: WithDatabase,
): Promise<string> {
  if (!existsSync(file)) throw new UserError(`there is no file ${file}`);
  const ledger = readErasures();
  const folder = mkdtempSync(join(tmpdir(), 'restore-'));
  try {
    const dump = await loadDump(file, join(folder, 'scratch.sqlite'));
    try {
      const onBegin = () => {
        progress.isBegun = true;
      };
      const { when, erased } = await open(target, (database) =>
        restore(database, dump, { ledger, onBegin }),
      );
      const rows = Object.values(dump.counts).reduce((sum, count) => sum + count, 0);
      const state = `${rows} rows of ${dump.name} as it was at ${dump.madeAt}`;
      const erasures = `Erased again: ${erased === 1 ? '1 event' : `${erased} events`}.`;
      return when === 'now'
        ? `Restored ${state}. ${erasures}`
        : `An earlier run has restored ${state}, and nothing was copied now. ${erasures}`;
    } finally {
      dump.scratch.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
