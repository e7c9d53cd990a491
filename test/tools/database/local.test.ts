import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openInMemory, openLocal } from '../../../tools/database/local.ts';

/** Locks the database file of a folder for 300 ms, and says when. */
const LOCK = `
  const { DatabaseSync } = require('node:sqlite');
  const [file] = require('node:fs').globSync(process.argv[1] + '/*.sqlite');
  const database = new DatabaseSync(file);
  database.exec('BEGIN IMMEDIATE');
  console.log('locked');
  setTimeout(() => database.exec('COMMIT'), 300);`;

it('a call waits while another program has locked the file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'local-'));
  const { database, close } = openLocal(folder);
  await database.prepare('CREATE TABLE t (a)').run();
  const child = spawn(process.execPath, ['--eval', LOCK, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  await database.batch([database.prepare('INSERT INTO t VALUES (?)').bind(1)]);
  expect(await database.prepare('SELECT a FROM t').first('a')).toBe(1);
  await close();
  rmSync(folder, { recursive: true });
});

it('a batch is applied as a whole, or not at all', async () => {
  const { database, close } = openInMemory();
  await database.prepare('CREATE TABLE t (a NOT NULL)').run();
  const add = database.prepare('INSERT INTO t VALUES (?)');
  await expect(database.batch([add.bind(1), add.bind(null)])).rejects.toThrow('NOT NULL');
  expect(await database.prepare('SELECT count(*) AS n FROM t').first('n')).toBe(0);
  await database.batch([add.bind(1), add.bind(2)]);
  expect(await database.prepare('SELECT count(*) AS n FROM t').first('n')).toBe(2);
  await close();
});
