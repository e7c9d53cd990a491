/**
 * `npm run restore -- FILE [--remote] [--env NAME] [--ledger FILE]`: brings an empty database into the
 * state of a backup. What the ledger of erasures has for the database that was backed up stays erased.
 *
 * Exits with 0 when the database holds what the file does, 1 when it does not, 2 when the command was
 * not understood.
 */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments, understand } from './command-line/arguments.ts';
import { userPath } from './command-line/npm.ts';
import { UserError } from './command-line/project.ts';
import { TARGET_OPTIONS, TARGET_USAGE, type Target, targetOf } from './command-line/target.ts';
import { loadDump } from './database/dump-file.ts';
import { openDatabase } from './database/open.ts';
import { restore } from './database/restore.ts';
import { inLocalTurn } from './development/local-turn.ts';
import { LEDGER_OPTION, ledgerFile, readLedger } from './erasure/ledger.ts';

const USAGE = `Usage: npm run restore -- FILE [--remote] [--env NAME] [--ledger FILE]

  ${TARGET_USAGE}
  --ledger FILE  instead of erasures.jsonl`;

type Command = { file: string; target: Target; ledger: string };

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const command = understand(() => parseCommand(args));
  if ('problem' in command) {
    console.error(`${command.problem}.\n\n${USAGE}`);
    return 2;
  }
  const progress = { isBegun: false };
  try {
    const run = () => restoreFile(command, progress);
    console.log(await (command.target.kind === 'remote' ? run() : inLocalTurn(run)));
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

function parseCommand(args: string[]): Command {
  const options = { ...TARGET_OPTIONS, ...LEDGER_OPTION };
  const { values, positionals } = readArguments('restore', args, options, {
    allowPositionals: true,
  });
  const target = targetOf(values);
  const [file, ...rest] = positionals;
  if (!file || rest.length > 0) throw new UserError('Name one backup');
  const ledger = ledgerFile('restore', values.ledger);
  return { file: userPath('restore', file), target, ledger };
}

/** Returns what to tell the user. */
async function restoreFile(command: Command, progress: { isBegun: boolean }): Promise<string> {
  const { file, target, ledger } = command;
  if (!existsSync(file)) throw new UserError(`there is no file ${file}`);
  const erasures = readLedger(ledger);
  const folder = mkdtempSync(join(tmpdir(), 'restore-'));
  try {
    const dump = await loadDump(file, join(folder, 'scratch.sqlite'));
    const { database, close } = await openDatabase(target.kind, target.environment);
    try {
      const onBegin = () => {
        progress.isBegun = true;
      };
      const erased = await restore(database, dump, { ledger: erasures, onBegin });
      const rows = Object.values(dump.counts).reduce((sum, count) => sum + count, 0);
      return `Restored ${rows} rows of ${dump.name} as it was at ${dump.madeAt}. Erased again: ${erased === 1 ? '1 event' : `${erased} events`}.`;
    } finally {
      dump.scratch.close();
      await close().catch(() => undefined);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
