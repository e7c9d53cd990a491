/**
 * `npm run backup [-- --remote] [--env NAME] [--out FILE]`: writes the database into a file, loads the
 * file into a scratch database, and compares.
 *
 * Prints the path of the file. Exits with 0 when the file is good, 1 when there is none, 2 for invalid arguments.
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
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { userPath } from './command-line/npm.ts';
import { PROJECT_DIRECTORY, UserError } from './command-line/project.ts';
import { TARGET_OPTIONS, TARGET_USAGE, type Target, targetOf } from './command-line/target.ts';
import { type Counts, dump } from './database/dump.ts';
import { loadDump } from './database/dump-file.ts';
import { nameOfDatabase, type WithDatabase, withDatabase } from './database/open.ts';

const USAGE = `Usage: npm run backup [-- [--remote] [--env NAME] [--out FILE]]

  ${TARGET_USAGE}
  --out FILE     instead of a dated file in backups/`;

/** Lines are written in chunks of about this size. */
const CHUNK_CHARACTERS = 1_000_000;

type Request = { target: Target; out: string | undefined };

/** `npm run backup`. `run` may be given another function that opens the database. */
export const command = { usage: USAGE, parse: parseArguments, run } satisfies Command<Request>;

if (import.meta.main) await runCommand(command);

async function run(request: Request, open = withDatabase): Promise<number> {
  try {
    const { path, counts } = await backUp(request, open);
    const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
    console.log(`${relative(process.cwd(), path) || path}: ${rows} rows, read back and compared`);
    return 0;
  } catch (error) {
    console.error(`There is no backup: ${error instanceof Error ? error.message : String(error)}.`);
    return 1;
  }
}

function parseArguments(args: string[]): Request {
  const { values } = readArguments('backup', args, { ...TARGET_OPTIONS, out: { type: 'string' } });
  const target = targetOf(values);
  if (values.out === '') throw new UserError('--out needs the name of a file');
  return { target, out: values.out };
}

/** Writes the backup under another name, checks it, and then renames it. */
async function backUp(
  { target, out }: Request,
  open: WithDatabase,
): Promise<{ path: string; counts: Counts }> {
  const name = nameOfDatabase(target);
  const path =
    out === undefined
      ? join(PROJECT_DIRECTORY, 'backups', `${name}-${stamp()}.sql`)
      : userPath('backup', out);
  if (existsSync(path)) throw new UserError(`${path} exists already`);
  mkdirSync(dirname(path), { recursive: true });
  const part = `${path}.part`;
  const scratch = mkdtempSync(join(tmpdir(), 'backup-'));
  try {
    const counts = await open(target, (database) => write(part, database, name));
    const loaded = await loadDump(part, join(scratch, 'scratch.sqlite'));
    loaded.scratch.close();
    renameSync(part, path);
    return { path, counts };
  } finally {
    rmSync(part, { force: true });
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function write(part: string, database: D1Database, name: string): Promise<Counts> {
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
          if (chunk.length > CHUNK_CHARACTERS) flush();
        },
      };
    });
    flush();
    return counts;
  } finally {
    closeSync(file);
  }
}

/** Returns the current time for the name of a file: `2026-11-21T12-00-00Z`. */
function stamp(): string {
  return new Date().toISOString().replace(/\.\d+/, '').replaceAll(':', '-');
}
