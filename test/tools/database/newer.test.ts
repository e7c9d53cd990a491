/** A working copy that is older than the database changes nothing. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { command as afterTimeTravel } from '../../../tools/after-time-travel.ts';
import { command as backup } from '../../../tools/backup.ts';
import { command as eraseEvents } from '../../../tools/erase-events.ts';
import { command as exportListings } from '../../../tools/export-listings.ts';
import { command as importListings } from '../../../tools/import-listings.ts';
import { command as restore } from '../../../tools/restore.ts';
import { command as setStatus } from '../../../tools/set-status.ts';
import { Database } from '../../support/cloudflare/database.ts';
import { runOn } from '../../support/node/in-process.ts';

const NEWER =
  /this database is newer than your working copy \(9999_later\.sql\): git pull && npm ci/;

const folder = mkdtempSync(join(tmpdir(), 'newer-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string) => join(folder, name);

let database: Database;
beforeEach(() => {
  database = new Database('newer').migrate();
  database.sqlite.exec("INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')");
});

/** The content of every table. */
const contentOf = ({ sqlite }: Database) =>
  sqlite
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => [name, sqlite.prepare(`SELECT * FROM "${name}"`).all()]);

it('import-listings, set-status, erase-events and after-time-travel reject a newer database', async () => {
  writeFileSync(file('listings.json'), '{"amenities":[{"slug":"pool","label":"Pool"}]}');
  writeFileSync(file('erasures.jsonl'), '');
  const before = contentOf(database);
  const ledger = ['--ledger', file('erasures.jsonl')];
  const outcomes = [
    await runOn(database.binding, importListings, file('listings.json'), '--no-undo'),
    await runOn(database.binding, setStatus, 'hidden', 'casa-marea', '--no-undo'),
    await runOn(
      database.binding,
      eraseEvents,
      ...['--aggregate-type', 'booking', '--aggregate-id', 'b', ...ledger],
    ),
    await runOn(database.binding, afterTimeTravel, ...ledger),
  ];
  for (const { code, stderr } of outcomes) {
    expect(code).toBe(1);
    expect(stderr).toMatch(NEWER);
  }
  expect(contentOf(database)).toEqual(before);
});

it('restore rejects the backup of a newer database, which backup and export read', async () => {
  expect(await runOn(database.binding, exportListings)).toMatchObject({ code: 0 });
  const backed = await runOn(database.binding, backup, '--out', file('backup.sql'));
  expect(backed).toMatchObject({ code: 0 });
  const empty = new Database('empty');
  const { code, stderr } = await runOn(empty.binding, restore, file('backup.sql'), '--no-ledger');
  expect(code).toBe(1);
  expect(stderr).toMatch(NEWER);
  expect(contentOf(empty)).toEqual([]);
});
