/**
 * The ledger of erasures: a file beside the database. It lists the erasures that have to be repeated when an older
 * state of the database is restored. One line of JSON per erasure.
 *
 * The ledger holds nothing personal. An aggregate's id may be any text of a sender, so the ledger names an aggregate by
 * the SHA-256 of its kind and id, which can be computed for each aggregate in a database.
 */

import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { userPath } from '../command-line/npm.ts';
import { PROJECT_DIRECTORY, UserError } from '../command-line/project.ts';
import { patiently } from '../database/patiently.ts';
import { type Aggregate, eraseAggregate } from './erase.ts';

const LINE_FEED = 10;
/** A page has a few megabytes at most, even with the longest names that an event may have. */
const EVENTS_PER_PAGE = 1_000;
const LEDGER = 'erasures.jsonl';

/** The option that names another ledger. */
export const LEDGER_OPTION = { ledger: { type: 'string' } } as const;
/** The options of a command that plays a ledger. */
export const PLAY_OPTIONS = {
  ...LEDGER_OPTION,
  'no-ledger': { type: 'boolean', default: false },
} as const;

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

/** Names an aggregate without its id: SHA-256 of `["TYPE","ID"]`, lower-case hexadecimal. */
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
 * Returns a function that reads the ledger which the npm script `script` plays. It returns an empty list with
 * `--no-ledger`, and throws a `UserError` when there is no file: erased payloads would come back unnoticed. Throws a
 * `UserError` for options that exclude each other.
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

/** Appends an erasure, unless the ledger has it, and waits until the disk holds it. */
export function appendToLedger(file: string, entry: Erasure): void {
  const isKnown = readLedger(file).some(
    ({ lineage, aggregate, last_event_id }) =>
      lineage === entry.lineage &&
      aggregate === entry.aggregate &&
      last_event_id === entry.last_event_id,
  );
  if (isKnown) return;
  const isWhole = !existsSync(file) || [undefined, LINE_FEED].includes(readFileSync(file).at(-1));
  const descriptor = openSync(file, 'a');
  try {
    writeSync(descriptor, `${isWhole ? '' : '\n'}${JSON.stringify(entry)}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Throws a `UserError` unless the ledger can be read, and appended to or made. */
export function checkLedger(file: string): void {
  try {
    accessSync(existsSync(file) ? file : dirname(file), constants.W_OK);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new UserError(`the ledger ${file} cannot be written: ${cause}`);
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
  { eventsPerPage = EVENTS_PER_PAGE } = {},
): Promise<number> {
  const own = ledger.filter((each) => each.lineage === lineage);
  if (own.length === 0) return 0;
  const named = new Set(own.map(({ aggregate }) => aggregate));
  const byName = await findAggregates(database, named, eventsPerPage);
  let erased = 0;
  for (const { aggregate, last_event_id, erased_at } of own) {
    const stored = byName.get(aggregate);
    if (stored === undefined) continue;
    const now = Date.parse(erased_at);
    erased += await eraseAggregate(database, stored, { lastId: last_event_id, now });
  }
  return erased;
}

const eventRow = z.object({ seq: z.int(), type: z.string(), id: z.string() });

/**
 * Finds the aggregates that have these names. It reads all events, page by page: D1 could not answer with a long stream
 * at once.
 */
async function findAggregates(
  database: D1Database,
  names: ReadonlySet<string>,
  eventsPerPage: number,
): Promise<Map<string, Aggregate>> {
  const page = database.prepare(
    `SELECT seq, aggregate_type AS type, aggregate_id AS id FROM events
     WHERE seq > ? ORDER BY seq LIMIT ?`,
  );
  const found = new Map<string, Aggregate>();
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const next = page.bind(after, eventsPerPage);
    const { results } = await patiently(() => next.all());
    for (const { seq, type, id } of z.array(eventRow).parse(results)) {
      const name = nameOf({ type, id });
      if (names.has(name)) found.set(name, { type, id });
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
