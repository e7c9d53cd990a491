/** `npm run -s export-listings`: exports the complete catalogue. Progress goes to stderr. */

import { createWriteStream, existsSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Command, readArguments, runCommand } from '../command-line/command.ts';
import { showProgress } from '../command-line/progress.ts';
import { pathFor } from '../command-line/project.ts';
import { withScratchFolder } from '../command-line/scratch.ts';
import { declareWithTarget, resolveTarget } from '../command-line/target.ts';
import { describeError, UserError } from '../command-line/user-error.ts';
import { ensureTables } from '../database/migrations.ts';
import { withDatabase } from '../database/open.ts';
import { exportListings } from '../import/export.ts';

const program = declareWithTarget('-s export-listings')
  .description(`Writes the whole catalogue as a listings file, JSON or a workbook: imported again it changes nothing.

Changes: nothing but <file>.
Exit codes: 0 the file is whole, 1 it is not, 2 invalid arguments.
Example: npm run -s export-listings -- --out catalogue.xlsx`)
  .option(
    '--out <file>',
    'a workbook if the name ends in .xlsx, otherwise JSON. An existing file is replaced when the new one is complete. Without --out, JSON goes to stdout',
    pathFor('export-listings'),
  );

type Request = ReturnType<typeof parse>;

export const command = { program, parse, run } satisfies Command<Request>;

function parse(args: string[]) {
  const { values } = readArguments(program, args);
  const { out } = values;
  const form = /\.xlsx$/i.test(out ?? '') ? 'workbook' : 'json';
  if (/\.(csv|tsv|xlsm?|ods|numbers)$/i.test(out ?? '')) {
    throw new UserError('--out must end in .xlsx, for a workbook, or in .json');
  }
  return { target: resolveTarget(values), out, form } as const;
}

async function run({ target, out, form }: Request, open = withDatabase): Promise<number> {
  try {
    await open(target, async (database) => {
      await ensureTables(database, target);
      using progress = showProgress(process.stderr);
      const pieces = exportListings(database, progress.update, form);
      await (out === undefined ? print(pieces) : writeFile(out, pieces));
    });
    return 0;
  } catch (error) {
    const to = out === undefined ? '' : ` to ${out}`;
    throw new UserError(`The export${to} failed: ${describeError(error)}`);
  }
}

async function print(pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  try {
    await pipeline(pieces, process.stdout, { end: false });
  } catch (error) {
    // The reader of stdout, such as `head`, has closed it.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
  }
}

/** Writes a temporary file, and moves it to `path` once it is complete. */
async function writeFile(path: string, pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  if (existsSync(path) && !statSync(path).isFile()) throw new UserError('it is not a file');
  await withScratchFolder(dirname(path), async (folder) => {
    const written = join(folder, 'listings.json');
    await pipeline(pieces, createWriteStream(written));
    renameSync(written, path);
  });
}

if (import.meta.main) await runCommand(command);
