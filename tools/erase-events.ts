/**
 * `npm run erase-events -- --aggregate-type T --aggregate-id ID [--remote] [--dry-run] [--ledger FILE]`:
 * erases the payloads of an aggregate's events, and appends to the ledger what it erased.
 *
 * Exits with 0 when no event of the aggregate has its payload any more (or would have), 1 when that is
 * not known, 2 when the command was not understood. It may be repeated after any failure.
 */

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { findKeptOption, userPath } from './command-line/npm.ts';
import { DATABASE_BINDING, PROJECT_DIRECTORY, UserError } from './command-line/project.ts';
import { readWranglerConfig } from './command-line/wrangler-config.ts';
import { findPendingMigrations } from './database/migrations.ts';
import { openDatabase } from './database/open.ts';
import { inLocalTurn } from './development/local-turn.ts';
import { type Aggregate, eraseAggregate, findAggregate } from './erasure/erase.ts';
import { appendToLedger, checkLedger, nameOf } from './erasure/ledger.ts';

const USAGE =
  'usage: npm run erase-events -- --aggregate-type T --aggregate-id ID [--remote] [--dry-run] [--ledger FILE]';
const LEDGER = 'erasures.jsonl';
const LOCAL = 'local';

type Command = { aggregate: Aggregate; isRemote: boolean; isDryRun: boolean; ledger: string };

/** What the user is told: how far an erasure has come when it fails. */
let progress = 'Nothing was changed.';

process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  const command = parseCommand(args);
  if ('problem' in command) {
    console.error(`${command.problem} (${USAGE})`);
    return 2;
  }
  try {
    const erase = () => eraseEvents(command);
    console.log(await (command.isRemote ? erase() : inLocalTurn(erase)));
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    console.error(error instanceof UserError ? message : `The erasure failed: ${message}`);
    console.error(progress);
    return 1;
  }
}

/** Erases, and returns what to tell the user. */
async function eraseEvents({ aggregate, isRemote, isDryRun, ledger }: Command): Promise<string> {
  if (!isDryRun) checkLedger(ledger);
  const { database, close } = await openDatabase(isRemote ? 'remote' : 'local');
  try {
    if ((await findPendingMigrations(database)).length > 0) {
      const command = isRemote ? 'npm run deploy' : 'npm run dev';
      throw new UserError(`the database lacks migrations: run \`${command}\` first`);
    }
    const { total, unerased, lastId } = await findAggregate(database, aggregate);
    if (lastId === null) return 'The aggregate has no events: there is nothing to erase.';
    const already = `${total - unerased} of its ${events(total)} had been erased before`;
    if (isDryRun) return `Dry run: ${events(unerased)} would be erased; ${already}.`;
    progress = 'It is not known whether anything was erased: run the command again.';
    const now = Date.now();
    const erased = await eraseAggregate(database, aggregate, { lastId, now });
    progress = `${events(erased)} erased, but the ledger does not say so: run the command again.`;
    appendToLedger(ledger, {
      database: isRemote ? databaseName() : LOCAL,
      aggregate: nameOf(aggregate),
      last_event_id: lastId,
      erased_at: new Date(now).toISOString(),
    });
    return `Erased ${events(erased)}; ${already}. The ledger is ${ledger}.`;
  } finally {
    // The erasure has its outcome by now, even if closing fails.
    await close().catch(() => undefined);
  }
}

function events(count: number): string {
  return count === 1 ? '1 event' : `${count} events`;
}

const databases = z.object({
  d1_databases: z.array(z.object({ binding: z.string(), database_name: z.string() })),
});

/** Returns the name by which a restore finds the lines of the deployed database. */
function databaseName(): string {
  const { d1_databases } = databases.parse(readWranglerConfig());
  const own = d1_databases.find(({ binding }) => binding === DATABASE_BINDING);
  if (own === undefined) throw new UserError(`wrangler.toml has no database ${DATABASE_BINDING}`);
  return own.database_name;
}

function parseCommand(args: string[]): Command | { problem: string } {
  let values: {
    'aggregate-type'?: string;
    'aggregate-id'?: string;
    ledger?: string;
    remote?: boolean;
    'dry-run'?: boolean;
  };
  try {
    ({ values } = parseArgs({
      args,
      options: {
        'aggregate-type': { type: 'string' },
        'aggregate-id': { type: 'string' },
        ledger: { type: 'string' },
        remote: { type: 'boolean' },
        'dry-run': { type: 'boolean' },
      },
    }));
  } catch (error) {
    const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { problem: line };
  }
  const { remote: isRemote = false, 'dry-run': isDryRun = false, ledger } = values;
  const notGiven = [...(isRemote ? [] : ['remote']), ...(isDryRun ? [] : ['dry-run'])];
  const kept = findKeptOption('erase-events', notGiven);
  if (kept !== undefined) {
    return { problem: `npm kept --${kept} for itself: write -- before the arguments` };
  }
  const { 'aggregate-type': type, 'aggregate-id': id } = values;
  if (!type) return { problem: '--aggregate-type is missing' };
  if (!id) return { problem: '--aggregate-id is missing' };
  if (ledger === '') return { problem: '--ledger names no file' };
  return {
    aggregate: { type, id },
    isRemote,
    isDryRun,
    ledger:
      ledger === undefined ? join(PROJECT_DIRECTORY, LEDGER) : userPath('erase-events', ledger),
  };
}
