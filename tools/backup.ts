/**
 * `npm run backup [-- --remote] [--env NAME] [--out FILE]`: writes the database into a file, loads the
 * file into a scratch database, and compares.
 *
 * Prints the path of the file. Exits with 0 when the file is good, 1 when there is none, 2 when the
 * command was not understood.
 */

import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { findKeptOption, findKeptValue, userPath } from './command-line/npm.ts';
import { PROJECT_DIRECTORY, UserError } from './command-line/project.ts';
import { chosenEnvironment } from './command-line/wrangler-config.ts';
import { type Counts, dump } from './database/dump.ts';
import { loadDump } from './database/dump-file.ts';
import { nameOfDatabase, openDatabase } from './database/open.ts';

const USAGE = `Usage: npm run backup [-- --remote] [--env NAME] [--out FILE]

  --remote     the deployed database instead of the local one
  --env NAME   the deployed database of an environment in wrangler.toml, such as staging
  --out FILE   instead of a dated file in backups/`;

/** Lines are written this many characters at a time. */
const CHUNK = 1_000_000;

type Command = { isRemote: boolean; environment: string | undefined; out: string | undefined };

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const command = parseCommand(args);
  if ('problem' in command) {
    console.error(`${command.problem}.\n\n${USAGE}`);
    return 2;
  }
  try {
    const { path, counts } = await backUp(command);
    const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
    console.log(`${relative(process.cwd(), path) || path}: ${rows} rows, read back and compared`);
    return 0;
  } catch (error) {
    console.error(`There is no backup: ${error instanceof Error ? error.message : String(error)}.`);
    return 1;
  }
}

function parseCommand(args: string[]): Command | { problem: string } {
  try {
    const { values } = parseArgs({
      args,
      options: {
        remote: { type: 'boolean', default: false },
        env: { type: 'string' },
        out: { type: 'string' },
      },
    });
    const kept =
      findKeptOption('backup', values.remote ? [] : ['remote']) ??
      findKeptValue('backup', ['env', 'out']);
    if (kept !== undefined) {
      return { problem: `npm kept --${kept} for itself: write -- before the arguments` };
    }
    const environment = chosenEnvironment(values.env);
    if (values.env !== undefined && !values.remote) return { problem: '--env needs --remote' };
    if (values.out === '') return { problem: '--out needs the name of a file' };
    return { isRemote: values.remote, environment, out: values.out };
  } catch (error) {
    return { problem: error instanceof Error ? error.message.replace(/\.$/, '') : String(error) };
  }
}

/** The file has its name only when it is good. */
async function backUp(command: Command): Promise<{ path: string; counts: Counts }> {
  const kind = command.isRemote ? 'remote' : 'local';
  const name = nameOfDatabase(kind, command.environment);
  const path =
    command.out === undefined
      ? join(PROJECT_DIRECTORY, 'backups', `${name}-${stamp()}.sql`)
      : userPath('backup', command.out);
  if (existsSync(path)) throw new UserError(`${path} exists already`);
  mkdirSync(dirname(path), { recursive: true });
  const part = `${path}.part`;
  const scratch = mkdtempSync(join(tmpdir(), 'backup-'));
  try {
    const counts = await write(part, kind, command.environment, name);
    const loaded = await loadDump(part, join(scratch, 'scratch.sqlite'));
    loaded.scratch.close();
    renameSync(part, path);
    return { path, counts };
  } finally {
    rmSync(part, { force: true });
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function write(
  part: string,
  kind: 'local' | 'remote',
  environment: string | undefined,
  name: string,
): Promise<Counts> {
  const { database, close } = await openDatabase(kind, environment);
  const file = openSync(part, 'w', 0o600);
  let chunk = '';
  const flush = () => {
    writeSync(file, chunk);
    chunk = '';
  };
  try {
    const counts = await dump(database, name, () => {
      chunk = '';
      ftruncateSync(file);
      return {
        write: (line) => {
          chunk += `${line}\n`;
          if (chunk.length > CHUNK) flush();
        },
      };
    });
    flush();
    return counts;
  } finally {
    closeSync(file);
    await close();
  }
}

/** The time as a file's name holds it: `2026-11-21T12-00-00Z`. */
function stamp(): string {
  return new Date().toISOString().replace(/\.\d+/, '').replaceAll(':', '-');
}
