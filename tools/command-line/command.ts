/** Reads a command's arguments, and runs it. */

import {
  type CommandUnknownOpts,
  Option,
  type OptionValues,
  Command as Program,
} from '@commander-js/extra-typings';
import { resolveEnvironment } from './environment.ts';
import { describeError, needsNoStack, UserError } from './user-error.ts';

/** Width of a usage text, because output that is not a terminal has no width. */
const HELP_COLUMNS = 120;

/** Every command checks for it, because npm may consume `--dry-run` and leave a real run. */
export const DRY_RUN = new Option('--dry-run', 'print what would change, and write nothing');

/** `parse` throws for invalid arguments. `run` returns the exit code. */
export type Command<Request> = {
  /** Prints its usage for `--help`. */
  program: CommandUnknownOpts;
  /** 2 by default. */
  invalidArgumentsExitCode?: number;
  parse: (args: string[]) => Request;
  run: (request: Request) => number | Promise<number>;
};

export async function runCommand<Request>(command: Command<Request>): Promise<void> {
  for (const output of [process.stdout, process.stderr]) output.on('error', failUnlessClosed);
  const code = await runToExitCode(command, process.argv.slice(2));
  process.exitCode ||= code;
}

/**
 * Returns 0 for `--help`, `invalidArgumentsExitCode` if `parse` throws, 1 for a `UserError` or
 * system error of `run`, or `run`'s result.
 */
export async function runToExitCode<Request>(
  { program, invalidArgumentsExitCode = 2, parse, run }: Command<Request>,
  args: string[],
): Promise<number> {
  if (asksForHelp(args)) {
    program.outputHelp();
    return 0;
  }
  let request: Request;
  try {
    resolveEnvironment();
    useProxy();
    request = parse(args);
  } catch (error) {
    const reason = describeError(error).replace(/^error: /, '');
    const call = program.name();
    console.error(`${reason}\nNothing was done.\n\nUsage: ${call} ${program.usage()}`);
    console.error(`More: ${call} --help`);
    return invalidArgumentsExitCode;
  }
  try {
    return await run(request);
  } catch (error) {
    if (!needsNoStack(error)) throw error;
    console.error(describeError(error));
    return 1;
  }
}

/**
 * Requests go through the proxy of HTTPS_PROXY or HTTP_PROXY, as wrangler's do. It too ends at a
 * malformed value, also in `dev`.
 */
function useProxy(): void {
  const { env } = process;
  const no_proxy = env.no_proxy || env.NO_PROXY || 'localhost,127.0.0.1,::1';
  try {
    // An import statement would load all that the module exports: 30 ms of each command.
    const { setGlobalProxyFromEnv } = process.getBuiltinModule('node:http');
    setGlobalProxyFromEnv({ ...env, no_proxy });
  } catch (error) {
    throw new UserError(
      `HTTPS_PROXY or HTTP_PROXY: ${describeError(error)} (the value must begin with http://)`,
    );
  }
}

/** Begins the declaration of the command of an npm script. */
export function declare(script: string) {
  return (
    new Program(`npm run ${script} --`)
      .configureHelp({ helpWidth: HELP_COLUMNS })
      // Errors are thrown: `runToExitCode` prints them.
      .configureOutput({ outputError() {} })
      .exitOverride()
  );
}

/** Throws for invalid arguments, and for an option that npm swallowed because `--` was missing. */
export function readArguments<Positionals extends unknown[], Values extends OptionValues>(
  program: Program<Positionals, Values>,
  args: string[],
) {
  // The name is `npm run SCRIPT --`.
  const [script = ''] = program.name().split(' ').slice(-2);
  const presentOptions = args.map((arg) => arg.split('=')[0]);
  const keptOption = [...program.options, DRY_RUN].find(
    (option) => !presentOptions.includes(option.long) && isSwallowed(script, option),
  );
  if (keptOption !== undefined) {
    throw new UserError(`npm kept ${keptOption.long} for itself: write -- before the arguments`);
  }
  for (const { long = '', required } of program.options) {
    // Commander takes any argument for a value: `--undo --dry-run` must not become a real run.
    if (required && args.some((arg, at) => arg === long && args[at + 1]?.startsWith('-'))) {
      throw new UserError(`option '${long}' needs a value`);
    }
  }
  program.parse(args, { from: 'user' });
  return { values: program.opts(), positionals: program.processedArgs };
}

/** e.g. `npm run erase-events --dry-run` sets `npm_config_dry_run`, and gives no argument. */
function isSwallowed(script: string, option: Option): boolean {
  const { env } = process;
  const value = env[`npm_config_${option.name().replaceAll('-', '_')}`];
  if (env.npm_lifecycle_event !== script || value === undefined) return false;
  // npm may set a flag that is off to an empty text.
  if (!option.required) return value !== '' && value !== 'false';
  // `scope` is npm's own setting too. Commands report a missing --scope themselves.
  return option.name() !== 'scope';
}

/** Whether the arguments contain `--help` or `-h`. Arguments after `--` are not options. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).some((arg) => /^(--help|-h)$/.test(arg));
}

/** Sets the exit code for an error of the output. A closed pipe, e.g. `| head`, is not an error. */
function failUnlessClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') process.exitCode = 1;
}
