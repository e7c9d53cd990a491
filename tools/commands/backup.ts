/** `npm run backup`: backs up a database into a file. */

import { type Command, readArguments, runCommand } from '../command-line/command.ts';
import { pathFor } from '../command-line/project.ts';
import { declareWithTarget, resolveTarget } from '../command-line/target.ts';
import { describeError } from '../command-line/user-error.ts';
import type { WithDatabase } from '../database/open.ts';

const program = declareWithTarget('backup')
  .description(`Back up the database into one file of SQL, then load the file into a scratch database to compare it.
The service can keep running. The file contains personal data.

Changes: nothing. The file is new, because an existing file is never replaced.
Exit codes: 0 the file is complete, 1 no file was written, 2 invalid arguments.
Example: npm run backup -- --remote`)
  .option('--out <file>', 'write this file instead of a dated one in backups/', pathFor('backup'));

type Request = ReturnType<typeof parse>;

export const command = { program, parse, run } satisfies Command<Request>;

function parse(args: string[]) {
  const { values } = readArguments(program, args);
  return { target: resolveTarget(values), out: values.out };
}

async function run({ target, out }: Request, open?: WithDatabase): Promise<number> {
  try {
    // Loaded only here, because --help and invalid arguments need no database code.
    const { backUp } = await import('../backup/back-up.ts');
    console.log(await backUp(target, out, open));
    return 0;
  } catch (error) {
    console.error(`Not backed up: ${describeError(error)}.\nNo file was written.`);
    return 1;
  }
}

if (import.meta.main) await runCommand(command);
