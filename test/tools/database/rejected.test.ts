/** Which commands reject a database that is newer than the working copy, or whose restore is not finished. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { command as afterTimeTravel } from '../../../tools/after-time-travel.ts';
import { command as backup } from '../../../tools/backup.ts';
import { command as eraseEvents } from '../../../tools/erase-events.ts';
import { command as exportListings } from '../../../tools/export-listings.ts';
import { command as importListings } from '../../../tools/import-listings.ts';
import { command as operations } from '../../../tools/operations.ts';
import { command as restore } from '../../../tools/restore.ts';
import { command as setStatus } from '../../../tools/set-status.ts';
import { Database } from '../../support/cloudflare/database.ts';
import { runOn } from '../../support/node/in-process.ts';
import type { Finished } from '../../support/node/project-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

const LATER = "INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')";
const NEWER = 'this database is newer than your working copy (9999_later.sql): git pull && npm ci';
const RESTORING = 'CREATE TABLE restoring_5f0c31d2a4b97e60_events (seq integer)';
const UNFINISHED = 'a restore of this database is not finished: run `npm run restore` again';

const AGGREGATE = ['--aggregate-type', 'booking', '--aggregate-id', 'b'];

const folder = mkdtempSync(join(tmpdir(), 'rejected-'));
const file = (name: string) => join(folder, name);
const ledger = ['--ledger', file('erasures.jsonl')];

type Rejected = { database: Database; message: string };

const newer: Rejected = { database: new Database('newer').migrate(), message: NEWER };
newer.database.sqlite.exec(LATER);
const unfinished: Rejected = { database: new Database('unfinished'), message: UNFINISHED };
unfinished.database.sqlite.exec(RESTORING);

beforeAll(() => {
  writeFileSync(file('listings.json'), '{"amenities":[{"slug":"pool","label":{"en":"Pool"}}]}');
  writeFileSync(file('erasures.jsonl'), '');
});
afterAll(() => rmSync(folder, { recursive: true }));

it.each<[name: string, run: (database: D1Database) => Promise<Finished>, ...Rejected[]]>([
  [
    'import-listings',
    (database) => runOn(database, importListings, file('listings.json'), '--no-undo'),
    ...[newer, unfinished],
  ],
  [
    'set-status',
    (database) => runOn(database, setStatus, 'hidden', 'casa-marea', '--no-undo'),
    ...[newer, unfinished],
  ],
  [
    'erase-events',
    (database) => runOn(database, eraseEvents, ...AGGREGATE, ...ledger),
    ...[newer, unfinished],
  ],
  [
    'after-time-travel',
    (database) => runOn(database, afterTimeTravel, ...ledger),
    ...[newer, unfinished],
  ],
  ['backup', (database) => runOn(database, backup, '--out', file('none.sql')), unfinished],
  ['export-listings', (database) => runOn(database, exportListings), unfinished],
  ['operations', (database) => runOn(database, operations), unfinished],
])('%s', async (_, run, ...states) => {
  for (const { database, message } of states) {
    const before = database.sqlite.serialize();
    const { code, stderr } = await run(database.binding);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(database.sqlite.serialize()).toEqual(before);
  }
});

it('dev', async () => {
  const project = await copyWithStore('empty');
  for (const [change, message] of [
    [LATER, NEWER],
    [RESTORING, UNFINISHED],
  ] as const) {
    project.rows(change);
    const { code, stderr } = await project.run('dev.ts');
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  }
  await project.remove();
});

it('restore rejects the backup of a newer database, which backup and export read', async () => {
  expect(await runOn(newer.database.binding, exportListings)).toMatchObject({ code: 0 });
  const saved = await runOn(newer.database.binding, backup, '--out', file('backup.sql'));
  expect(saved).toMatchObject({ code: 0 });
  const empty = new Database('empty');
  const { code, stderr } = await runOn(empty.binding, restore, file('backup.sql'), ...ledger);
  expect([code, stderr]).toEqual([1, expect.stringContaining(NEWER)]);
  expect(empty.rows('SELECT * FROM sqlite_schema')).toEqual([]);
});
