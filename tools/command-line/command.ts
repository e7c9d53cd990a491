/** Parses a command's arguments and runs the command. */

import {
  type CommandUnknownOpts,
  Option,
  type OptionValues,
  Command as Program,
} from '@commander-js/extra-typings';
import { resolveEnvironment } from './environment.ts';
import { describeError, needsNoStack, UserError } from './user-error.ts';

/** Width of the help text. It is fixed because only a terminal has a width. */
const HELP_COLUMNS = 120;

/**
 * Every command checks for this option, because npm may consume `--dry-run` and leave a real run.
 */
export const DRY_RUN = new Option('--dry-run', 'print what would change, and write nothing');

/**
 * A command of an npm script. `parse` throws if the arguments are invalid, and `run` returns the
 * exit code.
 */
export type Command<Request> = {
  /** Declares the options, and prints the help. */
  program: CommandUnknownOpts;
  /** Exit code for invalid arguments; 2 if absent. */
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
 * Runs a command and returns its exit code: 0 for `--help`, `invalidArgumentsExitCode` if `parse`
 * throws, 1 if `run` throws a `UserError` or a system error, and otherwise the result of `run`.
 */
export async function runToExitCode<Request>(
  { program, invalidArgumentsExitCode = 2, parse, run }: Command<Request>,
  args: string[],
): Promise<number> {
  if (hasHelpOption(args)) {
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
 * Sends requests through the proxy in HTTPS_PROXY or HTTP_PROXY, as wrangler does. Throws a
 * `UserError` if the value is malformed, because wrangler would fail too.
 */
function useProxy(): void {
  const { env } = process;
  const no_proxy = env.no_proxy || env.NO_PROXY || 'localhost,127.0.0.1,::1';
  try {
    // An import statement would evaluate every export of the module, which takes 30 ms.
    const { setGlobalProxyFromEnv } = process.getBuiltinModule('node:http');
    setGlobalProxyFromEnv({ ...env, no_proxy });
  } catch (error) {
    throw new UserError(
      `HTTPS_PROXY or HTTP_PROXY: ${describeError(error)} (the value must begin with http://)`,
    );
  }
}

/** Starts the declaration of an npm script's command. */
export function declare(script: string) {
  return (
    new Program(`npm run ${script} --`)
      .configureHelp({ helpWidth: HELP_COLUMNS })
      // Commander also throws its errors, which `runToExitCode` prints.
      .configureOutput({ outputError() {} })
      .exitOverride()
  );
}

/**
 * Parses the arguments of a command. Throws if they are invalid, or if npm has consumed an option
 * because `--` was missing.
 */
export function readArguments<Positionals extends unknown[], Values extends OptionValues>(
  program: Program<Positionals, Values>,
  args: string[],
) {
  // The name is `npm run SCRIPT --`.
  const [script = ''] = program.name().split(' ').slice(-2);
  const presentOptions = args.map((arg) => arg.split('=')[0]);
  const consumedOption = [...program.options, DRY_RUN].find(
    (option) => !presentOptions.includes(option.long) && isConsumedByNpm(script, option),
  );
  if (consumedOption !== undefined) {
    throw new UserError(
      `npm kept ${consumedOption.long} for itself: write -- before the arguments`,
    );
  }
  for (const { long = '', required } of program.options) {
    // Commander accepts any argument as a value, so `--undo --dry-run` would become a real run.
    if (required && args.some((arg, index) => arg === long && args[index + 1]?.startsWith('-'))) {
      throw new UserError(`option '${long}' needs a value`);
    }
  }
  program.parse(args, { from: 'user' });
  return { values: program.opts(), positionals: program.processedArgs };
}

/**
 * Whether npm has consumed an option. For example, `npm run erase-events --dry-run` sets
 * `npm_config_dry_run` and passes no argument.
 */
function isConsumedByNpm(script: string, option: Option): boolean {
  const { env } = process;
  const value = env[`npm_config_${option.name().replaceAll('-', '_')}`];
  if (env.npm_lifecycle_event !== script || value === undefined) return false;
  // npm sets some disabled flags to an empty string.
  if (!option.required) return value !== '' && value !== 'false';
  // `scope` is also a setting of npm. Commands report a missing --scope themselves.
  return option.name() !== 'scope';
}

/** Whether `--help` or `-h` appears before `--`. */
function hasHelpOption(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).some((arg) => /^(--help|-h)$/.test(arg));
}

/**
 * Makes the command fail if its output cannot be written. Closed pipes, as in `| head`, are
 * ignored.
 */
function failUnlessClosed(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') process.exitCode = 1;
}
