/** `npm run after-time-travel`: completes a rewind of the database by Time Travel. */

import { type Command, readArguments, runCommand } from '../command-line/command.ts';
import { showProgress } from '../command-line/progress.ts';
import { resolveTarget } from '../command-line/target.ts';
import { describeError } from '../command-line/user-error.ts';
import { beginGeneration, readLineage } from '../database/identity.ts';
import { ensureTables, rejectNewer } from '../database/migrations.ts';
import { withDatabase } from '../database/open.ts';
import { findCommit, recordOperation } from '../database/operations.ts';
import { formatEvents } from '../erasure/erase.ts';
import { applyLedger, declareWithLedger, OR_NO_LEDGER, readLedger } from '../erasure/ledger.ts';

const program = declareWithLedger(
  'after-time-travel',
).description(`Finish the work after Time Travel has rewound the database. The command repeats the erasures of the ledger,
and begins a new generation, so that readers whose cursor is from the undone period start again.

Changes: payloads that the ledger lists, and the generation. The command can be repeated.
Exit codes: 0 both are done, 1 either may be missing, 2 invalid arguments.
Example: npm run after-time-travel -- --remote`);

type Request = ReturnType<typeof parse>;

export const command = { program, parse, run } satisfies Command<Request>;

function parse(args: string[]) {
  const { values } = readArguments(program, args);
  return { target: resolveTarget(values), ledger: values.ledger };
}

async function run({ target, ledger }: Request, open = withDatabase): Promise<number> {
  try {
    findCommit();
    const erasures = readLedger(ledger, OR_NO_LEDGER);
    await open(target, async (database) => {
      await rejectNewer(database);
      await ensureTables(database, target);
      const lineage = await readLineage(database);
      using progress = showProgress(process.stdout);
      const erased = await applyLedger(database, lineage, erasures, {
        finish: (events) => [
          beginGeneration(database, lineage),
          recordOperation(database, {
            id: crypto.randomUUID(),
            command: 'after-time-travel',
            counts: { erased: events },
          }),
        ],
        onProgress: (done, total) => progress.update('events compared', done, total),
      });
      console.log(
        `Erased again: ${formatEvents(erased)}. A new generation has begun, so earlier cursors are rejected.`,
      );
    });
    return 0;
  } catch (error) {
    console.error(
      `Not finished: ${describeError(error)}.\nErased payloads may still be readable. Run the command again.`,
    );
    return 1;
  }
}

if (import.meta.main) await runCommand(command);
