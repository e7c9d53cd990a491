/**
 * `npm run -s export-listings -- [--out FILE] [--remote] [--env NAME]`: writes the whole catalogue as a
 * listings file, to stdout unless a file is named.
 *
 * Exits with 0 when the file is whole, 1 when it is not, 2 for invalid arguments. Progress goes
 * to stderr.
 */

import { createWriteStream, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { userPath, watchNpm } from './command-line/npm.ts';
import { showProgress } from './command-line/progress.ts';
import { TARGET_OPTIONS, TARGET_USAGE, type Target, targetOf } from './command-line/target.ts';
import { UserError } from './command-line/user-error.ts';
import { withLocalLock } from './development/local-lock.ts';
import { exportListings } from './import/export.ts';
import { openMigrated } from './import/load-listings.ts';

const USAGE = `Usage: npm run -s export-listings -- [--out FILE] [--remote] [--env NAME]

Writes the whole catalogue as a listings file: imported again it changes nothing.
  --out FILE     instead of stdout
  ${TARGET_USAGE}`;

type Request = { target: Target; out: string | undefined };

/** `npm run export-listings`. `run` may be given another function that opens the database. */
export const command = { usage: USAGE, parse, run } satisfies Command<Request>;

if (import.meta.main) {
  watchNpm(() => process.exit(1));
  await runCommand(command);
}

function parse(args: string[]): Request {
  const options = { ...TARGET_OPTIONS, out: { type: 'string' } } as const;
  const { values } = readArguments('export-listings', args, options);
  if (values.out === '') throw new UserError('--out needs the name of a file');
  return { target: targetOf(values), out: values.out };
}

async function run(request: Request, open = openMigrated): Promise<number> {
  try {
    const write = () => writeFile(request, open);
    await (request.target.kind === 'local' ? withLocalLock(write) : write());
    return 0;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`The export failed: ${error instanceof Error ? error.message : error}`);
  }
}

/** Writes the catalogue. An incomplete file is removed. */
async function writeFile({ target, out }: Request, open: typeof openMigrated): Promise<void> {
  const isRemote = target.kind === 'remote';
  const { environment } = target;
  const { database, close } = await open({ isRemote, environment, isDryRun: true });
  const path = out === undefined ? undefined : userPath('export-listings', out);
  const progress = showProgress(process.stderr);
  const pieces = exportListings(database, (done, total) =>
    progress.update('listings read', done, total),
  );
  try {
    if (path === undefined) await pipeline(pieces, process.stdout, { end: false });
    else await pipeline(pieces, createWriteStream(path));
  } catch (error) {
    if (path !== undefined) rmSync(path, { force: true });
    // The reader of the output has all that it wanted.
    else if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return;
    throw error;
  } finally {
    progress.end();
    await close();
  }
}
