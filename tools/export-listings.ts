/** `npm run -s export-listings`: writes the whole catalogue. Progress goes to stderr. */

import { createWriteStream, realpathSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { userPath } from './command-line/npm.ts';
import { showProgress } from './command-line/progress.ts';
import { inScratchFolder } from './command-line/scratch.ts';
import { resolveTarget, TARGET_OPTIONS, TARGET_USAGE, type Target } from './command-line/target.ts';
import { messageOf, UserError } from './command-line/user-error.ts';
import { exportListings, exportNames, type Form } from './import/export.ts';
import { openMigrated } from './import/load-listings.ts';

const USAGE = `Usage: npm run -s export-listings -- [--out FILE] [--csv] [--separator CHARACTER] [--names] [--remote] [--env NAME]

Writes the whole catalogue as a listings file, JSON or CSV: imported again it changes nothing.

  --out FILE     instead of stdout; a file that exists is replaced when the new one is whole
  --csv          a sheet of the fields that a cell can hold, as for a FILE with the ending .csv
  --separator CHARACTER  between the cells of the sheet: , or ; (else ,)
  --names        instead print the known locations and amenities, one per line
  ${TARGET_USAGE}

Changes: nothing but FILE.
Exit codes: 0 the file is whole, 1 it is not, 2 invalid arguments.
Example: npm run -s export-listings -- --out homes.csv`;

type Request = { target: Target; out: string | undefined; form: Form; isNames: boolean };

/** `npm run export-listings`. `run` may be given another function that opens the database. */
export const command = { usage: USAGE, parse, run } satisfies Command<Request>;

if (import.meta.main) await runCommand(command, () => process.exit(1));

function parse(args: string[]): Request {
  const options = {
    ...TARGET_OPTIONS,
    out: { type: 'string' },
    csv: { type: 'boolean', default: false },
    separator: { type: 'string' },
    names: { type: 'boolean', default: false },
  } as const;
  const { values } = readArguments('export-listings', args, options);
  const { out, csv, separator = ',', names } = values;
  if (out === '') throw new UserError('--out needs the name of a file');
  if (separator !== ',' && separator !== ';') throw new UserError('--separator must be , or ;');
  const isSheet = csv || /\.csv$/i.test(out ?? '');
  if (values.separator !== undefined && !isSheet) throw new UserError('--separator needs --csv');
  if (names && isSheet) throw new UserError('--names is no sheet: leave --csv out');
  return {
    target: resolveTarget(values),
    out,
    form: isSheet ? separator : undefined,
    isNames: names,
  };
}

async function run(request: Request, open = openMigrated): Promise<number> {
  try {
    await writeCatalogue(request, open);
    return 0;
  } catch (error) {
    const to = request.out === undefined ? '' : ` to ${request.out}`;
    throw new UserError(`The export${to} failed: ${messageOf(error)}`);
  }
}

async function writeCatalogue(
  { target, out, form, isNames }: Request,
  open: typeof openMigrated,
): Promise<void> {
  const isRemote = target.kind === 'remote';
  const { environment } = target;
  const { database, close } = await open({ isRemote, environment, isDryRun: true });
  const progress = showProgress(process.stderr);
  const onProgress = (done: number, total: number) => progress.update('listings read', done, total);
  const pieces = isNames ? exportNames(database) : exportListings(database, onProgress, form);
  try {
    if (out === undefined) await pipeline(pieces, process.stdout, { end: false });
    else await writeFile(userPath('export-listings', out), pieces);
  } catch (error) {
    // The reader of the output has all that it wanted.
    const isClosedPipe = error instanceof Error && 'code' in error && error.code === 'EPIPE';
    if (out !== undefined || !isClosedPipe) throw error;
  } finally {
    progress.end();
    await close();
  }
}

/** Writes a new file, and moves it when it is whole. A symbolic link keeps its place. */
async function writeFile(path: string, pieces: AsyncIterable<string>): Promise<void> {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) throw new UserError('it is a directory');
  if (stats?.isFile() && (stats.mode & 0o222) === 0) throw new UserError('it is read-only');
  // A device or a pipe is written as it is.
  if (stats && !stats.isFile()) return pipeline(pieces, createWriteStream(path));
  const file = stats ? realpathSync(path) : path;
  await inScratchFolder(dirname(file), async (folder) => {
    const written = join(folder, 'listings.json');
    await pipeline(pieces, createWriteStream(written, { mode: stats?.mode ?? 0o666 }));
    renameSync(written, file);
  });
}
