/**
 * Tests which commands reject a database because it is newer or older than the working copy, or
 * because a restore is unfinished.
 */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { command as afterTimeTravel } from '../../../tools/commands/after-time-travel.ts';
import { command as backup } from '../../../tools/commands/backup.ts';
import { command as eraseEvents } from '../../../tools/commands/erase-events.ts';
import { command as exportListings } from '../../../tools/commands/export-listings.ts';
import { command as importListings } from '../../../tools/commands/import-listings.ts';
import { command as operations } from '../../../tools/commands/operations.ts';
import { command as restore } from '../../../tools/commands/restore.ts';
import { command as setStatus } from '../../../tools/commands/set-status.ts';
import { Database } from '../../support/cloudflare/database.ts';
import { runImportOn, runOn } from '../../support/node/in-process.ts';
import type { Finished } from '../../support/node/project-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

const LATER = "INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')";
const RESTORING = 'CREATE TABLE restoring_5f0c31d2a4b97e60_events (seq integer)';
const NEWER =
  'this database is newer than your working copy (9999_later.sql). Run `git pull && npm ci`.';
const UNFINISHED = 'a restore of this database is not finished. Run `npm run restore` again.';
const OLDER =
  'the remote database does not have all migrations. Run `npm run deploy -- --env staging` first.';

type Rejected = { database: Database; message: string };
const newer: Rejected = { database: new Database('newer').migrate(), message: NEWER };
newer.database.sqlite.exec(LATER);
const unfinished: Rejected = { database: new Database('unfinished'), message: UNFINISHED };
unfinished.database.sqlite.exec(RESTORING);
const older: Rejected = { database: new Database('older').migrate(), message: OLDER };
older.database.sqlite.exec('DELETE FROM d1_migrations WHERE id = 3; DROP TABLE operations');

const folder = mkdtempSync(join(tmpdir(), 'rejected-'));
const file = (name: string) => join(folder, name);
const ledger = ['--ledger', file('erasures.jsonl')];
const AGGREGATE = ['--aggregate-type', 'booking', '--aggregate-id', 'b'];

beforeAll(() => {
  writeFileSync(file('listings.json'), '{"amenities":[{"slug":"pool","label":{"en":"Pool"}}]}');
  writeFileSync(file('erasures.jsonl'), '');
});

type Run = (database: D1Database, ...args: string[]) => Promise<Finished>;

describe('database that is newer, older or only partly restored', () => {
  it.each<[name: string, run: Run, ...Rejected[]]>([
    [
      'import-listings',
      (database, ...args) => runImportOn(database, importListings, file('listings.json'), ...args),
      ...[newer, unfinished, older],
    ],
    [
      'set-status',
      (database, ...args) => runImportOn(database, setStatus, 'hidden', 'casa-marea', ...args),
      ...[newer, unfinished, older],
    ],
    [
      'erase-events',
      (database, ...args) => runOn(database, eraseEvents, ...AGGREGATE, ...ledger, ...args),
      ...[newer, unfinished, older],
    ],
    [
      'after-time-travel',
      (database, ...args) => runOn(database, afterTimeTravel, ...ledger, ...args),
      ...[newer, unfinished, older],
    ],
    [
      'export-listings',
      (database, ...args) => runOn(database, exportListings, ...args),
      ...[unfinished, older],
    ],
    [
      'operations',
      (database, ...args) => runOn(database, operations, ...args),
      ...[unfinished, older],
    ],
    [
      'backup',
      (database, ...args) => runOn(database, backup, '--out', file('none.sql'), ...args),
      unfinished,
    ],
  ])('is rejected by %s and stays unchanged', async (_, run, ...states) => {
    for (const { database, message } of states) {
      const before = database.sqlite.serialize();
      const { code, stderr } = await run(database.binding, '--remote', '--env', 'staging');
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
      expect(database.sqlite.serialize()).toEqual(before);
    }
  });

  it('is rejected by dev', async () => {
    const project = await copyWithStore('empty');
    for (const [change, message] of [
      [RESTORING, UNFINISHED],
      [LATER, NEWER],
    ] as const) {
      project.rows(change);
      const { code, stderr } = await project.run('dev.ts');
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
    await project.remove();
  });

  it('can be backed up but not restored if it is newer', async () => {
    expect(await runOn(newer.database.binding, exportListings)).toMatchObject({ code: 0 });
    const saved = await runOn(newer.database.binding, backup, '--out', file('backup.sql'));
    expect(saved).toMatchObject({ code: 0 });
    const empty = new Database('empty');
    const { code, stderr } = await runOn(empty.binding, restore, file('backup.sql'), ...ledger);
    expect([code, stderr]).toEqual([1, expect.stringContaining(NEWER)]);
    expect(empty.rows('SELECT * FROM sqlite_schema')).toEqual([]);
  });
});
