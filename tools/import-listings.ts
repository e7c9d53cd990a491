/**
 * `npm run import-listings -- FILE [--dry-run] [--remote] [--env NAME] [--prune] [--notify URL]`: loads
 * a listings file.
 *
 * Exits with 0 when the file is in the store (or would be), 1 when it is not or when that is not known,
 * 2 when the command was not understood. Problems go to stderr, one per line.
 */

import { readFileSync } from 'node:fs';
import { readArguments } from './command-line/arguments.ts';
import { userPath, watchNpm } from './command-line/npm.ts';
import { UserError } from './command-line/project.ts';
import { TARGET_OPTIONS, targetOf } from './command-line/target.ts';
import { inLocalTurn } from './development/local-turn.ts';
import { consequenceOf } from './import/consequence.ts';
import type { Counts } from './import/counts.ts';
import { readListingsFile } from './import/file.ts';
import type { ImportOutcome } from './import/import.ts';
import { loadListings } from './import/load-listings.ts';
import { type Hook, notify, parseHook } from './import/notify.ts';
import { type ImportProblem, problemLine } from './import/problem.ts';
import type { Pruning } from './import/prune.ts';

const USAGE = `Usage: npm run import-listings -- FILE [--dry-run] [--remote] [--env NAME] [--prune] [--notify URL]

Loads a listings file into the local database, or with --remote into the deployed one.
  --dry-run   check the file, also against the database, and write nothing
  --remote    the deployed database instead of the local one
  --env NAME  the deployed database of an environment in wrangler.toml, such as staging
  --prune     hide the public listings that the file does not name: a fifth of them at most,
              with --prune=all however many
  --notify URL  tell a build hook when the feed shows something new, signed with the
              PUBLISH_HOOK_SECRET of the environment`;

watchNpm(() => process.exit(1));
process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const command = parseCommand(args);
  if (command.kind === 'help') {
    console.log(USAGE);
    return 0;
  }
  if (command.kind === 'misunderstood' || command.kind === 'unusable') {
    console.error(command.message);
    if (command.kind === 'misunderstood') console.error(`\n${USAGE}`);
    return 2;
  }
  try {
    const read = readListingsFile(readBytes(command.path));
    const load = () => loadListings(read, command);
    const outcome = await (command.isRemote ? load() : inLocalTurn(load));
    if (!report(outcome, command)) return 1;
    if (command.hook !== undefined) await tell(command.hook, outcome, command.isDryRun);
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    console.error(error instanceof UserError ? message : `The import failed: ${message}`);
    console.error(consequenceOf(error));
    return 1;
  }
}

type Command =
  | ({ kind: 'load'; path: string } & LoadCommand)
  | { kind: 'help' }
  | { kind: 'misunderstood'; message: string }
  /** An option with a value that it cannot have: one line says what it must be. */
  | { kind: 'unusable'; message: string };

type LoadCommand = {
  isDryRun: boolean;
  isRemote: boolean;
  environment: string | undefined;
  pruning: Pruning;
  hook: Hook | undefined;
};

function parseCommand(args: string[]): Command {
  try {
    // parseArgs knows no option with a value that may be left out.
    const isPruningAll = args.includes('--prune=all');
    const odd = args.find((arg) => /^--prune=(?!all$)/.test(arg));
    if (odd !== undefined) {
      return { kind: 'unusable', message: `--prune takes no value but all: ${odd}` };
    }
    const options = {
      ...TARGET_OPTIONS,
      'dry-run': { type: 'boolean', default: false },
      prune: { type: 'boolean', default: isPruningAll },
      notify: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    } as const;
    const given = args.filter((arg) => arg !== '--prune=all');
    const { values, positionals } = readArguments('import-listings', given, options, {
      allowPositionals: true,
    });
    if (values.help) return { kind: 'help' };
    const [path, ...rest] = positionals;
    if (path === undefined || path === '')
      return { kind: 'misunderstood', message: 'Name a listings file.' };
    if (rest.length > 0) return { kind: 'misunderstood', message: 'Name one listings file only.' };
    const { kind, environment } = targetOf(values);
    const hook =
      values.notify === undefined
        ? undefined
        : parseHook(values.notify, process.env.PUBLISH_HOOK_SECRET);
    if (typeof hook === 'string') return { kind: 'unusable', message: hook };
    const pruning = isPruningAll ? 'all' : values.prune ? 'some' : 'none';
    return {
      kind: 'load',
      path,
      isDryRun: values['dry-run'],
      isRemote: kind === 'remote',
      environment,
      pruning,
      hook,
    };
  } catch (error) {
    return {
      kind: 'misunderstood',
      message: error instanceof Error ? error.message : String(error),
    };
  }
}

