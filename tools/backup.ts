/**
 * `npm run backup [-- --remote] [--env NAME] [--out FILE]`: writes the database into a file, loads the
 * file into a scratch database, and compares.
 *
 * Prints the path of the file. Exits with 0 when the file is good, 1 when there is none, 2 for invalid arguments.
 */

import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { userPath } from './command-line/npm.ts';
import { PROJECT_DIRECTORY } from './command-line/project.ts';
import { TARGET_OPTIONS, TARGET_USAGE, type Target, targetOf } from './command-line/target.ts';
import { messageOf, UserError } from './command-line/user-error.ts';
import { dump } from './database/dump.ts';
import { loadDump } from './database/dump-file.ts';
import { migratingCommand } from './database/migrations.ts';
import { nameOfDatabase, type WithDatabase, withDatabase } from './database/open.ts';
import { type Counts, readSchema } from './database/schema.ts';
import { inScratchFolder } from './database/scratch.ts';

const USAGE = `Usage: npm run backup [-- [--remote] [--env NAME] [--out FILE]]

  ${TARGET_USAGE}
  --out FILE     instead of a dated file in backups/`;

type Request = { target: Target; out: string | undefined };

/** Tests pass `run` another function that opens the database. */
export const command = { usage: USAGE, parse: parseArguments, run } satisfies Command<Request>;

if (import.meta.main) await runCommand(command);

function parseArguments(args: string[]): Request {
  const { values } = readArguments('backup', args, { ...TARGET_OPTIONS, out: { type: 'string' } });
  const target = targetOf(values);
  if (values.out === '') throw new UserError('--out needs the name of a file');
  return { target, out: values.out };
}

async function run({ target, out }: Request, open = withDatabase): Promise<number> {
  try {
    const path = out === undefined ? datedPath(target) : userPath('backup', out);
    const counts = await backUp(target, path, open);
    const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
    console.log(`${relative(process.cwd(), path) || path}: ${rows} rows, read back and compared`);
    return 0;
  } catch (error) {
    console.error(`There is no backup: ${messageOf(error)}.`);
    return 1;
  }
}

/** Writes the backup into a scratch folder, checks it there, and then moves it to its path. */
async function backUp(target: Target, path: string, open: WithDatabase): Promise<Counts> {
  if (existsSync(path)) throw new UserError(`${path} exists already`);
  mkdirSync(dirname(path), { recursive: true });
  return inScratchFolder(dirname(path), async (folder) => {
    const file = join(folder, 'backup.sql');
    const counts = await open(target, async (database) => {
      if ((await readSchema(database)).length > 0) {
        return dump(database, nameOfDatabase(target), file);
      }
      throw new UserError(`the database has no tables: run \`${migratingCommand(target)}\` first`);
    });
    const { scratch } = await loadDump(file, folder);
    scratch.close();
    renameSync(file, path);
    return counts;
  });
}

/** Returns a path with the current time, e.g. `backups/local-2026-11-21T12-00-00Z.sql`. */
function datedPath(target: Target): string {
  const time = new Date().toISOString().replace(/\.\d+/, '').replaceAll(':', '-');
  return join(PROJECT_DIRECTORY, 'backups', `${nameOfDatabase(target)}-${time}.sql`);
}
