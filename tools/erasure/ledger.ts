/**
 * Reads, extends and applies the ledger of erasures, which has one line of JSON per erasure. After
 * a restore or Time Travel, the erasures are repeated so that no erased payload comes back.
 */

import { hash } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { Option } from '@commander-js/extra-typings';
import * as z from 'zod';
import { PROJECT_DIRECTORY, pathFor } from '../command-line/project.ts';
import { declareWithTarget } from '../command-line/target.ts';
import { readTextFile } from '../command-line/text-file.ts';
import { UserError } from '../command-line/user-error.ts';
import { countRows, readPages } from '../database/tables.ts';
import { type Aggregate, type AggregateErasure, eraseAggregates, type Finish } from './erase.ts';

const LEDGER = 'erasures.jsonl';

/** Starts the declaration of a command that repeats the erasures of a ledger. */
export function declareWithLedger(script: string) {
  return declareWithTarget(script)
    .addOption(ledgerOption(script))
    .option(
      '--no-ledger',
      'work without a ledger. Use it only if nothing was ever erased, or if erased payloads may come back',
    );
}

export function ledgerOption(script: string) {
  return new Option('--ledger <file>', 'the ledger of erasures')
    .default(join(PROJECT_DIRECTORY, LEDGER), LEDGER)
    .argParser(pathFor(script));
}

const erasure = z.strictObject({
  /** Lineage of the database and its copies. */
  lineage: z.string().regex(/^[0-9a-f]{32}$/),
  aggregate: z.string().regex(/^[0-9a-f]{64}$/),
  last_event_id: z.string().min(1),
  erased_at: z.iso.datetime({ precision: 3 }),
});

export type Erasure = z.infer<typeof erasure>;

/** Returns the SHA-256 hash of `["TYPE","ID"]` in lower-case hexadecimal. */
export function hashAggregate({ type, id }: Aggregate): string {
  return hash('sha256', JSON.stringify([type, id]));
}

/** Hint that `readLedger` adds to its message if the command supports `--no-ledger`. */
export const OR_NO_LEDGER = ', or use --no-ledger if nothing was ever erased from this database';

/**
 * Reads a ledger. `false` stands for `--no-ledger` and gives an empty list. Throws a `UserError` if
 * the file is missing or a line is malformed, because erased payloads would otherwise come back
 * unnoticed.
 */
export function readLedger(file: string | false, otherwise = ''): Erasure[] {
  if (file === false) return [];
  if (!existsSync(file)) {
    throw new UserError(`the ledger ${file} does not exist. Name it with --ledger${otherwise}`);
  }
  const lines = readTextFile(file).split('\n');
  return lines.flatMap((line, index) => {
    if (line === '') return [];
    try {
      return erasure.parse(JSON.parse(line));
    } catch {
      throw new UserError(`${file}:${index + 1} is not a line of an erasure ledger`);
    }
  });
}

/**
 * Appends an erasure to the ledger. Throws a `UserError` if the file is not in UTF-8, because the
 * line would damage it.
 */
export function appendToLedger(file: string, entry: Erasure): void {
  const isTruncated = existsSync(file) && !readTextFile(file).endsWith('\n');
  appendFileSync(file, `${isTruncated ? '\n' : ''}${JSON.stringify(entry)}\n`, { flush: true });
}

type ApplyOptions = {
  finish?: Finish;
  onProgress?: (done: number, total: number) => void;
};

/**
 * Repeats the erasures of a lineage. Returns the number of erased events. A single scan finds the
 * aggregates by their hashes. Each transaction then erases up to 500 of them.
 */
export async function applyLedger(
  database: D1Database,
  lineage: string,
  ledger: readonly Erasure[],
  { finish, onProgress = () => {} }: ApplyOptions = {},
): Promise<number> {
  const erasures = ledger.filter((erasure) => erasure.lineage === lineage);
  const remaining = Map.groupBy(erasures, ({ aggregate }) => aggregate);
  const aggregateErasures: AggregateErasure[] = [];
  const { events: total = 0 } = remaining.size > 0 ? await countRows(database, ['events']) : {};
  let comparedEvents = 0;
  const columns = ['rowid', 'aggregate_type', 'aggregate_id'];
  for await (const page of remaining.size > 0 ? readPages(database, 'events', columns) : []) {
    for (const { aggregate_type, aggregate_id } of page) {
      const aggregate = { type: String(aggregate_type), id: String(aggregate_id) };
      const aggregateHash = hashAggregate(aggregate);
      for (const { erased_at } of remaining.get(aggregateHash) ?? []) {
        aggregateErasures.push({ ...aggregate, erasedAt: Date.parse(erased_at) });
      }
      remaining.delete(aggregateHash);
    }
    comparedEvents += page.length;
    onProgress(comparedEvents, total);
    if (remaining.size === 0) break;
  }
  return eraseAggregates(database, aggregateErasures, finish);
}
