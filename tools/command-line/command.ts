/** Runs a command. It outlives the reader of its output (`| head`). */

import { type ParseArgsConfig, parseArgs } from 'node:util';
import { resolveEnvironment } from './environment.ts';
import { nearest } from './nearest.ts';
import { isKeptByNpm, watchNpm } from './npm.ts';
import { messageOf, needsNoStack, UserError } from './user-error.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

/** Checked for every command: a swallowed `--dry-run` must not become a real run. */
const DRY_RUN = 'dry-run';

/** `parse` throws for invalid arguments. `run` returns the exit code. */
export type Command<Request> = {
  /** Printed for `--help`, as in tools/token.ts. Its first line follows an argument error. */
  usage: string;
  /** The exit code for invalid arguments, if it is not 2. */
  invalidArguments?: number;
  parse: (args: string[]) => Request;
  run: (request: Request) => number | Promise<number>;
};

/** Calls `onNpmGone` if npm ends before the command, even by a kill. */
export async function runCommand<Request>(
  command: Command<Request>,
  onNpmGone?: () => void,
): Promise<void> {
  if (onNpmGone !== undefined) watchNpm(onNpmGone);
  for (const output of [process.stdout, process.stderr]) output.on('error', failUnlessClosed);
  const code = await runToExitCode(command, process.argv.slice(2));
  process.exitCode ||= code;
}

/** Returns 0 for `--help`, 1 for a `UserError`, or `run`'s result. */
export async function runToExitCode<Request>(
  { usage, invalidArguments = 2, parse, run }: Command<Request>,
  args: string[],
): Promise<number> {
  if (asksForHelp(args)) {
    console.log(usage);
    return 0;
  }
  let request: Request;
  try {
    resolveEnvironment();
    request = parse(args);
  } catch (error) {
    const [line, call] = /^Usage: (npm (?:run (?:-s )?)?\S+).*/.exec(usage) ?? [usage];
    console.error(`${sentenceOf(error)} Nothing was done.\n\n${line}`);
    if (call !== undefined) console.error(`More: ${call} -- --help`);
    return invalidArguments;
  }
  try {
    return await run(request);
  } catch (error) {
    if (!needsNoStack(error)) throw error;
    console.error(messageOf(error));
    return 1;
  }
}

/** Throws for unknown arguments, and for an option that npm kept because `--` was missing. */
export function readArguments<const T extends Options>(
  script: string,
  args: string[],
  options: T,
  { allowPositionals = false } = {},
) {
  const read = withSuggestion([...Object.keys(options), 'help'], () =>
    parseArgs({ args, options, allowPositionals }),
  );
  const isGiven = (name: string) => args.some((arg) => arg.split('=')[0] === `--${name}`);
  const kept = [...Object.keys(options), DRY_RUN].find(
    (name) => !isGiven(name) && isKeptByNpm(script, name, options[name]?.type ?? 'boolean'),
  );
  if (kept !== undefined) {
    throw new UserError(`npm kept --${kept} for itself: write -- before the arguments`);
  }
  return read;
}

/** Arguments after `--` are no options. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).some((arg) => /^(--help|-h)$/.test(arg));
}

function withSuggestion<T>(known: readonly string[], parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    const [message, name = ''] = /^Unknown option '--?(.+?)'/.exec(messageOf(error)) ?? [];
    const option = nearest(name, known);
    if (option === undefined) throw error;
    throw new UserError(`${message}: did you mean --${option}?`);
  }
}

/** Returns the first line of a message, without what Node advises programmers. */
function sentenceOf(error: unknown): string {
  const [line = ''] = messageOf(error).split('\n');
  const sentence = line.replace(/\. (?=This command|To specify).*$/, '');
  return /[.?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** A closed pipe, e.g. `| head`, keeps the exit code. Another fault of the output is a 1. */
function failUnlessClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') process.exitCode = 1;
}
