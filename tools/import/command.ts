/**
 * `import-listings` and `set-status`, from their arguments to their exit code: each reads records, imports them, and
 * reports the outcome.
 */

import { readFileSync } from 'node:fs';
import { NoAnswer } from '../cloudflare/api.ts';
import { type Command, readArguments } from '../command-line/command.ts';
import { userPath } from '../command-line/npm.ts';
import { TARGET_OPTIONS, TARGET_USAGE, targetOf } from '../command-line/target.ts';
import { UserError } from '../command-line/user-error.ts';
import { OutcomeUnknown } from './apply.ts';
import { readSheet } from './csv.ts';
import { type ReadFile, readListingsFile, readRecords } from './file.ts';
import type { ImportOutcome } from './import.ts';
import { type LoadOptions, loadInTurn } from './load-listings.ts';
import { type Hook, parseHook } from './notify.ts';
import { notifyHook, printOutcome } from './report.ts';

const SHARED_USAGE = `  ${TARGET_USAGE}
  --notify URL   tell a build hook when the feed shows something new, signed with the
                 PUBLISH_HOOK_SECRET of the environment`;

const IMPORT_USAGE = `Usage: npm run import-listings -- FILE [--dry-run] [--patch] [--remote] [--env NAME] [--prune] [--notify URL]

Loads a listings file, JSON or CSV, into the local database, or with --remote into the deployed one.
  --dry-run      say what would change, listing by listing, and write nothing
  --patch        the file holds only what is to change: every other field stays as it is (CSV: always)
  --prune        hide the public listings that the file does not name: a fifth of them at most,
                 with --prune=all however many
  --allow-emptied  empty fields of more than a fifth of the public listings
${SHARED_USAGE}`;

const STATUS_USAGE = `Usage: npm run set-status -- STATUS SLUG... [--dry-run] [--remote] [--env NAME] [--notify URL]

Sets the web status of listings (listed, coming_soon, sold_out or hidden), and nothing else of them.
  --dry-run      say what would change, and write nothing
${SHARED_USAGE}`;

/** The options of an import, and a function that reads its records. */
type ImportRequest = Required<
  Pick<LoadOptions, 'isDryRun' | 'isRemote' | 'pruning' | 'allowEmptied' | 'environment'>
> & { hook: Hook | undefined; read: () => ReadFile };

/** A command that imports records. `run` may be given another function that loads them. */
export type ImportCommand = Command<ImportRequest> & {
  run: (request: ImportRequest, load?: typeof loadInTurn) => Promise<number>;
};

/** `npm run import-listings`. */
export const importListings: ImportCommand = { usage: IMPORT_USAGE, parse: parseImport, run };

/** `npm run set-status`. */
export const setStatus: ImportCommand = { usage: STATUS_USAGE, parse: parseStatus, run };

const OPTIONS = {
  ...TARGET_OPTIONS,
  'dry-run': { type: 'boolean', default: false },
  notify: { type: 'string' },
} as const;

function parseImport(args: string[]): ImportRequest {
  // parseArgs has no options with an optional value.
  const isPruningAll = args.includes('--prune=all');
  const odd = args.find((arg) => /^--prune=(?!all$)/.test(arg));
  if (odd !== undefined) throw new UserError(`--prune takes no value but all: ${odd}`);
  const plain = args.filter((arg) => arg !== '--prune=all');
  const options = {
    ...OPTIONS,
    patch: { type: 'boolean', default: false },
    prune: { type: 'boolean', default: isPruningAll },
    'allow-emptied': { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = readArguments('import-listings', plain, options, {
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

function parseStatus(args: string[]): ImportRequest {
  const { values, positionals } = readArguments('set-status', args, OPTIONS, {
    allowPositionals: true,
  });
  const [status, ...slugs] = positionals;
  if (status === undefined || slugs.length === 0) throw new Error('Name a status and a slug.');
  const properties = [...new Set(slugs)].map((slug) => ({
    name: { kind: 'listing', place: slug } as const,
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
  const { notify } = values;
  const hook = notify === undefined ? notify : parseHook(notify, process.env.PUBLISH_HOOK_SECRET);
  return { isDryRun: values['dry-run'], isRemote: kind === 'remote', environment, hook };
}

async function run(request: ImportRequest, load = loadInTurn): Promise<number> {
  try {
    const read = request.read();
    const outcome: ImportOutcome =
      read.kind === 'read'
        ? await load(read, request)
        : { kind: 'rejected', problems: read.problems };
    printOutcome(outcome, request);
    if (outcome.kind === 'rejected') return 1;
    if (request.hook !== undefined) await notifyHook(request.hook, outcome, request.isDryRun);
    return 0;
  } catch (error) {
    const message = messageOf(error);
    console.error(error instanceof UserError ? message : `The import failed: ${message}`);
    console.error(consequenceOf(error));
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
