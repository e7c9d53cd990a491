/**
 * A command of the project, from its arguments to its exit code. Every script of package.json that runs a program
 * of tools/ begins here, so that all of them answer `--help`, refuse what they do not know, and survive a reader
 * of their output that ends before they do.
 */

import { type ParseArgsConfig, parseArgs } from 'node:util';
import { UserError } from './project.ts';
import { chosenEnvironment } from './wrangler-config.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

/** Checked for every command: a swallowed `--dry-run` must not become a real run. */
const DRY_RUN = 'dry-run';

/** `parse` throws an `Error` for arguments that it does not understand. `run` returns the exit code. */
export type Command<Request> = {
  /** Printed for `--help`, and below a complaint about the arguments. */
  usage: string;
  /** The exit code for arguments that are not understood, where 2 means something else. */
  misunderstood?: number;
  parse: (args: string[]) => Request;
  run: (request: Request) => number | Promise<number>;
};

/**
 * Runs a command with the arguments of this process, and sets the exit code: 0 for `--help`, 2 for arguments that
 * are not understood and for an environment that wrangler.toml does not define, 1 for a `UserError` of `run`, and
 * otherwise what `run` returns.
 */
export async function runCommand<Request>({
  usage,
  misunderstood = 2,
  parse,
  run,
}: Command<Request>): Promise<void> {
  for (const output of [process.stdout, process.stderr]) output.on('error', ignoreClosedPipe);
  const args = process.argv.slice(2);
  if (asksForHelp(args)) {
    console.log(usage);
    return;
  }
  let request: Request;
  try {
    chosenEnvironment();
    request = parse(args);
  } catch (error) {
    console.error(`${firstLine(error)}. Nothing was done.\n\n${usage}`);
    process.exitCode = misunderstood;
    return;
  }
  try {
    process.exitCode = await run(request);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/**
 * Returns the options and the other arguments of the npm script `script`. Throws an `Error` for an unknown option,
 * an argument where none is taken, and an option that npm has kept for itself because no `--` stood before it: the
 * command would then do something else than was asked.
 */
export function readArguments<const T extends Options>(
  script: string,
  args: string[],
  options: T,
  { allowPositionals = false } = {},
) {
  const read = parseArgs({ args, options, allowPositionals });
  const given = new Map(Object.entries(read.values));
  const kept = [...Object.keys(options), DRY_RUN].find(
    (name) => given.get(name) !== true && isKept(script, name, options[name]?.type ?? 'boolean'),
  );
  if (kept !== undefined) {
    throw new UserError(`npm kept --${kept} for itself: write -- before the arguments`);
  }
  return read;
}

/** What follows `--` is no option. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).some((arg) => /^(--help|-h)$/.test(arg));
}

/** `parseArgs` goes on after its first sentence with advice for programmers. */
function firstLine(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return line.replace(/\. (?=This command|To specify).*$/, '').replace(/\.$/, '');
}

/** `| head` closes the pipe: the work that was begun goes on to its end, and to its own exit code. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

/** A flag that is off may stand among npm's own values as an empty text. */
function isKept(script: string, name: string, type: 'boolean' | 'string'): boolean {
  if (process.env.npm_lifecycle_event !== script) return false;
  const value = process.env[`npm_config_${name.replaceAll('-', '_')}`];
  return type === 'string' ? value !== undefined : ![undefined, '', 'false'].includes(value);
}
