import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLocal, wrapSqlite } from '../../../tools/database/local.ts';

/**
 * A program that locks the database file in a folder for 300 ms. It prints a line when the file is
 * locked.
 */
const LOCK = `
  const { DatabaseSync } = require('node:sqlite');
  const [file] = require('node:fs').globSync(process.argv[1] + '/*.sqlite');
  const database = new DatabaseSync(file);
  database.exec('BEGIN IMMEDIATE');
  console.log('locked');
  setTimeout(() => database.exec('COMMIT'), 300);`;

describe('batch on the local database', () => {
  it('waits until another program unlocks the file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'local-'));
    using sqlite = openLocal(folder);
    const database = wrapSqlite(sqlite);
    await database.prepare('CREATE TABLE t (a NOT NULL)').run();
    const child = spawn(process.execPath, ['--eval', LOCK, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const add = database.prepare('INSERT INTO t VALUES (?)');
    await database.batch([add.bind(1), add.bind(2)]);
    expect(await database.prepare('SELECT sum(a) AS sum FROM t').first('sum')).toBe(3);
  });

  it('changes nothing if one of its statements fails', async () => {
    using sqlite = openLocal(mkdtempSync(join(tmpdir(), 'local-')));
    const database = wrapSqlite(sqlite);
    await database.prepare('CREATE TABLE t (a NOT NULL)').run();
    const add = database.prepare('INSERT INTO t VALUES (?)');
    await expect(database.batch([add.bind(1), add.bind(null)])).rejects.toThrow('NOT NULL');
    expect(await database.prepare('SELECT count(*) AS rows FROM t').first('rows')).toBe(0);
    await database.batch([add.bind(2)]);
    expect(await database.prepare('SELECT sum(a) AS sum FROM t').first('sum')).toBe(2);
  });
});
