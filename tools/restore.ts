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
import { parseArgs } from 'node:util';
import { findKeptOption, findKeptValue, userPath } from './command-line/npm.ts';
import { PROJECT_DIRECTORY, UserError } from './command-line/project.ts';
import { chosenEnvironment } from './command-line/wrangler-config.ts';
import { loadDump } from './database/dump-file.ts';
import { openDatabase } from './database/open.ts';
import { restore } from './database/restore.ts';
import { inLocalTurn } from './development/local-turn.ts';
import { readLedger } from './erasure/ledger.ts';

const USAGE = `Usage: npm run restore -- FILE [--remote] [--env NAME] [--ledger FILE]

  --remote       the deployed database instead of the local one
  --env NAME     the deployed database of an environment in wrangler.toml, such as staging
  --ledger FILE  instead of erasures.jsonl`;

const LEDGER = 'erasures.jsonl';

type Command = {
  file: string;
  isRemote: boolean;
  environment: string | undefined;
  ledger: string;
};

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const command = parseCommand(args);
  if ('problem' in command) {
    console.error(`${command.problem}.\n\n${USAGE}`);
    return 2;
  }
  const progress = { isBegun: false };
  try {
    const run = () => restoreFile(command, progress);
    console.log(await (command.isRemote ? run() : inLocalTurn(run)));
    return 0;
  } catch (error) {
    console.error(`Not restored: ${error instanceof Error ? error.message : String(error)}.`);
    console.error(
      progress.isBegun
        ? 'The database holds a part of the backup. Run the same command again: it goes on.'
        : 'Nothing was changed.',
    );
    return 1;
  }
}

function parseCommand(args: string[]): Command | { problem: string } {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        remote: { type: 'boolean', default: false },
        env: { type: 'string' },
        ledger: { type: 'string' },
      },
    });
    const kept =
      findKeptOption('restore', values.remote ? [] : ['remote']) ??
      findKeptValue('restore', ['env', 'ledger']);
    if (kept !== undefined) {
      return { problem: `npm kept --${kept} for itself: write -- before the arguments` };
    }
    const environment = chosenEnvironment(values.env);
    if (values.env !== undefined && !values.remote) return { problem: '--env needs --remote' };
    const [file, ...rest] = positionals;
    if (!file || rest.length > 0) return { problem: 'Name one backup' };
    const ledger =
      values.ledger === undefined
        ? join(PROJECT_DIRECTORY, LEDGER)
        : userPath('restore', values.ledger);
    return { file: userPath('restore', file), isRemote: values.remote, environment, ledger };
  } catch (error) {
    return { problem: error instanceof Error ? error.message.replace(/\.$/, '') : String(error) };
  }
}

/** Returns what to tell the user. */
async function restoreFile(command: Command, progress: { isBegun: boolean }): Promise<string> {
  const { file, isRemote, environment, ledger } = command;
  if (!existsSync(file)) throw new UserError(`there is no file ${file}`);
  const erasures = readLedger(ledger);
  const folder = mkdtempSync(join(tmpdir(), 'restore-'));
  try {
    const dump = await loadDump(file, join(folder, 'scratch.sqlite'));
    const { database, close } = await openDatabase(isRemote ? 'remote' : 'local', environment);
    try {
      const onBegin = () => {
        progress.isBegun = true;
      };
      const erased = await restore(database, dump, { ledger: erasures, onBegin });
      const rows = Object.values(dump.counts).reduce((sum, count) => sum + count, 0);
      return `Restored ${rows} rows of ${dump.name} as it was at ${dump.madeAt}. Erased again: ${erased} events.`;
    } finally {
      dump.scratch.close();
      await close().catch(() => undefined);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
