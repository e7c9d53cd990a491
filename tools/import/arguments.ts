/** The arguments of `import-listings`. */

import { readArguments } from '../command-line/command.ts';
import { TARGET_OPTIONS, targetOf } from '../command-line/target.ts';
import { type Hook, parseHook } from './notify.ts';
import type { Pruning } from './prune.ts';

export const USAGE = `Usage: npm run import-listings -- FILE [--dry-run] [--remote] [--env NAME] [--prune] [--notify URL]

Loads a listings file into the local database, or with --remote into the deployed one.
  --dry-run   check the file, also against the database, and write nothing
  --remote    the deployed database instead of the local one
  --env NAME  the deployed database of an environment in wrangler.toml, such as staging
  --prune     hide the public listings that the file does not name: a fifth of them at most,
              with --prune=all however many
  --notify URL  tell a build hook when the feed shows something new, signed with the
              PUBLISH_HOOK_SECRET of the environment`;

/** The request of the user. */
export type Command =
  | ({ kind: 'load'; path: string } & LoadCommand)
  | { kind: 'help' }
  | { kind: 'misunderstood'; message: string }
  /** An option with a value that it cannot have: one line says what it must be. */
  | { kind: 'unusable'; message: string };

/** The options of an import. */
export type LoadCommand = {
  isDryRun: boolean;
  isRemote: boolean;
  environment: string | undefined;
  pruning: Pruning;
  hook: Hook | undefined;
};

/** Reads the arguments, and `PUBLISH_HOOK_SECRET` of the environment. */
export function parseCommand(args: string[]): Command {
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
