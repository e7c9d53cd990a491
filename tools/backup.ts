/** `npm run backup`: see its usage below. */

import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { userPath } from './command-line/npm.ts';
import { PROJECT_DIRECTORY } from './command-line/project.ts';
import { TARGET_OPTIONS, TARGET_USAGE, type Target, targetOf } from './command-line/target.ts';
import { messageOf, UserError } from './command-line/user-error.ts';
import { dump } from './database/dump.ts';
import { requireIdentity } from './database/identity.ts';
import { loadDump } from './database/load-dump.ts';
import { nameOfDatabase, type WithDatabase, withDatabase } from './database/open.ts';
import { inScratchFolder } from './database/scratch.ts';
import { totalOf } from './database/tables.ts';

const USAGE = `Usage: npm run backup [-- [--remote] [--env NAME] [--out FILE]]

Writes the database into one file of SQL, loads the file into a scratch database, and compares.
The service may be running. The file has personal data.

  ${TARGET_USAGE}
  --out FILE     instead of a dated file in backups/

Changes: nothing but the file. A file that exists is never replaced.
Exit codes: 0 the file is good, 1 there is no file, 2 invalid arguments.
Example: npm run backup -- --remote`;

type Request = { target: Target; out: string | undefined };

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
    const rows = await backUp(target, path, open);
    console.log(`${relative(process.cwd(), path) || path}: ${rows} rows, read back and compared`);
    return 0;
  } catch (error) {
    console.error(`There is no backup: ${messageOf(error)}.`);
    return 1;
  }
}

/** Writes the backup into a scratch folder, checks it, and moves it. Returns its rows. */
async function backUp(target: Target, path: string, open: WithDatabase): Promise<number> {
  if (existsSync(path)) throw new UserError(`${path} exists already`);
  mkdirSync(dirname(path), { recursive: true });
  return inScratchFolder(dirname(path), async (folder) => {
    const file = join(folder, 'backup.sql');
    await open(target, async (database) => {
      await requireIdentity(database, target);
      await dump(database, nameOfDatabase(target), file);
    });
    const { counts, close } = await loadDump(file, folder);
    close();
    renameSync(file, path);
    return totalOf(counts);
  });
}

/** Returns a path with the current time, e.g. `backups/local-2026-11-21T12-00-00Z.sql`. */
function datedPath(target: Target): string {
  const time = new Date().toISOString().replace(/\.\d+/, '').replaceAll(':', '-');
  return join(PROJECT_DIRECTORY, 'backups', `${nameOfDatabase(target)}-${time}.sql`);
}
