/** The file of a backup, written and read in this process. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dump } from '../../../tools/database/dump.ts';
import { type LoadedDump, loadDump, scratchDatabase } from '../../../tools/database/dump-file.ts';
import { restore } from '../../../tools/database/restore.ts';
import { Database } from '../../support/cloudflare/database.ts';

const folder = mkdtempSync(join(tmpdir(), 'backup-file-'));
const open: DatabaseSync[] = [];

afterEach(() => {
  for (const database of open.splice(0)) database.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

function migrated(): DatabaseSync {
  const database = new Database('of-the-test');
  database.migrate();
  open.push(database.sqlite);
  return database.sqlite;
}

/** Writes a backup. Returns its path. */
async function backUp(database: DatabaseSync): Promise<string> {
  const lines: string[] = [];
  await dump(scratchDatabase(database), 'source', () => ({ write: (line) => lines.push(line) }));
  const file = join(folder, 'backup.sql');
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  return file;
}

let loaded = 0;
async function load(file: string): Promise<LoadedDump> {
  loaded += 1;
  const dumped = await loadDump(file, join(folder, `scratch-${loaded}.sqlite`));
  open.push(dumped.scratch);
  return dumped;
}

describe('the file of a backup', () => {
  const TEXTS = {
    'a line separator': 'one\u2028two',
    'a paragraph separator': 'one\u2029two\u2029',
    'a next line': 'one\u0085two',
    'a vertical tab and a form feed': 'one\vtwo\fthree',
    'a lone carriage return': 'one\rtwo\r',
    'a line feed, and both': 'one\ntwo\r\n',
    'NUL and quotation marks': `it's \0 "two"`,
    'what looks like the end': '\n-- end {}\n-- rows\n',
    'text beyond the BMP': 'café 🏔\ufeff\u00a0',
  };

  it.each(Object.entries(TEXTS))('holds %s, one row per line', async (_, text) => {
    const source = new DatabaseSync(':memory:');
    open.push(source);
    source.exec('CREATE TABLE texts (seq integer PRIMARY KEY, text text)');
    for (const each of [text, 'usual']) {
      source.prepare('INSERT INTO texts (text) VALUES (?)').run(each);
    }
    const file = await backUp(source);
    const rows = readFileSync(file, 'utf8').split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
    expect(rows.filter((line) => line.startsWith('INSERT'))).toHaveLength(2);
    const { scratch, counts } = await load(file);
    expect(counts).toEqual({ texts: 2 });
    const texts = scratch.prepare('SELECT text FROM texts ORDER BY seq').all();
    expect(texts.map((row) => row.text)).toEqual([text, 'usual']);
  });

  it('is read in lines that are longer than a chunk, and with line ends that a transfer changed', async () => {
    const source = new DatabaseSync(':memory:');
    open.push(source);
    source.exec('CREATE TABLE texts (seq integer PRIMARY KEY, text text)');
    source.prepare('INSERT INTO texts (text) VALUES (?)').run('é\u2028'.repeat(100_000));
    source.prepare('INSERT INTO texts (text) VALUES (?)').run('é'.repeat(100_000));
    const file = await backUp(source);
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('\n', '\r\n'));
    const { scratch } = await load(file);
    expect(scratch.prepare('SELECT text FROM texts ORDER BY seq').all()).toEqual(
      source.prepare('SELECT text FROM texts ORDER BY seq').all(),
    );
  });
});

describe('a restore that failed in the middle of a migrated database', () => {
  let file: string;
  let source: DatabaseSync;
  let target: DatabaseSync;

  const MIGRATIONS = 'SELECT name FROM d1_migrations ORDER BY id';
  const EVENTS = 'SELECT * FROM events ORDER BY seq';
  const rows = (database: DatabaseSync, query: string) => database.prepare(query).all();

  beforeEach(() => {
    source = migrated();
    target = migrated();
    source.exec(
      `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
       VALUES ('e1', 'booking.created', 'booking', 'anna', 1000, '{}')`,
    );
  });

  /** Restores, with a fault at the first row of a table. */
  async function failAt(table: string): Promise<void> {
    const database = new Proxy(scratchDatabase(target), {
      get: (own, name) => {
        if (name !== 'prepare') return Reflect.get(own, name).bind(own);
        return (sql: string) => {
          if (sql.includes(`INTO "${table}" (`)) throw new Error('the connection is gone');
          return own.prepare(sql);
        };
      },
    });
    const options = { ledger: [], onBegin: () => undefined };
    await expect(restore(database, await load(file), options)).rejects.toThrow('is gone');
  }

  async function goOn(): Promise<void> {
    const options = { ledger: [], onBegin: () => undefined };
    await restore(scratchDatabase(target), await load(file), options);
    expect(rows(target, EVENTS)).toEqual(rows(source, EVENTS));
    expect(rows(target, `SELECT name FROM sqlite_schema WHERE name LIKE '\\_restore%'`)).toEqual(
      [],
    );
  }

  it.each([
    ['further than', () => target],
    ['less far than', () => source],
  ])(
    'goes on in one that was migrated %s the backup, and keeps its own record',
    async (_, later) => {
      later().exec(
        `CREATE INDEX later ON events (type); INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')`,
      );
      const own = rows(target, MIGRATIONS);
      file = await backUp(source);
      await failAt('events');
      await goOn();
      expect(rows(target, MIGRATIONS)).toEqual(own);
    },
  );

  it('gives one without tables the record of the backup', async () => {
    target = new DatabaseSync(':memory:');
    open.push(target);
    file = await backUp(source);
    await failAt('events');
    await goOn();
    expect(rows(target, MIGRATIONS)).toEqual(rows(source, MIGRATIONS));
  });
});
