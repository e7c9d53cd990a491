/** Loads a backup into a scratch database, which finds every fault of the file. */

import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { messageOf, UserError } from '../command-line/user-error.ts';
import { HEAD } from './dump.ts';
import { databaseOf } from './local.ts';
import { countRows } from './tables.ts';

const counts = z.record(z.string(), z.int());

export type LoadedDump = Awaited<ReturnType<typeof loadDump>>;

/** The caller closes the database. Throws a `UserError` with the path of the file. */
export async function loadDump(file: string, folder: string) {
  const sqlite = new DatabaseSync(join(folder, 'scratch.sqlite'));
  try {
    const ends = await readEnds(file);
    await fill(sqlite, file);
    const scratch = databaseOf(sqlite);
    for (const [table, rows] of Object.entries(ends.counts)) {
      if ((await countRows(scratch, table)) === rows) continue;
      throw new Error(`${table} does not have the rows that the last line counts`);
    }
    return { ...ends, scratch, close: () => sqlite.close() };
  } catch (error) {
    sqlite.close();
    const message = messageOf(error);
    throw new UserError(message.includes(file) ? message : `${file} cannot be loaded: ${message}`);
  }
}

/** Returns the rest of the first line, and the numbers of the last one. */
async function readEnds(file: string) {
  const hash = createHash('sha256');
  let first: string | undefined;
  let last = '';
  for await (const line of (await open(file)).readLines()) {
    if (first === undefined) first = line;
    else hash.update(`${last}\n`);
    last = line;
  }
  if (!first?.startsWith(HEAD)) throw new UserError(`${file} is no backup`);
  const [, counted, sum] = /^-- end (\{.*\}) ([0-9a-f]{64})$/.exec(last) ?? [];
  if (counted === undefined) throw new UserError(`${file} is cut short, or has data after its end`);
  if (sum !== hash.digest('hex')) throw new UserError(`${file} was altered or is damaged`);
  return { title: first.slice(HEAD.length), counts: counts.parse(JSON.parse(counted)) };
}

async function fill(sqlite: DatabaseSync, file: string): Promise<void> {
  sqlite.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
  let statement = '';
  for await (const line of (await open(file)).readLines()) {
    statement += `${line}\n`;
    if (!line.endsWith(';')) continue;
    sqlite.exec(statement);
    statement = '';
  }
  sqlite.exec('COMMIT');
}
