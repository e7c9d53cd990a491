/**
 * `npm run import-listings -- FILE`: imports a listings file. `set-status` uses parts of this
 * command.
 */

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { DRY_RUN, readArguments, runCommand } from '../command-line/command.ts';
import { formatCommand } from '../command-line/environment.ts';
import { datedPath, pathFor, userDirectory, userPath } from '../command-line/project.ts';
import { declareWithTarget, resolveTarget } from '../command-line/target.ts';
import {
  describeError,
  needsNoStack,
  UsageError,
  UserError,
  withPath,
} from '../command-line/user-error.ts';
import { withDatabase } from '../database/open.ts';
import type { ImportOutcome } from '../import/import.ts';
import type { LoadOptions } from '../import/load-listings.ts';
import { type ListingsFile, readCatalogueFile } from '../import/read/file.ts';
import { parseHook } from '../import/report/notify.ts';
import { type ReportOptions, report } from '../import/report/report.ts';
import { UnknownOutcomeError } from '../import/write/apply.ts';
import { undoFileAt } from '../import/write/listings-file.ts';

const program = declareImport('import-listings')
  .description(`Loads a listings file, JSON or a workbook: all of it, or nothing if it has a problem.

Changes: the listings, locations and amenities in the local database, or with --remote in the deployed one,
and the file in backups/.
Exit codes: 0 the file is in the database (or would be), 1 it is not or that is not known, 2 invalid arguments.
Example: npm run import-listings -- catalogue.xlsx --dry-run`)
  .argument('<file>')
  .option('--notify-always', 'notify it also when the feed shows nothing new')
  .option('--all', 'list every change, not only the first 50')
  .option('--patch', 'change only the fields that a JSON file contains')
  .option('--prune', 'hide the public listings that the file does not name')
  .option(
    '--many',
    'hide, clear or rename more than a fifth of the public listings, or import a column that was sorted on its own',
  )
  .option('--overwrite', 'the file is the truth: replace what has changed since it was made');

const UNKNOWN =
  'It is not known whether the listings were changed. Run the same command again, with another file for --undo if it has one: it ends in the same state either way.';

type ImportRequest = LoadOptions &
  ReportOptions &
  ReturnType<typeof sharedOptions> & { readFile: () => ListingsFile | Promise<ListingsFile> };

export const command = { program, parse, run };

export function declareImport(script: string) {
  return declareWithTarget(script)
    .addOption(DRY_RUN)
    .option(
      '--undo <file>',
      'where to write the file that undoes this import. The default is a dated file in backups/',
      pathFor(script),
    )
    .option('--no-undo', 'write no such file')
    .option(
      '--notify <url>',
      'notify a build hook when the feed shows something new, signed with the PUBLISH_HOOK_SECRET of the environment',
      (url) => parseHook(url, process.env.PUBLISH_HOOK_SECRET),
    );
}

function parse(args: string[]): ImportRequest {
  const { values, positionals } = readArguments(program, args);
  const { all = false, patch = false, prune: prunes = false, notifyAlways = false } = values;
  const { many = false, overwrite = false } = values;
  const shared = sharedOptions(values);
  if (notifyAlways && !shared.hook) throw new UserError('--notify-always needs --notify');
  return {
    ...shared,
    prunes,
    many,
    overwrite,
    listsAll: all,
    notifiesAlways: notifyAlways,
    origin: { command: 'import-listings', file: positionals[0] },
    // `run` calls this, because an unreadable file is not an invalid argument.
    readFile: async () => {
      const [path] = positionals;
      const bytes = withPath(path, () => readFileSync(userPath('import-listings', path)));
      const file = await readCatalogueFile(bytes, patch ? 'patch' : 'whole', path);
      rejectOptions(file, patch, prunes);
      return file;
    },
  };
}

/** Rejects options that do not apply to a workbook. */
function rejectOptions(file: ListingsFile, isPatch: boolean, prunes: boolean) {
  if (file.form !== 'workbook') return;
  if (isPatch) {
    throw new UsageError('--patch is for JSON: a workbook changes only the columns that it has');
  }
  if (prunes && !file.sheets.listings) {
    throw new UsageError('--prune needs the sheet listings, which this workbook does not have');
  }
}

export function sharedOptions(values: ReturnType<ReturnType<typeof declareImport>['opts']>) {
  const { dryRun: isDryRun = false, undo = datedPath('listings', 'json'), notify: hook } = values;
  const file = undo === false ? undefined : undoFileAt(undo);
  return { target: resolveTarget(values), isDryRun, hook, undo: file };
}

export async function run(request: ImportRequest, open = withDatabase): Promise<number> {
  let outcome: ImportOutcome;
  try {
    const { loadListings } = await import('../import/load-listings.ts');
    outcome = await loadListings(await request.readFile(), request, open);
  } catch (error) {
    const message = describeError(error);
    console.error(needsNoStack(error) ? message : `The import failed: ${message}`);
    console.error(error instanceof UnknownOutcomeError ? UNKNOWN : 'Nothing was changed.');
    return error instanceof UsageError ? 2 : 1;
  }
  await report(outcome, request, formatUndoCommand(request));
  return outcome.kind === 'accepted' ? 0 : 1;
}

function formatUndoCommand({ undo, target }: ImportRequest): string | undefined {
  if (!undo?.isSaved()) return undefined;
  const path = relative(userDirectory(), undo.path);
  const args = ['import-listings', quoteForShell(path), '--many'] as const;
  if (target.kind === 'local') return formatCommand(undefined, ...args);
  return formatCommand(target.environment, ...args, '--remote');
}

/** Quotes a path for a shell if necessary, e.g. `it's.json` → `'it'\''s.json'`. */
function quoteForShell(path: string): string {
  if (/^[A-Za-z0-9_./-]+$/.test(path)) return path;
  return `'${path.replaceAll("'", "'\\''")}'`;
}

if (import.meta.main) await runCommand(command);
