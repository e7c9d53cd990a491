/** Loads a backup into a scratch database, which finds every fault of the file. */

import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { messageOf, UserError } from '../command-line/user-error.ts';
import { wrapSqlite } from '../database/local.ts';
import { HEAD } from './dump.ts';

const counts = z.record(z.string(), z.int());

/** Throws a `UserError` with the path of the file. The caller disposes of the loaded backup. */
export async function loadDump(file: string, folder: string) {
  const sqlite = new DatabaseSync(join(folder, 'scratch.sqlite'));
  try {
    const { title, end } = await fill(sqlite, file);
    let rows = 0;
    for (const [table, count] of Object.entries(counts.parse(JSON.parse(end)))) {
      const found = sqlite.prepare(`SELECT count(*) AS n FROM "${table}"`).get();
      if (found?.n !== count) {
        throw new Error(`${table} does not have the rows that the last line counts`);
      }
      rows += count;
    }
    return { title, rows, scratch: wrapSqlite(sqlite), [Symbol.dispose]: () => sqlite.close() };
  } catch (error) {
    sqlite.close();
    const message = messageOf(error);
    throw new UserError(message.includes(file) ? message : `${file} cannot be loaded: ${message}`);
  }
}

/** Carries out the statements. Returns the rest of the first line, and the counts of the last. */
async function fill(sqlite: DatabaseSync, file: string): Promise<{ title: string; end: string }> {
  sqlite.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
  const hash = createHash('sha256');
  let first: string | undefined;
  let last = '';
  let statement = '';
  for await (const line of (await open(file)).readLines()) {
    if (first === undefined) first = line;
    else hash.update(`${last}\n`);
    if (!first.startsWith(HEAD)) throw new UserError(`${file} is no backup`);
    last = line;
    statement += `${line}\n`;
    if (!line.endsWith(';')) continue;
    sqlite.exec(statement);
    statement = '';
  }
  if (first === undefined) throw new UserError(`${file} is no backup`);
  const [, end, sum] = /^-- end (\{.*\}) ([0-9a-f]{64})$/.exec(last) ?? [];
  if (end === undefined) throw new UserError(`${file} is cut short, or has data after its end`);
  if (sum !== hash.digest('hex')) throw new UserError(`${file} was altered or is damaged`);
  sqlite.exec('COMMIT');
  return { title: first.slice(HEAD.length), end };
}
