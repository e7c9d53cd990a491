/** `import-listings` and `set-status`, from their arguments to their exit code. */

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { readArguments } from '../command-line/command.ts';
import { userDirectory, userPath } from '../command-line/npm.ts';
import { datedPath } from '../command-line/project.ts';
import { resolveTarget, TARGET_OPTIONS, TARGET_USAGE } from '../command-line/target.ts';
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

const SHARED_USAGE = `  --undo FILE    where to write the file that undoes this import; else in backups/
  --no-undo      write no such file
  ${TARGET_USAGE}
  --notify URL   notify a build hook when the feed shows something new, signed with the
                 PUBLISH_HOOK_SECRET of the environment`;

const IMPORT_USAGE = `Usage: npm run import-listings -- FILE [--dry-run [--all]] [--patch] [--prune[=all]] [--allow-emptied] [--undo FILE] [--no-undo] [--notify URL [--notify-always]] [--remote] [--env NAME]

Loads a listings file, JSON or CSV: all of it, or nothing if it has a problem.

  --dry-run      say what would change, and write nothing; with --all, list every change
  --patch        change only the fields that the file contains (CSV: always)
  --prune        hide the public listings that the file does not name: at most a fifth of them,
                 with --prune=all any number
  --allow-emptied  empty fields of more than a fifth of the public listings
${SHARED_USAGE}
  --notify-always  notify it also when the feed shows nothing new

Changes: the listings, locations and amenities in the local database, or with --remote in the deployed one,
and the file in backups/.
Exit codes: 0 the file is in the database (or would be), 1 it is not or that is not known, 2 invalid arguments.
Example: npm run import-listings -- homes.csv --dry-run`;

const STATUS_USAGE = `Usage: npm run set-status -- STATUS SLUG... [--dry-run] [--undo FILE] [--no-undo] [--notify URL] [--remote] [--env NAME]

Sets the web status of listings: listed, coming_soon, sold_out or hidden.

  --dry-run      say what would change, and write nothing
${SHARED_USAGE}

Changes: the status of these listings in the local database, or with --remote in the deployed one, and
the file in backups/.
Exit codes: 0 the status is set (or would be), 1 it is not or that is not known, 2 invalid arguments.
Example: npm run set-status -- hidden casa-marea --dry-run`;

const UNKNOWN =
  'It is not known whether the listings were changed. Run the same command again: it ends in the same state either way.';

type ImportRequest = LoadOptions &
  ReportOptions & { undo: UndoFile | undefined; readFile: () => ParsedFile };

export const importCommand = { usage: IMPORT_USAGE, parse: parseImport, run };

export const statusCommand = { usage: STATUS_USAGE, parse: parseStatus, run };

const OPTIONS = {
  ...TARGET_OPTIONS,
  'dry-run': { type: 'boolean', default: false },
  notify: { type: 'string' },
  undo: { type: 'string' },
  'no-undo': { type: 'boolean', default: false },
} as const;

function parseImport(args: string[]): ImportRequest {
  // parseArgs has no options with an optional value.
  const isPruningAll = args.includes('--prune=all');
  const plain = args.filter((arg) => arg !== '--prune=all');
  const options = {
    ...OPTIONS,
    all: { type: 'boolean', default: false },
    patch: { type: 'boolean', default: false },
    prune: { type: 'boolean', default: false },
    'allow-emptied': { type: 'boolean', default: false },
    'notify-always': { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = readArguments('import-listings', plain, options, {
    allowPositionals: true,
  });
  const [path = '', ...rest] = positionals;
  if (path === '') throw new Error('Name a listings file.');
  if (rest.length > 0) throw new Error('Name one listings file only.');
  const shared = sharedOptions('import-listings', values);
  if (values.all && !shared.isDryRun) throw new UserError('--all needs --dry-run');
  if (values['notify-always'] && !shared.hook)
    throw new UserError('--notify-always needs --notify');
  return {
    ...shared,
    pruning: isPruningAll ? 'all' : values.prune ? 'some' : 'none',
    allowEmptied: values['allow-emptied'],
    listsAll: values.all,
    notifiesAlways: values['notify-always'],
    // In `run`: an unreadable file is no invalid argument.
    readFile: () => readFile(path, values.patch),
  };
}

function parseStatus(args: string[]): ImportRequest {
  const { values, positionals } = readArguments('set-status', args, OPTIONS, {
    allowPositionals: true,
  });
  const [status, ...slugs] = positionals;
  if (status === undefined || slugs.length === 0) throw new Error('Name a status and a slug.');
  return {
    ...sharedOptions('set-status', values),
    pruning: 'none',
    allowEmptied: false,
    listsAll: true,
    notifiesAlways: false,
    readFile: () => statusPatch(status, slugs),
  };
}

function sharedOptions(
  script: string,
  values: ReturnType<typeof readArguments<typeof OPTIONS>>['values'],
) {
  const { notify } = values;
  const hook = notify === undefined ? notify : parseHook(notify, process.env.PUBLISH_HOOK_SECRET);
  if (values.undo === '') throw new UserError('--undo needs the name of a file');
  const path =
    values.undo === undefined ? datedPath('listings', 'json') : userPath(script, values.undo);
  const undo = values['no-undo'] ? undefined : undoFileAt(path);
  return { target: resolveTarget(values), isDryRun: values['dry-run'], hook, undo };
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
