/** Loads a backup's file into a scratch database, so that every fault of the file is found before it is used. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { databaseOver } from '../cloudflare/rest-database.ts';
import { messageOf, UserError } from '../command-line/user-error.ts';
import { END, HEAD, MADE, ROWS } from './dump.ts';
import { type Counts, findDiffering } from './schema.ts';

const counts = z.record(z.string(), z.int());

/** The first two lines of a backup, and its last line. */
type Ends = {
  name: string;
  madeAt: string;
  counts: Counts;
};

export type LoadedDump = Ends & { scratch: DatabaseSync };

/**
 * Loads a backup into a scratch database, which the caller closes. Throws a `UserError` if the file is cut short, was
 * altered, or does not have the rows that its last line counts.
 */
export async function loadDump(file: string, folder: string): Promise<LoadedDump> {
  const ends = await readEnds(file);
  const scratch = new DatabaseSync(join(folder, 'scratch.sqlite'));
  try {
    await fill(scratch, file);
    const differing = await findDiffering(scratchDatabase(scratch), ends.counts);
    if (differing.length === 0) return { ...ends, scratch };
    throw new Error(`it does not hold the rows that its last line counts: ${differing.join(', ')}`);
  } catch (error) {
    scratch.close();
    throw new UserError(`${file} cannot be loaded: ${messageOf(error)}`);
  }
}

async function readEnds(file: string): Promise<Ends> {
  const hash = createHash('sha256');
  const head: string[] = [];
  let end: string | undefined;
  for await (const line of linesOf(file)) {
    if (end !== undefined) throw new UserError(`${file} has data after its end marker`);
    if (line.startsWith(END)) {
      end = line.slice(END.length);
      continue;
    }
    hash.update(`${line}\n`);
    if (head.length < 2) head.push(line);
  }
  const [first = '', second = ''] = head;
  if (!first.startsWith(HEAD)) throw new UserError(`${file} is no backup`);
  const [, counted, sum] = /^(\{.*\}) ([0-9a-f]{64})$/.exec(end ?? '') ?? [];
  if (counted === undefined) throw new UserError(`${file} is cut short`);
  if (sum !== hash.digest('hex')) throw new UserError(`${file} was altered or is damaged`);
  return {
    name: first.slice(HEAD.length),
    madeAt: second.slice(MADE.length),
    counts: counts.parse(JSON.parse(counted)),
  };
}

async function fill(scratch: DatabaseSync, file: string): Promise<void> {
  let schema: string[] | undefined = [];
  scratch.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
  for await (const line of linesOf(file)) {
    if (schema === undefined) scratch.exec(line);
    else if (line !== ROWS) schema.push(line);
    else {
      scratch.exec(schema.join('\n'));
      schema = undefined;
    }
  }
  scratch.exec('COMMIT');
}

/**
 * Splits a file at line feeds only: node:readline also splits at Unicode's line separators. Removes carriage returns
 * that a transfer has added.
 */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line.replace(/\r$/, '');
  }
  if (rest !== '') yield rest;
}

/** Returns the interface of D1 for a SQLite database of this process. Its batches are not transactions. */
export function scratchDatabase(sqlite: DatabaseSync): D1Database {
  return databaseOver(async (schema, body) => {
    const queries = 'batch' in body ? body.batch : [body];
    return schema.parse(
      queries.map(({ sql, params }) => ({ results: sqlite.prepare(sql).all(...params) })),
    );
  });
}
