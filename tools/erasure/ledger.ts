/**
 * The ledger of erasures: a file with one line of JSON for each erasure. The erasures are repeated when an older state
 * of the database is restored. The ledger has nothing personal: it names an aggregate by a SHA-256.
 */

import { createHash } from 'node:crypto';
import { accessSync, appendFileSync, constants, existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { userPath } from '../command-line/npm.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { messageOf, UserError } from '../command-line/user-error.ts';
import { type Aggregate, eraseAggregate } from './erase.ts';

const LINE_FEED = 10;
/** A page has a few megabytes at most, even with the longest ids. */
const EVENTS_PER_PAGE = 1_000;
const LEDGER = 'erasures.jsonl';

export const LEDGER_OPTION = { ledger: { type: 'string' } } as const;
/** The options of a command that plays a ledger. */
export const PLAY_OPTIONS = {
  ...LEDGER_OPTION,
  'no-ledger': { type: 'boolean', default: false },
} as const;

export const PLAY_USAGE = `--ledger FILE  instead of erasures.jsonl
  --no-ledger    when nothing was ever erased, or erased payloads may come back`;

const erasure = z.strictObject({
  /** The lineage of the database, which a restored database keeps under any name. */
  lineage: z.string().regex(/^[0-9a-f]{32}$/),
  /** See `nameOf`. */
  aggregate: z.string().regex(/^[0-9a-f]{64}$/),
  last_event_id: z.string().min(1),
  erased_at: z.iso.datetime({ precision: 3 }),
});

export type Erasure = z.infer<typeof erasure>;

/** Returns the ledger's file for the npm script `script`. Throws a `UserError` for an empty name. */
export function ledgerFile(script: string, option: string | undefined): string {
  if (option === '') throw new UserError('--ledger names no file');
  return option === undefined ? join(PROJECT_DIRECTORY, LEDGER) : userPath(script, option);
}

/** Returns the SHA-256 of `["TYPE","ID"]` in lower-case hexadecimal. */
export function nameOf({ type, id }: Aggregate): string {
  return createHash('sha256')
    .update(JSON.stringify([type, id]))
    .digest('hex');
}

/** Reads a ledger; empty when there is no file. Throws a `UserError` that names a malformed line. */
export function readLedger(file: string): Erasure[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, index) => (line === '' ? [] : parseLine(line, `${file}:${index + 1}`)));
}

/**
 * Returns a function that reads the ledger which the npm script `script` plays; none with `--no-ledger`. It throws a
 * `UserError` if there is no file: erased payloads would come back unnoticed.
 */
export function ledgerReader(
  script: string,
  options: { ledger?: string | undefined; 'no-ledger': boolean },
): () => Erasure[] {
  if (options['no-ledger']) {
    if (options.ledger === undefined) return () => [];
    throw new UserError('--ledger and --no-ledger exclude each other');
  }
  const file = ledgerFile(script, options.ledger);
  return () => {
    if (existsSync(file)) return readLedger(file);
    throw new UserError(
      `there is no ledger ${file}: name it with --ledger FILE, or say --no-ledger when nothing was ever erased`,
    );
  };
}

/**
 * Appends an erasure, and waits for the disk. Appends nothing if the ledger has an erasure of the aggregate since
 * `lastAt`, the time of the aggregate's last event.
 */
export function appendToLedger(file: string, entry: Erasure, lastAt: number): void {
  const { lineage, aggregate } = entry;
  const isKnown = erasuresOf(lineage, readLedger(file)).some(
    (each) => each.aggregate === aggregate && Date.parse(each.erased_at) >= lastAt,
  );
  if (isKnown) return;
  const isWhole = !existsSync(file) || [undefined, LINE_FEED].includes(readFileSync(file).at(-1));
  appendFileSync(file, `${isWhole ? '' : '\n'}${JSON.stringify(entry)}\n`, { flush: true });
}

/** Throws a `UserError` unless the ledger can be read, and appended to or made. */
export function checkLedger(file: string): void {
  try {
    accessSync(existsSync(file) ? file : dirname(file), constants.W_OK);
  } catch (error) {
    throw new UserError(`the ledger ${file} cannot be written: ${messageOf(error)}`);
  }
  readLedger(file);
}

/**
 * Repeats the erasures that the ledger has for a lineage, in a database that holds an older state. Events that came
 * after an erasure stay. Returns the number of erased events. It may be repeated.
 */
export async function playLedger(
  database: D1Database,
  lineage: string,
  ledger: readonly Erasure[],
  eventsPerPage = EVENTS_PER_PAGE,
): Promise<number> {
  const own = erasuresOf(lineage, ledger);
  const aggregates = own.length > 0 ? await findAggregates(database, eventsPerPage) : new Map();
  let erased = 0;
  for (const { aggregate, erased_at } of own) {
    const stored = aggregates.get(aggregate);
    if (stored) erased += await eraseAggregate(database, stored, Date.parse(erased_at));
  }
  return erased;
}

function erasuresOf(lineage: string, ledger: readonly Erasure[]): Erasure[] {
  return ledger.filter((each) => each.lineage === lineage);
}

const eventRow = z.object({ seq: z.int(), type: z.string(), id: z.string() });

/** Finds all aggregates by their names in a ledger, in pages, because D1 bounds a response. */
async function findAggregates(
  database: D1Database,
  eventsPerPage: number,
): Promise<Map<string, Aggregate>> {
  const found = new Map<string, Aggregate>();
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const page = database
      .prepare(
        `SELECT seq, aggregate_type AS type, aggregate_id AS id FROM events
         WHERE seq > ? ORDER BY seq LIMIT ?`,
      )
      .bind(after, eventsPerPage);
    const { results } = await page.all();
    for (const { seq, type, id } of z.array(eventRow).parse(results)) {
      found.set(nameOf({ type, id }), { type, id });
      after = seq;
    }
    if (results.length < eventsPerPage) return found;
  }
}

function parseLine(line: string, place: string): Erasure {
  try {
    return erasure.parse(JSON.parse(line));
  } catch {
    throw new UserError(`${place} is not a line of an erasure ledger`);
  }
}
