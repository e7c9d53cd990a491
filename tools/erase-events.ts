/** `npm run erase-events`: see its usage below. */

import { existsSync } from 'node:fs';
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { printable } from './command-line/printable.ts';
import { showProgress } from './command-line/progress.ts';
import { declareWithTarget, resolveTarget } from './command-line/target.ts';
import { messageOf, UserError } from './command-line/user-error.ts';
import { requireLineage } from './database/identity.ts';
import { rejectNewer } from './database/migrations.ts';
import { withDatabase } from './database/open.ts';
import { makeRecorder } from './database/operations.ts';
import { type Aggregate, eraseAggregates, findAggregate, formatEvents } from './erasure/erase.ts';
import { findNear, findText, fold } from './erasure/find.ts';
import {
  appendToLedger,
  applyLedger,
  checkLedger,
  hashAggregate,
  ledgerOption,
  readLedger,
} from './erasure/ledger.ts';

const program = declareWithTarget('erase-events')
  .usage(
    '(--aggregate-type <type> --aggregate-id <id> [--dry-run] | --find <text> | --again) [options]',
  )
  .description(`Erases the payloads of an aggregate's events. The service may be running.

Changes: the payloads, for good. The ledger gets a line. The command may be repeated. --find changes nothing.
Exit codes: 0 the payloads are erased (or would be), 1 this is not known, or the name is misspelt, 2 invalid arguments.
Example: npm run erase-events -- --aggregate-type booking --aggregate-id bk_1001 --dry-run`)
  .option('--aggregate-type <type>', 'the aggregate whose payloads are erased')
  .option('--aggregate-id <id>', 'with --aggregate-type')
  .option('--dry-run', 'count the events that would be erased, and change nothing')
  .addOption(
    new Option(
      '--again',
      'repeat the erasures of the ledger, in a database that was rewound or copied',
    ).conflicts(['aggregateType', 'aggregateId', 'dryRun']),
  )
  .addOption(
    new Option(
      '--find <text>',
      'instead list the aggregates whose events have an e-mail address, a name or another text',
    ).conflicts(['aggregateType', 'aggregateId', 'dryRun', 'again']),
  )
  .addOption(
    new Option('--after <seq>', 'with --find: continue after this event').argParser(parsePlace),
  )
  .addOption(ledgerOption('erase-events'));

const MIN_TEXT_CHARACTERS = 3;

/** As it is recorded: without the aggregate, which may be a guest's. */
const OPERATION = { command: 'erase-events' };

type Request = ReturnType<typeof parse>;

export const command = { program, parse, run } satisfies Command<Request>;

function parse(args: string[]) {
  const { values } = readArguments(program, args);
  const { aggregateType: type, aggregateId: id, dryRun: isDryRun = false, ledger } = values;
  const { find: text, after = 0 } = values;
  if (text !== undefined && fold(text).trim().length < MIN_TEXT_CHARACTERS) {
    throw new UserError(`--find needs a text of at least ${MIN_TEXT_CHARACTERS} characters`);
  }
  if (values.after !== undefined && text === undefined) throw new UserError('--after needs --find');
  if (!values.again && text === undefined && !(type && id)) {
    throw new UserError('--aggregate-type and --aggregate-id are needed, or --find, or --again');
  }
  const aggregate = type && id ? { type, id } : undefined;
  const find = text === undefined ? undefined : { text: text.trim(), after };
  return { target: resolveTarget(values), ledger, isDryRun, aggregate, find };
}

function parsePlace(value: string): number {
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('It must be a whole number.');
}

