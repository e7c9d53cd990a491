/**
 * `import-listings` and `set-status`, from their arguments to their exit code: each reads records, imports them, and
 * reports the outcome.
 */

import { readFileSync } from 'node:fs';
import { NoAnswer } from '../cloudflare/api.ts';
import { readArguments } from '../command-line/command.ts';
import { userPath } from '../command-line/npm.ts';
import type { Output } from '../command-line/progress.ts';
import { UserError } from '../command-line/project.ts';
import { TARGET_OPTIONS, TARGET_USAGE, targetOf } from '../command-line/target.ts';
import { OutcomeUnknown } from './apply.ts';
import { readSheet } from './csv.ts';
import { type ReadFile, readListingsFile, readRecords } from './file.ts';
import type { ImportOutcome } from './import.ts';
import type { LoadOptions } from './load-listings.ts';
import { type Hook, parseHook } from './notify.ts';
import { changeLines, emptiedLines, refusalLines, summaryLines, tellHook } from './report.ts';

const SHARED_USAGE = `  ${TARGET_USAGE}
  --notify URL   tell a build hook when the feed shows something new, signed with the
                 PUBLISH_HOOK_SECRET of the environment`;

export const IMPORT_USAGE = `Usage: npm run import-listings -- FILE [--dry-run] [--patch] [--remote] [--env NAME] [--prune] [--notify URL]

Loads a listings file, JSON or CSV, into the local database, or with --remote into the deployed one.
  --dry-run      say what would change, listing by listing, and write nothing
  --patch        the file holds only what is to change: every other field stays as it is (CSV: always)
  --prune        hide the public listings that the file does not name: a fifth of them at most,
                 with --prune=all however many
  --allow-emptied  empty fields of more than a fifth of the public listings
${SHARED_USAGE}`;

export const STATUS_USAGE = `Usage: npm run set-status -- STATUS SLUG... [--dry-run] [--remote] [--env NAME] [--notify URL]

Sets the web status of listings (listed, coming_soon, sold_out or hidden), and nothing else of them.
  --dry-run      say what would change, and write nothing
${SHARED_USAGE}`;

/** The options of an import, and its records. */
type ImportCommand = Required<
  Pick<LoadOptions, 'isDryRun' | 'isRemote' | 'pruning' | 'allowEmptied'>
> & {
  environment: string | undefined;
  hook: Hook | undefined;
  read: () => ReadFile;
};

export type ImportContext = {
  output: Output;
  errors: Output;
  /** Imports into the database that the options name. */
  load: (read: ReadFile, options: LoadOptions) => Promise<ImportOutcome>;
};

const OPTIONS = {
  ...TARGET_OPTIONS,
  'dry-run': { type: 'boolean', default: false },
  notify: { type: 'string' },
} as const;

/** Runs `import-listings`. Returns its exit code. */
export function runImportCommand(args: string[], context: ImportContext): Promise<number> {
  return run(IMPORT_USAGE, () => parseImport(args), context);
}

/** Runs `set-status`. Returns its exit code. */
export function runStatusCommand(args: string[], context: ImportContext): Promise<number> {
  return run(STATUS_USAGE, () => parseStatus(args), context);
}

/** Reads the arguments of `import-listings`, and `PUBLISH_HOOK_SECRET` of the environment. */
function parseImport(args: string[]): ImportCommand {
  // parseArgs has no options with an optional value.
  const isPruningAll = args.includes('--prune=all');
  const odd = args.find((arg) => /^--prune=(?!all$)/.test(arg));
  if (odd !== undefined) throw new UserError(`--prune takes no value but all: ${odd}`);
  const given = args.filter((arg) => arg !== '--prune=all');
  const options = {
    ...OPTIONS,
    patch: { type: 'boolean', default: false },
    prune: { type: 'boolean', default: isPruningAll },
    'allow-emptied': { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = readArguments('import-listings', given, options, {
    allowPositionals: true,
  });
  const [path = '', ...rest] = positionals;
  if (path === '') throw new Error('Name a listings file.');
  if (rest.length > 0) throw new Error('Name one listings file only.');
  return {
    ...sharedOptions(values),
    pruning: isPruningAll ? 'all' : values.prune ? 'some' : 'none',
    allowEmptied: values['allow-emptied'],
    read: () =>
      /\.csv$/i.test(path)
        ? readSheet(readBytes(path))
        : readListingsFile(readBytes(path), { isPatch: values.patch }),
  };
}

/** Reads the arguments of `set-status`. */
function parseStatus(args: string[]): ImportCommand {
  const { values, positionals } = readArguments('set-status', args, OPTIONS, {
    allowPositionals: true,
  });
  const [status, ...slugs] = positionals;
  if (status === undefined || slugs.length === 0) throw new Error('Name a status and a slug.');
  const properties = [...new Set(slugs)].map((slug) => ({
    place: slug,
    value: { slug, status },
  }));
  return {
    ...sharedOptions(values),
    pruning: 'none',
    allowEmptied: false,
    read: () => ({
      kind: 'read',
      ...readRecords({ locations: [], amenities: [], properties }, true),
    }),
  };
}

function sharedOptions(values: {
  'dry-run': boolean;
  remote: boolean;
  env?: string | undefined;
  notify?: string | undefined;
}) {
  const { kind, environment } = targetOf(values);
  const hook =
    values.notify === undefined
      ? undefined
      : parseHook(values.notify, process.env.PUBLISH_HOOK_SECRET);
  if (typeof hook === 'string') throw new UserError(hook);
  return { isDryRun: values['dry-run'], isRemote: kind === 'remote', environment, hook };
}

async function run(
  usage: string,
  parse: () => ImportCommand,
  { output, errors, load }: ImportContext,
): Promise<number> {
  const print = (line: string) => output.write(`${line}\n`);
  const complain = (line: string) => errors.write(`${line}\n`);
  let command: ImportCommand;
  try {
    command = parse();
  } catch (error) {
    complain(messageOf(error));
    if (!(error instanceof UserError)) complain(`\n${usage}`);
    return 2;
  }
  const { isDryRun, hook, read } = command;
  try {
    const outcome = await load(read(), { ...command, output });
    if (outcome.kind === 'refused') {
      const { problems, findings } = outcome;
      if (findings !== undefined) {
        if (isDryRun) for (const line of changeLines(findings)) print(line);
        for (const line of emptiedLines(findings, false)) complain(line);
      }
      for (const line of refusalLines(problems)) complain(line);
      return 1;
    }
    for (const line of summaryLines(outcome, command)) print(line);
    for (const line of emptiedLines(outcome.findings, !isDryRun)) complain(line);
    if (hook !== undefined) {
      const { isWarning, line } = await tellHook(hook, outcome, isDryRun);
      if (isWarning) complain(line);
      else print(line);
    }
    return 0;
  } catch (error) {
    const message = messageOf(error);
    complain(error instanceof UserError ? message : `The import failed: ${message}`);
    complain(consequenceOf(error));
    return 1;
  }
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(userPath('import-listings', path));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') throw new UserError(`There is no file ${path}`);
    if (code === 'EISDIR') throw new UserError(`${path} is a directory`);
    throw new UserError(`${path} cannot be read: ${messageOf(error)}`);
  }
}

/** Returns the sentence after an error: whether listings were changed. */
function consequenceOf(error: unknown): string {
  if (error instanceof OutcomeUnknown) {
    return 'It is not known whether the listings were changed. Run the same command again: it ends in the same state either way.';
  }
  if (error instanceof NoAnswer) return 'The import had not changed a listing.';
  return 'Nothing was changed.';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