function readBytes(path: string): Uint8Array {
  try {
    return readFileSync(userPath('import-listings', path));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') throw new UserError(`There is no file ${path}`);
    if (code === 'EISDIR') throw new UserError(`${path} is a directory`);
    throw new UserError(`${path} cannot be read: ${error instanceof Error ? error.message : code}`);
  }
}

/** Prints what was done, or every problem. Returns whether the file was accepted. */
function report(outcome: ImportOutcome, { isDryRun, pruning }: LoadCommand): boolean {
  if (outcome.kind === 'refused') {
    printProblems(outcome.problems);
    return false;
  }
  const { listings, locations, amenities, affected, pruned, isRenderingLeft } = outcome;
  if (isDryRun) console.log('Dry run: nothing was written. An import would give:');
  console.log(summaryLine(listings, 'listing', 'listings'));
  console.log(summaryLine(locations, 'location', 'locations'));
  console.log(summaryLine(amenities, 'amenity', 'amenities'));
  if (affected > 0) {
    console.log(
      `Rendered anew, because their location or amenities changed: ${affected} other listings`,
    );
  }
  if (isRenderingLeft) {
    console.log(
      'Rendering was interrupted: the rest is rendered when it is read, or by the next import.',
    );
  }
  const written = [listings, locations, amenities].some(
    ({ added, changed }) => added + changed > 0,
  );
  if (!written && pruned === 0) {
    console.log('Nothing changed: the store already holds all of it.');
  }
  if (pruning !== 'none') {
    console.log(`Hidden, because the file does not name them: ${counted(pruned, 'listing')}`);
  }
  return true;
}

/** Tells the hook of the changes, or says what it would be told. A hook that fails is a warning. */
async function tell(hook: Hook, outcome: ImportOutcome, isDryRun: boolean): Promise<void> {
  if (outcome.kind === 'refused') return;
  const { changes, resumeCursor } = outcome;
  const { host } = hook.url;
  if (changes === 0) {
    console.log(
      `The feed shows nothing new: ${host} ${isDryRun ? 'would not be' : 'was not'} notified.`,
    );
  } else if (isDryRun) {
    console.log(`Would notify ${host} of ${counted(changes, 'change')}.`);
  } else if (resumeCursor === null) {
    console.error(
      `Warning: ${host} was not notified: the database did not say where the changes end.`,
    );
  } else {
    const { isDelivered, message } = await notify(hook, { changes, resumeCursor });
    if (isDelivered) console.log(`${message.slice(0, -1)} of ${counted(changes, 'change')}.`);
    else console.error(`Warning: ${message}`);
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function summaryLine({ added, changed, unchanged }: Counts, one: string, many: string): string {
  const total = added + changed + unchanged;
  return `${total} ${total === 1 ? one : many}: ${added} added, ${changed} changed, ${unchanged} unchanged`;
}

function printProblems(problems: readonly ImportProblem[]): void {
  for (const problem of problems) console.error(visible(problemLine(problem)));
  const noun = problems.length === 1 ? 'problem' : 'problems';
  console.error(`${problems.length} ${noun}. Nothing was changed.`);
}

/** Escapes control characters, so that a file's text cannot steer the terminal or begin a line. */
function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
    /[\u0000-\u001f\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
