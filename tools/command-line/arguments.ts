/**
 * The arguments of a command. npm keeps options for itself when no `--` stands before them. The command
 * would then do something else than was asked, so it does nothing.
 */

import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** Whoever asks for it wants nothing to be done, so it is looked for where a command does not know it too. */
const DRY_RUN = 'dry-run';

/**
 * Returns the options and the other arguments of the npm script `script`. Throws an `Error` that says
 * what is wrong: an unknown option, an argument where none is taken, an option that npm has kept.
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
    throw new Error(`npm kept --${kept} for itself: write -- before the arguments`);
  }
  return read;
}

/** Returns what `read` does, or the line that says why the arguments are not understood. */
export function understand<Command>(read: () => Command): Command | { problem: string } {
  try {
    return read();
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { problem: line.replace(/\.$/, '') };
  }
}

/** A flag that is off may stand among npm's own values as an empty text. */
function isKept(script: string, name: string, type: 'boolean' | 'string'): boolean {
  if (process.env.npm_lifecycle_event !== script) return false;
  const value = process.env[`npm_config_${name.replaceAll('-', '_')}`];
  return type === 'string' ? value !== undefined : ![undefined, '', 'false'].includes(value);
}
