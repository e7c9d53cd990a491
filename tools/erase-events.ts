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
import { UserError } from './command-line/project.ts';
import { TARGET_OPTIONS, TARGET_USAGE, type Target, targetOf } from './command-line/target.ts';
import { commandFor } from './command-line/wrangler-config.ts';
import { readLineage, refuseUnfinishedRestore } from './database/identity.ts';
import { findPendingMigrations } from './database/migrations.ts';
import { withDatabase } from './database/open.ts';
import { type Aggregate, countUnerased, eraseAggregate, findAggregate } from './erasure/erase.ts';
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

/** `npm run erase-events`. `run` may be given another function that opens the database. */
export const command = { usage: USAGE, parse: parseArguments, run } satisfies Command<Request>;

if (import.meta.main) await runCommand(command);

async function run(request: Request, open = withDatabase): Promise<number> {
  const progress = { text: 'Nothing was changed.' };
  try {
    checkFiles(request);
    console.log(await open(request.target, (database) => eraseEvents(database, request, progress)));
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    console.error(error instanceof UserError ? message : `The erasure failed: ${message}`);
    console.error(progress.text);
    return 1;
  }
}

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

/** Throws a `UserError` when the request cannot read or append to its ledger. */
function checkFiles(request: Request): void {
  const { ledger } = request;
  if (request.kind === 'again' && !existsSync(ledger)) {
    throw new UserError(`there is no ledger ${ledger}`);
  }
  if (request.kind === 'again' || !request.isDryRun) checkLedger(ledger);
}

/** Erases, and returns the line to print. */
async function eraseEvents(
  database: D1Database,
  request: Request,
  progress: Progress,
): Promise<string> {
  await refuseUnfinishedRestore(database);
  await requireMigrated(database, request.target);
  return request.kind === 'again'
    ? eraseAgain(database, request.ledger, progress)
    : eraseOne(database, request, progress);
}

async function requireMigrated(database: D1Database, { kind, environment }: Target): Promise<void> {
  if ((await findPendingMigrations(database)).length === 0) return;
  const command = kind === 'remote' ? commandFor(environment, 'deploy') : 'npm run dev';
  throw new UserError(`the database lacks migrations: run \`${command}\` first`);
}

async function eraseOne(
  database: D1Database,
  { aggregate, isDryRun, ledger }: Extract<Request, { kind: 'aggregate' }>,
  progress: Progress,
): Promise<string> {
  const lineage = await readLineage(database);
  const { total, unerased, lastId, lastAt } = await findAggregate(database, aggregate);
  if (lastId === null) return 'The aggregate has no events: there is nothing to erase.';
  const already = `${total - unerased} of its ${events(total)} had been erased before`;
  if (isDryRun) return `Dry run: ${events(unerased)} would be erased; ${already}.`;
  // The clock of this machine may be behind the clock of the service.
  const extent = { lastId, now: Math.max(Date.now(), lastAt) };
  progress.text = 'It is not known whether anything was erased: run the command again.';
  try {
    await eraseAggregate(database, aggregate, extent);
  } catch (error) {
    // The erasure may have been carried out and its answer lost: count the events that still have their payload.
    if ((await countUnerased(database, aggregate, extent)) > 0) {
      progress.text = 'Nothing was changed.';
      throw error;
    }
  }
  progress.text = `${events(unerased)} erased, but the ledger does not say so: run the command again.`;
  appendToLedger(ledger, {
    lineage,
    aggregate: nameOf(aggregate),
    last_event_id: lastId,
    erased_at: new Date(extent.now).toISOString(),
  });
  return `Erased ${events(unerased)}; ${already}. The ledger is ${ledger}.`;
}

async function eraseAgain(
  database: D1Database,
  ledger: string,
  progress: Progress,
): Promise<string> {
  progress.text = 'A part of it may be erased: run the command again.';
  const erased = await playLedger(database, await readLineage(database), readLedger(ledger));
  return `Erased again, by the ledger ${ledger}: ${events(erased)}.`;
}

function events(count: number): string {
  return count === 1 ? '1 event' : `${count} events`;
}
