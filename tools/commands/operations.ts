/** `npm run -s operations`: prints who imported, erased or restored data. */

import * as z from 'zod';
import { type Command, readArguments, runCommand } from '../command-line/command.ts';
import { printable } from '../command-line/printable.ts';
import { declareWithTarget, resolveTarget } from '../command-line/target.ts';
import { describeError, UserError } from '../command-line/user-error.ts';
import { ensureTables } from '../database/migrations.ts';
import { withDatabase } from '../database/open.ts';
import { formatOperation, listOperations, type Operation } from '../database/operations.ts';

const program = declareWithTarget('-s operations')
  .description(`Print who imported, erased or restored what, newest first. Each line ends with the commit of the working
copy, and with the id that undo files and conflicts name.

Changes: nothing.
Exit codes: 0 the operations are printed, 1 they cannot be read, 2 invalid arguments.
Example: npm run -s operations -- --listing casa-marea --remote`)
  .option('--listing <slug>', 'print only the operation that changed this listing last');

const counts = z.record(z.string(), z.number());

type Request = ReturnType<typeof parse>;

export const command = { program, parse, run } satisfies Command<Request>;

function parse(args: string[]) {
  const { values } = readArguments(program, args);
  return { target: resolveTarget(values), slug: values.listing };
}

async function run({ target, slug }: Request, open = withDatabase): Promise<number> {
  try {
    await open(target, async (database) => {
      await ensureTables(database, target);
      const operations = await listOperations(database, slug);
      for (const operation of operations) console.log(printable(formatLine(operation)));
      if (operations.length === 0) console.log('No operation is recorded.');
    });
    return 0;
  } catch (error) {
    throw new UserError(`The operations cannot be read: ${describeError(error)}`);
  }
}

/**
 * Formats an operation as one line, e.g. `2026-11-27 14:03 UTC by ana, import-listings homes.xlsx:
 * added 1, changed 2 (8ee1a43f02bc, 7c1d…)`.
 */
function formatLine(operation: Operation): string {
  const entries = Object.entries(counts.parse(JSON.parse(operation.counts)));
  const summary = entries.map(([name, count]) => `${name} ${count}`).join(', ');
  const { commit, id } = operation;
  const origin = [commit ?? 'no commit', id].join(', ');
  return `${formatOperation(operation)}${summary && `: ${summary}`} (${origin})`;
}

if (import.meta.main) await runCommand(command);
