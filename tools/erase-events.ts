/**
 * `npm run erase-events -- --aggregate-type T --aggregate-id ID [--dry-run] [--remote] [--env NAME]
 * [--ledger FILE]`: erases the payloads of an aggregate's events, and appends the erasure to the ledger.
 * With `--again` instead of an aggregate it repeats the erasures that the ledger has for the lineage of the database.
 *
 * Exits with 0 when the payloads are erased (or would be), 1 when this is not known, 2 for invalid arguments. It may be
 * repeated after any failure.
 */

import { existsSync } from 'node:fs';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { TARGET_OPTIONS, TARGET_USAGE, type Target, targetOf } from './command-line/target.ts';
import { messageOf, UserError } from './command-line/user-error.ts';
import { readLineage, rejectUnfinishedRestore } from './database/identity.ts';
import { findPendingMigrations, migratingCommand } from './database/migrations.ts';
import { withDatabase } from './database/open.ts';
import {
  type Aggregate,
  countedEvents,
  countUnerased,
  eraseAggregate,
  findAggregate,
} from './erasure/erase.ts';
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

  --dry-run      count what would be erased, and change nothing
  --again        repeat the erasures of the ledger, in a database that was set back
  ${TARGET_USAGE}
  --ledger FILE  instead of erasures.jsonl`;

type Request = { target: Target; ledger: string } & (
  | { kind: 'aggregate'; aggregate: Aggregate; isDryRun: boolean }
  | { kind: 'again' }
);

/** How far an erasure has come: printed when it fails. */
type Progress = { text: string };

/** Tests pass `run` another function that opens the database. */
export const command = { usage: USAGE, parse: parseArguments, run } satisfies Command<Request>;

if (import.meta.main) await runCommand(command);

function parseArguments(args: string[]): Request {
  const { values } = readArguments('erase-events', args, {
    ...TARGET_OPTIONS,
    ...LEDGER_OPTION,
    'aggregate-type': { type: 'string' },
    'aggregate-id': { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
  });
  const { 'aggregate-type': type, 'aggregate-id': id, 'dry-run': isDryRun } = values;
  const common = { target: targetOf(values), ledger: ledgerFile('erase-events', values.ledger) };
  if (values.again) {
    if (type !== undefined || id !== undefined || isDryRun) {
      throw new UserError('--again takes no aggregate and no --dry-run');
    }
    return { kind: 'again', ...common };
  }
  if (!type) throw new UserError('--aggregate-type is missing');
  if (!id) throw new UserError('--aggregate-id is missing');
  return { kind: 'aggregate', aggregate: { type, id }, isDryRun, ...common };
}

async function run(request: Request, open = withDatabase): Promise<number> {
  const progress = { text: 'Nothing was changed.' };
  const { target, ledger } = request;
  try {
    if (request.kind === 'again' && !existsSync(ledger)) {
      throw new UserError(`there is no ledger ${ledger}`);
    }
    if (request.kind === 'again' || !request.isDryRun) checkLedger(ledger);
    const line = await open(target, async (database) => {
      await rejectUnfinishedRestore(database);
      if ((await findPendingMigrations(database)).length > 0) {
        throw new UserError(
          `the database lacks migrations: run \`${migratingCommand(target)}\` first`,
        );
      }
      return request.kind === 'again'
        ? eraseAgain(database, ledger, progress)
        : eraseOne(database, request, progress);
    });
    console.log(line);
    return 0;
  } catch (error) {
    const message = messageOf(error);
    console.error(error instanceof UserError ? message : `The erasure failed: ${message}`);
    console.error(progress.text);
    return 1;
  }
}

/** Erases an aggregate, and returns the line to print. */
async function eraseOne(
  database: D1Database,
  { aggregate, isDryRun, ledger }: Extract<Request, { kind: 'aggregate' }>,
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
    // The erasure may have been carried out and its response lost: count the events that still have their payload.
    if ((await countUnerased(database, aggregate, erasedAt)) > 0) {
      progress.text = 'Nothing was changed.';
      throw error;
    }
  }
  progress.text = `${countedEvents(unerased)} erased, but the ledger does not say so: run the command again.`;
  const entry = {
    lineage,
    aggregate: nameOf(aggregate),
    last_event_id: lastId,
    erased_at: new Date(erasedAt).toISOString(),
  };
  appendToLedger(ledger, entry, lastAt);
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
