/** `npm run -s export-listings`: writes the whole catalogue. Progress goes to stderr. */

import { createWriteStream, existsSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Option } from '@commander-js/extra-typings';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { showProgress } from './command-line/progress.ts';
import { pathFor } from './command-line/project.ts';
import { inScratchFolder } from './command-line/scratch.ts';
import { declareWithTarget, resolveTarget } from './command-line/target.ts';
import { messageOf, UserError } from './command-line/user-error.ts';
import { withDatabase } from './database/open.ts';
import { exportListings, exportNames } from './import/export.ts';
import { ensureTables } from './import/load-listings.ts';

const program = declareWithTarget('-s export-listings')
  .description(`Writes the whole catalogue as a listings file, JSON or CSV: imported again it changes nothing.

Changes: nothing but <file>.
Exit codes: 0 the file is whole, 1 it is not, 2 invalid arguments.
Example: npm run -s export-listings -- --out homes.csv`)
  .option(
    '--out <file>',
    'instead of stdout; a file that exists is replaced when the new one is whole',
    pathFor('export-listings'),
  )
  .option(
    '--csv',
    'a sheet of the fields that a cell can hold, as for a <file> with the ending .csv',
  )
  .addOption(new Option('--separator <character>', 'between its cells; else ,').choices([',', ';']))
  .option('--names', 'instead print the known locations and amenities, one per line');

type Request = ReturnType<typeof parse>;

export const command = { program, parse, run } satisfies Command<Request>;

if (import.meta.main) await runCommand(command);

function parse(args: string[]) {
  const { values } = readArguments(program, args);
  const { out, csv, separator, names: isNames = false } = values;
  const isSheet = csv || /\.csv$/i.test(out ?? '');
  if (separator !== undefined && !isSheet) throw new UserError('--separator needs --csv');
  const form = isSheet ? (separator ?? ',') : undefined;
  return { target: resolveTarget(values), out, form, isNames };
}

async function run({ target, out, form, isNames }: Request, open = withDatabase): Promise<number> {
  try {
    await open(target, async (database) => {
      await ensureTables(database, target, false);
      using progress = showProgress(process.stderr);
      const { update } = progress;
      const pieces = isNames ? exportNames(database) : exportListings(database, update, form);
      await (out === undefined ? print(pieces) : writeFile(out, pieces));
    });
    return 0;
  } catch (error) {
    const to = out === undefined ? '' : ` to ${out}`;
    throw new UserError(`The export${to} failed: ${messageOf(error)}`);
  }
}

async function print(pieces: AsyncIterable<string>): Promise<void> {
  try {
    await pipeline(pieces, process.stdout, { end: false });
  } catch (error) {
    // The reader of the output has all that it wanted.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
  }
}

/** Writes a new file, and moves it when it is whole. */
async function writeFile(path: string, pieces: AsyncIterable<string>): Promise<void> {
  if (existsSync(path) && !statSync(path).isFile()) throw new UserError('it is no file');
  await inScratchFolder(dirname(path), async (folder) => {
    const written = join(folder, 'listings.json');
    await pipeline(pieces, createWriteStream(written));
    renameSync(written, path);
  });
}
