/** `npm run erase-events`: see its usage below. */

import { existsSync } from 'node:fs';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { TARGET_OPTIONS, TARGET_USAGE, targetOf } from './command-line/target.ts';
import { messageOf, UserError } from './command-line/user-error.ts';
import { readLineage, requireIdentity } from './database/identity.ts';
import { withDatabase } from './database/open.ts';
import { type Aggregate, countedEvents, eraseAggregate, findAggregate } from './erasure/erase.ts';
import {
  appendToLedger,
  checkLedger,
  LEDGER_OPTION,
  ledgerFile,
  nameOf,
  playLedger,
  readLedger,
} from './erasure/ledger.ts';

const USAGE = `Usage: npm run erase-events -- (--aggregate-type T --aggregate-id ID [--dry-run] | --again) [--remote] [--env NAME] [--ledger FILE]

Erases the payloads of an aggregate's events. The service may be running.

  --dry-run      count the events that would be erased, and change nothing
  --again        repeat the erasures of the ledger, in a database that was rewound or copied
  ${TARGET_USAGE}
  --ledger FILE  instead of erasures.jsonl

Changes: the payloads, for good. The ledger gets a line. The command may be repeated.
Exit codes: 0 the payloads are erased (or would be), 1 this is not known, 2 invalid arguments.
Example: npm run erase-events -- --aggregate-type booking --aggregate-id bk_1001 --dry-run`;

type Request = ReturnType<typeof parseArguments>;

/** How far an erasure has come: printed when it fails. */
type Progress = { text: string };

export const command = { usage: USAGE, parse: parseArguments, run } satisfies Command<Request>;

if (import.meta.main) await runCommand(command);

function parseArguments(args: string[]) {
  const { values } = readArguments('erase-events', args, {
    ...TARGET_OPTIONS,
    ...LEDGER_OPTION,
    'aggregate-type': { type: 'string' },
    'aggregate-id': { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
  });
  const { 'aggregate-type': type, 'aggregate-id': id, 'dry-run': isDryRun } = values;
  const ledger = ledgerFile('erase-events', values.ledger);
  const request = { target: targetOf(values), ledger, isDryRun };
  if (values.again) {
    if (type === undefined && id === undefined && !isDryRun) {
      return { ...request, aggregate: undefined };
    }
    throw new UserError('--again takes no aggregate and no --dry-run');
  }
  if (!type) throw new UserError('--aggregate-type is missing');
  if (!id) throw new UserError('--aggregate-id is missing');
  return { ...request, aggregate: { type, id } };
}

async function run(request: Request, open = withDatabase): Promise<number> {
  const progress = { text: 'Nothing was changed.' };
  const { target, ledger, aggregate, isDryRun } = request;
  try {
    if (aggregate === undefined && !existsSync(ledger)) {
      throw new UserError(`there is no ledger ${ledger}`);
    }
    if (!isDryRun) checkLedger(ledger);
    const line = await open(target, async (database) => {
      await requireIdentity(database, target);
      return aggregate === undefined
        ? eraseAgain(database, ledger, progress)
        : eraseOne(database, aggregate, request, progress);
    });
    console.log(line);
    return 0;
  } catch (error) {
    const failed = error instanceof UserError ? '' : 'The erasure failed: ';
    console.error(`${failed}${messageOf(error)}\n${progress.text}`);
    return 1;
  }
}

/** Erases an aggregate, and returns the line to print. */
async function eraseOne(
  database: D1Database,
  aggregate: Aggregate,
  { isDryRun, ledger }: Request,
  progress: Progress,
): Promise<string> {
  const lineage = await readLineage(database);
  const { total, unerased, lastId, lastAt } = await findAggregate(database, aggregate);
  if (lastId === null) return 'The aggregate has no events: there is nothing to erase.';
  const already = `${total - unerased} of its ${countedEvents(total)} had been erased before`;
  if (isDryRun) return `Dry run: ${countedEvents(unerased)} would be erased; ${already}.`;
  // The clock of this machine may be behind the clock of the service.
  const erasedAt = Math.max(Date.now(), lastAt);
  progress.text = 'It is not known whether anything was erased: run the command again.';
  try {
    await eraseAggregate(database, aggregate, erasedAt);
  } catch (error) {
    // The response may be lost: count the events that still have their payload.
    if ((await findAggregate(database, aggregate, erasedAt)).unerased > 0) {
      progress.text = 'Nothing was changed.';
      throw error;
    }
  }
  progress.text = `${countedEvents(unerased)} erased, but the ledger does not say so: run the command again.`;
  appendToLedger(ledger, {
    lineage,
    aggregate: nameOf(aggregate),
    last_event_id: lastId,
    erased_at: new Date(erasedAt).toISOString(),
  });
  return `Erased ${countedEvents(unerased)}; ${already}. The ledger is ${ledger}.`;
}

/** Repeats the erasures of the ledger, and returns the line to print. */
async function eraseAgain(
  database: D1Database,
  ledger: string,
  progress: Progress,
): Promise<string> {
  progress.text = 'A part of it may be erased: run the command again.';
  const erased = await playLedger(database, await readLineage(database), readLedger(ledger));
  return `Erased again, by the ledger ${ledger}: ${countedEvents(erased)}.`;
}
