/**
 * An erased payload stays erased, through backups, renamed databases and copies: the ledger goes by lineage, not by
 * name. Backups are written, loaded and restored in this process.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { dump } from '../../../tools/database/dump.ts';
import { loadDump, scratchDatabase } from '../../../tools/database/dump-file.ts';
import { readLineage } from '../../../tools/database/identity.ts';
import { restore } from '../../../tools/database/restore.ts';
import { eraseAggregate, findAggregate } from '../../../tools/erasure/erase.ts';
import { type Erasure, nameOf, playLedger } from '../../../tools/erasure/ledger.ts';
import { Database } from '../../support/cloudflare/database.ts';

const folder = mkdtempSync(join(tmpdir(), 'lineage-'));
const open: DatabaseSync[] = [];
let ledger: Erasure[] = [];
let files = 0;

afterEach(() => {
  for (const database of open.splice(0)) database.close();
  ledger = [];
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A database with an event of each guest. */
function databaseOf(...guests: string[]): DatabaseSync {
  const { sqlite } = migrated();
  for (const guest of guests) send(sqlite, guest);
  return sqlite;
}

function migrated(): Database {
  const database = new Database('of-the-test');
  database.migrate();
  open.push(database.sqlite);
  return database;
}

function send(database: DatabaseSync, guest: string, id = `${guest}-1`, created_at = 1_000): void {
  database
    .prepare(
      `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
       VALUES (?, 'booking.created', 'booking', ?, ?, '{"note":"personal"}')`,
    )
    .run(id, guest, created_at);
}

/** Erases a guest as the command does, at a time after `send`. */
async function erase(sqlite: DatabaseSync, id: string): Promise<void> {
  const database = scratchDatabase(sqlite);
  const aggregate = { type: 'booking', id };
  const { lastId } = await findAggregate(database, aggregate);
  const now = 5_000;
  await eraseAggregate(database, aggregate, { lastId: lastId ?? '', now });
  ledger.push({
    lineage: await readLineage(database),
    aggregate: nameOf(aggregate),
    last_event_id: lastId ?? '',
    erased_at: new Date(now).toISOString(),
  });
}

async function backUp(database: DatabaseSync, name: string): Promise<string> {
  const lines: string[] = [];
  await dump(scratchDatabase(database), name, () => ({ write: (line) => lines.push(line) }));
  files += 1;
  const file = join(folder, `backup-${files}.sql`);
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  return file;
}

/** Restores a backup into a database that was just made. */
async function restored(file: string, target = migrated().sqlite): Promise<DatabaseSync> {
  const loaded = await loadDump(file, join(folder, `scratch-${open.length}-${files}.sqlite`));
  open.push(loaded.scratch);
  await restore(scratchDatabase(target), loaded, { ledger, onBegin: () => undefined });
  return target;
}

/** The guests whose payloads are there. */
function known(database: DatabaseSync): unknown[] {
  return database
    .prepare(`SELECT aggregate_id FROM events WHERE payload <> '{}' ORDER BY seq`)
    .all()
    .map((row) => row.aggregate_id);
}

describe('an erased payload stays erased', () => {
  it('when a backup from before is restored, although the database was moved and renamed since', async () => {
    const first = databaseOf('anna', 'bert', 'carl');
    const weekly = await backUp(first, 'feed');
    await erase(first, 'anna');
    const moved = await restored(await backUp(first, 'feed'));
    await erase(moved, 'bert');
    expect(known(moved)).toEqual(['carl']);
    expect(known(await restored(weekly))).toEqual(['carl']);
  });

  it('in a copy that was made before the erasure, as soon as the ledger is played there', async () => {
    const production = databaseOf('anna', 'bert');
    const staging = await restored(await backUp(production, 'feed'));
    await erase(production, 'anna');
    const copy = scratchDatabase(staging);
    expect(await playLedger(copy, await readLineage(copy), ledger)).toBe(1);
    expect(known(staging)).toEqual(['bert']);
  });

  it('when the restore failed half-way, and the erasure came before it was run again', async () => {
    const first = databaseOf('anna', 'bert');
    const weekly = await backUp(first, 'feed');
    // The first run has copied the events, and left its mark.
    const target = await restored(weekly);
    const [filled] = target.prepare('SELECT restored_from FROM database_identity').all();
    target.exec(
      `CREATE TABLE _restore_under_way (hash text PRIMARY KEY, keeps_migrations integer NOT NULL);
       INSERT INTO _restore_under_way VALUES ('${filled?.restored_from}', 1);
       UPDATE database_identity SET restored_from = NULL`,
    );
    await erase(first, 'anna');
    expect(known(await restored(weekly, target))).toEqual(['bert']);
  });

  it('and no other database with the same guests is touched', async () => {
    const first = databaseOf('anna');
    const other = await restored(await backUp(databaseOf('anna'), 'feed'));
    await erase(first, 'anna');
    const database = scratchDatabase(other);
    expect(await playLedger(database, await readLineage(database), ledger)).toBe(0);
    expect(known(other)).toEqual(['anna']);
  });
});

describe('a restore', () => {
  const identityOf = (database: DatabaseSync) =>
    database.prepare('SELECT * FROM database_identity').all();

  it('begins a new generation, and keeps the lineage', async () => {
    const first = databaseOf('anna');
    const file = await backUp(first, 'feed');
    const [one, two] = [await restored(file), await restored(file)];
    const identities = [first, one, two].flatMap(identityOf);
    expect(identities.length).toBe(3);
    expect(new Set(identities.map(({ lineage }) => lineage)).size).toBe(1);
    expect(new Set(identities.map(({ generation }) => generation)).size).toBe(3);
  });

  it('begins a generation of its own in each database', () => {
    const identities = [databaseOf(), databaseOf()].flatMap(identityOf);
    const texts = identities.flatMap(({ lineage, generation }) => [lineage, generation]);
    expect(new Set(texts).size).toBe(4);
    for (const text of texts) expect(text).toMatch(/^[0-9a-f]{32}$/);
  });

  it('begins none when it is run again after it has succeeded, even if its last answer was lost', async () => {
    const file = await backUp(databaseOf('anna'), 'feed');
    const target = await restored(file);
    const before = identityOf(target);
    send(target, 'later');
    await restored(file, target);
    expect(identityOf(target)).toEqual(before);
    expect(known(target)).toEqual(['anna', 'later']);
  });
});