async function run(request: Request, open = withDatabase): Promise<number> {
  const { target, ledger, aggregate, isDryRun, find } = request;
  /** The sentence that is printed if the erasure fails. */
  const progress = { state: 'Nothing was changed.' };
  try {
    if (find !== undefined) {
      await open(target, async (database) => {
        await requireLineage(database, target);
        await listFound(database, find);
      });
      return 0;
    }
    if (aggregate === undefined && !existsSync(ledger)) {
      throw new UserError(`there is no ledger ${ledger}`);
    }
    if (!isDryRun) checkLedger(ledger);
    await open(target, async (database) => {
      const lineage = await requireLineage(database, target);
      await rejectNewer(database);
      if (aggregate === undefined) {
        progress.state = 'It is not known whether anything was erased: run the command again.';
        const record = await makeRecorder(database);
        using bar = showProgress(process.stdout);
        const erased = await applyLedger(database, lineage, readLedger(ledger), {
          finish: (events) => (events > 0 ? record({ ...OPERATION, counts: { events } }) : []),
          onProgress: (done, total) => bar.update('events compared', done, total),
        });
        console.log(`Erased again, by the ledger ${ledger}: ${formatEvents(erased)}.`);
      } else {
        console.log(await eraseOne(database, { ...request, aggregate, lineage }, progress));
      }
    });
    return 0;
  } catch (error) {
    const action = find === undefined ? 'erasure' : 'search';
    const failed = error instanceof UserError ? '' : `The ${action} failed: `;
    console.error(`${failed}${messageOf(error)}\n${progress.state}`);
    return 1;
  }
}

/** Prints the aggregates, and how far the search came, also if it fails. */
async function listFound(
  database: D1Database,
  { text, after }: { text: string; after: number },
): Promise<void> {
  const all: Aggregate[] = [];
  let reached = ` up to event ${after}. To continue, add: --after ${after}`;
  const newest = await database.prepare('SELECT max(seq) AS newest FROM events').first('newest');
  const bar = showProgress(process.stderr);
  try {
    for await (const { found, upTo } of findText(database, text, after)) {
      all.push(...found);
      reached = ` up to event ${upTo}. To continue, add: --after ${upTo}`;
      bar.update('events searched', upTo - after, Number(newest) - after);
    }
    reached = '. The search has reached the newest event.';
  } finally {
    bar[Symbol.dispose]();
    const aggregates = Map.groupBy(all, ({ type, id }) => printable(`${type} ${id}`));
    for (const [name, { length }] of aggregates) console.log(`${name}: ${formatEvents(length)}`);
    const { size } = aggregates;
    console.log(`${size} aggregate${size === 1 ? '' : 's'} found${reached}`);
  }
}

/** Throws a `UserError` if the type or the id of an aggregate without events looks misspelt. */
async function rejectMisspelt(database: D1Database, aggregate: Aggregate): Promise<void> {
  const { aggregates, types } = await findNear(database, aggregate);
  if (aggregates.length > 0) {
    const names = aggregates.map(({ type, id }) => printable(`${type} ${id}`)).join(', ');
    throw new UserError(`${aggregate.type} ${aggregate.id} has no events. There is: ${names}`);
  }
  if (types.length === 0 || types.includes(aggregate.type)) return;
  throw new UserError(
    `no event of the newest has the aggregate type ${aggregate.type}. There is: ${types.join(', ')}`,
  );
}

/** Returns the line to print. */
async function eraseOne(
  database: D1Database,
  { aggregate, lineage, isDryRun, ledger }: Request & { aggregate: Aggregate; lineage: string },
  progress: { state: string },
): Promise<string> {
  const { total, unerased, lastId, now } = await findAggregate(database, aggregate);
  if (lastId === null) {
    await rejectMisspelt(database, aggregate);
    return 'The aggregate has no events: there is nothing to erase.';
  }
  const already = `${total - unerased} of its ${formatEvents(total)} had been erased before`;
  if (isDryRun) return `Dry run: ${formatEvents(unerased)} would be erased; ${already}.`;
  progress.state = 'It is not known whether anything was erased: run the command again.';
  try {
    const record = await makeRecorder(database);
    await eraseAggregates(database, [{ ...aggregate, erasedAt: now }], (events) =>
      events > 0 ? record({ ...OPERATION, counts: { events } }) : [],
    );
  } catch (error) {
    // The response may be lost: count the events that still have their payload.
    if ((await findAggregate(database, aggregate, now)).unerased > 0) {
      progress.state = 'Nothing was changed.';
      throw error;
    }
  }
  const erased = formatEvents(unerased);
  progress.state = `${erased} erased, but the ledger does not say so: run the command again.`;
  appendToLedger(ledger, {
    lineage,
    aggregate: hashAggregate(aggregate),
    last_event_id: lastId,
    erased_at: new Date(now).toISOString(),
  });
  return `Erased ${erased}; ${already}. The ledger is ${ledger}.`;
}

if (import.meta.main) await runCommand(command);
