/** Loads a backup's file into a scratch database, so that every fault of the file is found before it is used. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { databaseOver } from '../cloudflare/rest-database.ts';
import { UserError } from '../command-line/project.ts';
import { type Counts, END, HEAD, MADE, ROWS } from './dump.ts';

const counts = z.record(z.string(), z.int());

export type LoadedDump = {
  /** The database that was backed up. */
  name: string;
  madeAt: string;
  counts: Counts;
  /** SHA-256 of the file's lines. */
  hash: string;
  scratch: DatabaseSync;
};

/**
 * Loads a backup into a scratch database on disk. Throws a `UserError` when the file is cut short, was altered, or does
 * not hold the rows that its last line counts. The caller closes the scratch database.
 */
export async function loadDump(file: string, scratchFile: string): Promise<LoadedDump> {
  const scratch = new DatabaseSync(scratchFile);
  try {
    return { ...(await fill(scratch, file)), scratch };
  } catch (error) {
    scratch.close();
    if (error instanceof UserError) throw error;
    throw new UserError(`${file} is no backup: ${error instanceof Error ? error.message : error}`);
  }
}

/** The values in the first two lines and in the last line of a file. */
type Ends = Omit<LoadedDump, 'scratch'>;

async function fill(scratch: DatabaseSync, file: string): Promise<Ends> {
  const ends = await readEnds(file);
  let schema: string[] | undefined = [];
  scratch.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN');
  for await (const line of linesOf(file)) {
    if (line === ROWS && schema !== undefined) {
      scratch.exec(schema.join('\n'));
      schema = undefined;
    } else if (schema !== undefined) schema.push(line);
    else scratch.exec(line);
  }
  scratch.exec('COMMIT');
  requireCounts(scratch, ends.counts, file);
  return ends;
}

/** Reads the whole file once, before any of it is used. */
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
  const digest = hash.digest('hex');
  const [, counted, sum] = /^(\{.*\}) ([0-9a-f]{64})$/.exec(end ?? '') ?? [];
  if (counted === undefined) throw new UserError(`${file} is cut short`);
  if (sum !== digest) throw new UserError(`${file} was altered or is damaged`);
  return {
    name: first.slice(HEAD.length),
    madeAt: second.slice(MADE.length),
    counts: counts.parse(JSON.parse(counted)),
    hash: digest,
  };
}

/**
 * Splits a file at line feeds only: node:readline also splits at Unicode's line separators. A transfer may have put a
 * carriage return before each line feed: it is removed.
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

function requireCounts(scratch: DatabaseSync, expected: Counts, file: string): void {
  const tables = scratch
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence'`)
    .all();
  const found = Object.fromEntries(
    tables.map(({ name }) => {
      const row = scratch.prepare(`SELECT count(*) AS n FROM "${name}"`).get();
      return [String(name), Number(row?.n)];
    }),
  );
  const differing = [...new Set([...Object.keys(found), ...Object.keys(expected)])].filter(
    (table) => found[table] !== expected[table],
  );
  if (differing.length === 0) return;
  throw new UserError(
    `${file} does not hold the rows that its last line counts: ${differing.join(', ')}`,
  );
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
