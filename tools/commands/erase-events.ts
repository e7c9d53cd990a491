/** `npm run erase-events`: finds a guest's events and erases their payloads. */

import { Option } from '@commander-js/extra-typings';
import { type Command, readArguments, runCommand } from '../command-line/command.ts';
import { printable } from '../command-line/printable.ts';
import { showProgress } from '../command-line/progress.ts';
import { declareWithTarget, resolveTarget } from '../command-line/target.ts';
import { describeError, UserError } from '../command-line/user-error.ts';
import { readLineage } from '../database/identity.ts';
import { ensureTables, rejectNewer } from '../database/migrations.ts';
import { withDatabase } from '../database/open.ts';
import { findCommit, recordOperation } from '../database/operations.ts';
import { countRows } from '../database/tables.ts';
import { type Aggregate, eraseAggregates, findAggregate, formatEvents } from '../erasure/erase.ts';
import { findText, type Match } from '../erasure/find.ts';
import {
  appendToLedger,
  applyLedger,
  hashAggregate,
  ledgerOption,
  readLedger,
} from '../erasure/ledger.ts';

const program = declareWithTarget('erase-events')
  .usage(
    '(--aggregate-type <type> --aggregate-id <id> [--dry-run] | --find <text> | --again) [options]',
  )
  .description(`Erase the payloads of an aggregate's events permanently. The service can keep running.
--find lists the aggregates of a guest by a name or an address, even if the text is encoded or spelt differently.

Changes: the payloads, and the ledger, which gets a line. The command can be repeated. --find changes nothing.
Exit codes: 0 the payloads are erased (or would be), 1 they are not, or this is not known, 2 invalid arguments.
Example: npm run erase-events -- --aggregate-type booking --aggregate-id bk_1001 --dry-run`)
  .option('--aggregate-type <type>', 'type of the aggregate whose payloads are erased')
  .option('--aggregate-id <id>', 'id of that aggregate')
  .option('--dry-run', 'count the events that would be erased, and change nothing')
  .addOption(
    new Option(
      '--again',
      'repeat the erasures of the ledger in a database that was rewound or copied',
    ).conflicts(['aggregateType', 'aggregateId', 'dryRun']),
  )
  .addOption(
    new Option(
      '--find <text>',
      'list the aggregates whose events contain a text, such as a name or an e-mail address',
    ).conflicts(['aggregateType', 'aggregateId', 'dryRun', 'again']),
  )
  .addOption(ledgerOption('erase-events'));

const OUTCOME_UNKNOWN = 'It is not known whether anything was erased. Run the command again.';

type Request = ReturnType<typeof parse>;

export const command = { program, parse, run } satisfies Command<Request>;

function parse(args: string[]) {
  const { values } = readArguments(program, args);
  const { aggregateType: type, aggregateId: id, dryRun: isDryRun = false, ledger } = values;
  const text = values.find?.trim();
  if (!values.again && text === undefined && !(type && id)) {
    throw new UserError('--aggregate-type and --aggregate-id are needed, or --find, or --again');
  }
  const aggregate = type && id ? { type, id } : undefined;
  return { target: resolveTarget(values), ledger, isDryRun, aggregate, text };
}

async function run(request: Request, open = withDatabase): Promise<number> {
  const { target, ledger, aggregate, text } = request;
  /** The state of the data, which an error message ends with. */
  const progress = { state: 'Nothing was changed.' };
  try {
    if (text !== undefined) {
      await open(target, async (database) => {
        await ensureTables(database, target);
        await printMatches(database, text);
      });
      return 0;
    }
    findCommit();
    const erasures = aggregate === undefined ? readLedger(ledger) : [];
    await open(target, async (database) => {
      await rejectNewer(database);
      await ensureTables(database, target);
      const lineage = await readLineage(database);
      if (aggregate === undefined) {
        progress.state = OUTCOME_UNKNOWN;
        using bar = showProgress(process.stdout);
        const erased = await applyLedger(database, lineage, erasures, {
          finish: (events) => recordErasure(database, events),
          onProgress: (done, total) => bar.update('events compared', done, total),
        });
        console.log(`Erased again: ${formatEvents(erased)}, as the ledger ${ledger} requires.`);
      } else {
        console.log(await eraseOne(database, { ...request, aggregate, lineage }, progress));
      }
    });
    return 0;
  } catch (error) {
    const action = text === undefined ? 'erasure' : 'search';
    const failed = error instanceof UserError ? '' : `The ${action} failed: `;
    console.error(`${failed}${describeError(error)}\n${progress.state}`);
    return 1;
  }
}

async function printMatches(database: D1Database, text: string): Promise<void> {
  const matches: Match[] = [];
  const { events = 0 } = await countRows(database, ['events']);
  let searchedEvents = 0;
  {
    using bar = showProgress(process.stderr);
    for await (const page of findText(database, text)) {
      matches.push(...page.matches);
      searchedEvents += page.events;
      bar.update('events searched', searchedEvents, events);
    }
  }
  const aggregates = Map.groupBy(matches, ({ type, id }) => printable(`${type} ${id}`));
  for (const [name, events] of aggregates) {
    const isExact = events.some((match) => match.isExact);
    const hint = isExact ? '' : ' (not exact: in another spelling or encoded)';
    console.log(`${name}: ${formatEvents(events.length)}${hint}`);
  }
  console.log(`${aggregates.size} aggregate${aggregates.size === 1 ? '' : 's'} found`);
}

/**
 * Prepares a record of the erasure. It does not name the aggregate, whose id may identify a guest.
 */
function recordErasure(database: D1Database, events: number): D1PreparedStatement[] {
  if (events === 0) return [];
  const id = crypto.randomUUID();
  return [recordOperation(database, { id, command: 'erase-events', counts: { events } })];
}

/** Erases the payloads of one aggregate. Returns the message to print. */
async function eraseOne(
  database: D1Database,
  { aggregate, lineage, isDryRun, ledger }: Request & { aggregate: Aggregate; lineage: string },
  progress: { state: string },
): Promise<string> {
  const { total, unerased, lastId, now } = await findAggregate(database, aggregate);
  if (lastId === null) {
    const { type, id } = aggregate;
    throw new UserError(`${type} ${id} has no events. --find searches for other spellings`);
  }
  const earlier = `${total - unerased} of its ${formatEvents(total)} had been erased before`;
  if (isDryRun) return `Dry run: ${formatEvents(unerased)} would be erased; ${earlier}.`;
  // The ledger comes first, so that a restore cannot bring back an erased payload.
  appendToLedger(ledger, {
    lineage,
    aggregate: hashAggregate(aggregate),
    last_event_id: lastId,
    erased_at: new Date(now).toISOString(),
  });
  progress.state = OUTCOME_UNKNOWN;
  const erased = await eraseAggregates(database, [{ ...aggregate, erasedAt: now }], (events) =>
    recordErasure(database, events),
  );
  return `Erased ${formatEvents(erased)}; ${earlier}. The ledger is ${ledger}.`;
}

if (import.meta.main) await runCommand(command);
