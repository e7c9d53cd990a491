/** `import-listings` and `set-status`, from their arguments to their exit code. */

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { DRY_RUN, readArguments } from '../command-line/command.ts';
import { pathFor, userDirectory, userPath } from '../command-line/npm.ts';
import { datedPath } from '../command-line/project.ts';
import { declareWithTarget, resolveTarget } from '../command-line/target.ts';
import { messageOf, needsNoStack, UserError, withPath } from '../command-line/user-error.ts';
import { withDatabase } from '../database/open.ts';
import { readListingsFile } from './file.ts';
import { type LoadOptions, loadListings } from './load-listings.ts';
import type { ImportOutcome } from './plan/types.ts';
import { readSheet } from './read/csv.ts';
import type { ParsedFile } from './read/types.ts';
import { parseHook } from './report/notify.ts';
import { type ReportOptions, report } from './report/report.ts';
import { type UndoFile, undoFileAt } from './undo-file.ts';
import { OutcomeUnknown } from './write/apply.ts';

const importProgram = declareImport('import-listings')
  .description(`Loads a listings file, JSON or CSV: all of it, or nothing if it has a problem.

Changes: the listings, locations and amenities in the local database, or with --remote in the deployed one,
and the file in backups/.
Exit codes: 0 the file is in the database (or would be), 1 it is not or that is not known, 2 invalid arguments.
Example: npm run import-listings -- homes.csv --dry-run`)
  .argument('<file>')
  .option('--notify-always', 'notify it also when the feed shows nothing new')
  .option('--all', 'with --dry-run: list every change')
  .option('--patch', 'change only the fields that the file contains (CSV: always)')
  .option(
    '--prune',
    'hide the public listings that the file does not name: at most a fifth of them, with --prune=all any number',
  )
  .option('--allow-emptied', 'empty fields of more than a fifth of the public listings');

const statusProgram = declareImport('set-status')
  .description(`Sets the web status of listings: listed, coming_soon, sold_out or hidden.

Changes: the status of these listings in the local database, or with --remote in the deployed one, and
the file in backups/.
Exit codes: 0 the status is set (or would be), 1 it is not or that is not known, 2 invalid arguments.
Example: npm run set-status -- hidden casa-marea --dry-run`)
  .argument('<status>')
  .argument('<slug...>');

const UNKNOWN =
  'It is not known whether the listings were changed. Run the same command again: it ends in the same state either way.';

type ImportRequest = LoadOptions &
  ReportOptions & { undo: UndoFile | undefined; readFile: () => ParsedFile };

export const importCommand = { program: importProgram, parse: parseImport, run };

export const statusCommand = { program: statusProgram, parse: parseStatus, run };

function declareImport(script: string) {
  return declareWithTarget(script)
    .addOption(DRY_RUN)
    .option(
      '--undo <file>',
      'where to write the file that undoes this import; else in backups/',
      pathFor(script),
    )
    .option('--no-undo', 'write no such file')
    .option(
      '--notify <url>',
      'notify a build hook when the feed shows something new, signed with the PUBLISH_HOOK_SECRET of the environment',
      (url) => parseHook(url, process.env.PUBLISH_HOOK_SECRET),
    );
}

function parseImport(args: string[]): ImportRequest {
  // An optional value would swallow a file that follows.
  const isPruningAll = args.includes('--prune=all');
  const plain = args.filter((arg) => arg !== '--prune=all');
  const { values, positionals } = readArguments(importProgram, plain);
  const { all = false, patch = false, prune, allowEmptied = false, notifyAlways = false } = values;
  const shared = sharedOptions(values);
  if (all && !shared.isDryRun) throw new UserError('--all needs --dry-run');
  if (notifyAlways && !shared.hook) throw new UserError('--notify-always needs --notify');
  return {
    ...shared,
    pruning: isPruningAll ? 'all' : prune ? 'some' : 'none',
    allowEmptied,
    listsAll: all,
    notifiesAlways: notifyAlways,
    // In `run`: an unreadable file is no invalid argument.
    readFile: () => readFile(positionals[0], patch),
  };
}

function parseStatus(args: string[]): ImportRequest {
  const { values, positionals } = readArguments(statusProgram, args);
  return {
    ...sharedOptions(values),
    pruning: 'none',
    allowEmptied: false,
    listsAll: true,
    notifiesAlways: false,
    readFile: () => statusPatch(...positionals),
  };
}

function sharedOptions(values: ReturnType<typeof statusProgram.opts>) {
  const { dryRun: isDryRun = false, undo = datedPath('listings', 'json'), notify: hook } = values;
  const file = undo === false ? undefined : undoFileAt(undo);
  return { target: resolveTarget(values), isDryRun, hook, undo: file };
}

function readFile(path: string, isPatch: boolean): ParsedFile {
  const bytes = withPath(path, () => readFileSync(userPath('import-listings', path)));
  return /\.csv$/i.test(path) ? readSheet(bytes) : readListingsFile(bytes, { isPatch });
}

function statusPatch(status: string, slugs: readonly string[]): ParsedFile {
  const properties = [...new Set(slugs)].map((slug) => ({
    name: { kind: 'listing', place: slug } as const,
    value: { slug, status },
  }));
  const others = { locations: [], amenities: [], removed: [], problems: [] };
  return { kind: 'readable', isPatch: true, mustBeStored: true, properties, ...others };
}

async function run(request: ImportRequest, open = withDatabase): Promise<number> {
  let outcome: ImportOutcome;
  try {
    // Import, 1.
    outcome = await loadListings(request.readFile(), request, open);
  } catch (error) {
    const message = messageOf(error);
    console.error(needsNoStack(error) ? message : `The import failed: ${message}`);
    console.error(error instanceof OutcomeUnknown ? UNKNOWN : 'Nothing was changed.');
    return 1;
  }
  await report(outcome, request, formatUndoCommand(request));
  return outcome.kind === 'accepted' ? 0 : 1;
}

/** Returns the command that undoes an import, if there is a file for it. */
function formatUndoCommand({ undo, target }: ImportRequest): string | undefined {
  if (!undo?.isSaved()) return undefined;
  const path = relative(userDirectory(), undo.path);
  const remote = target.kind === 'remote' ? ' --remote' : '';
  const environment = target.environment === undefined ? '' : ` --env ${target.environment}`;
  return `npm run import-listings -- ${quoteForShell(path)} --allow-emptied${remote}${environment}`;
}

/** Quotes for a POSIX shell, e.g. `'it'\''s.json'`. */
function quoteForShell(path: string): string {
  if (/^[A-Za-z0-9_./-]+$/.test(path)) return path;
  return `'${path.replaceAll("'", "'\\''")}'`;
}
