/** The ledger: a line of JSON per erasure, which restored states repeat. */

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

/** Begins the declaration of a command that repeats the erasures of a ledger. */
export function declareWithLedger(script: string) {
  return declareWithTarget(script)
    .addOption(ledgerOption(script))
    .option('--no-ledger', 'when nothing was ever erased, or erased payloads may come back');
}

export function ledgerOption(script: string) {
  return new Option('--ledger <file>', 'the ledger of erasures')
    .default(join(PROJECT_DIRECTORY, LEDGER), LEDGER)
    .argParser(pathFor(script));
}

const erasure = z.strictObject({
  /** The lineage of the database and its copies. */
  lineage: z.string().regex(/^[0-9a-f]{32}$/),
  aggregate: z.string().regex(/^[0-9a-f]{64}$/),
  last_event_id: z.string().min(1),
  erased_at: z.iso.datetime({ precision: 3 }),
});

export type Erasure = z.infer<typeof erasure>;

/** Returns the SHA-256 of `["TYPE","ID"]` in lower-case hexadecimal. */
export function hashAggregate({ type, id }: Aggregate): string {
  return hash('sha256', JSON.stringify([type, id]));
}

/** The end of `readLedger`'s message for a command that has `--no-ledger`. */
export const OR_NONE = ', or say --no-ledger if nothing was ever erased from this database';

/**
 * Throws a `UserError` for a malformed line, and without a file: erased payloads would come back
 * unnoticed. `false` is `--no-ledger`.
 */
export function readLedger(file: string | false, otherwise = ''): Erasure[] {
  if (file === false) return [];
  if (!existsSync(file)) {
    throw new UserError(`there is no ledger ${file}: name it with --ledger${otherwise}`);
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

/** Throws a `UserError` for a file in another encoding, which the new line would damage. */
export function appendToLedger(file: string, entry: Erasure): void {
  const isCut = existsSync(file) && !readTextFile(file).endsWith('\n');
  appendFileSync(file, `${isCut ? '\n' : ''}${JSON.stringify(entry)}\n`, { flush: true });
}

type ApplyOptions = {
  finish?: Finish;
  onProgress?: (done: number, total: number) => void;
};

/**
 * Repeats the erasures of a lineage, and returns the number of erased events. One scan finds the
 * aggregates by their hashes, then one transaction erases 500 of them.
 */
export async function applyLedger(
  database: D1Database,
  lineage: string,
  ledger: readonly Erasure[],
  { finish, onProgress = () => {} }: ApplyOptions = {},
): Promise<number> {
  const erasures = ledger.filter((erasure) => erasure.lineage === lineage);
  const left = Map.groupBy(erasures, ({ aggregate }) => aggregate);
  const found: AggregateErasure[] = [];
  const { events: total = 0 } = left.size > 0 ? await countRows(database, ['events']) : {};
  let done = 0;
  const columns = ['rowid', 'aggregate_type', 'aggregate_id'];
  for await (const page of left.size > 0 ? readPages(database, 'events', columns) : []) {
    for (const { aggregate_type, aggregate_id } of page) {
      const aggregate = { type: String(aggregate_type), id: String(aggregate_id) };
      const name = hashAggregate(aggregate);
      for (const { erased_at } of left.get(name) ?? []) {
        found.push({ ...aggregate, erasedAt: Date.parse(erased_at) });
      }
      left.delete(name);
    }
    done += page.length;
    onProgress(done, total);
    if (left.size === 0) break;
  }
  return eraseAggregates(database, found, finish);
}
