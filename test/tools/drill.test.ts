/** Nothing erased comes back: in another database that is restored, and by Time Travel. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { command as afterTimeTravel } from '../../tools/after-time-travel.ts';
import { command as backup } from '../../tools/backup.ts';
import { command as eraseEvents } from '../../tools/erase-events.ts';
import { command as restore } from '../../tools/restore.ts';
import { Database } from '../support/cloudflare/database.ts';
import { runOn } from '../support/node/in-process.ts';

const PERSONAL = '{"note":"personal"}';

let production: Database;
let folder: string;
let ledger: string[];

beforeEach(() => {
  production = new Database('production').migrate();
  folder = mkdtempSync(join(tmpdir(), 'drill-'));
  ledger = ['--ledger', join(folder, 'erasures.jsonl')];
  for (const guest of ['anna', 'bert', 'carl']) send(guest);
});
afterEach(() => rmSync(folder, { recursive: true }));

function send(guest: string): void {
  production.sqlite.exec(
    `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
     VALUES ('${guest}-1', 'booking.created', 'booking', '${guest}', 1000, '${PERSONAL}')`,
  );
}

async function erase(guest: string): Promise<void> {
  const aggregate = ['--aggregate-type', 'booking', '--aggregate-id', guest];
  const erased = await runOn(production.binding, eraseEvents, ...aggregate, ...ledger);
  expect(erased).toMatchObject({ code: 0, stderr: '' });
}

/** The guests whose payloads are there. */
function known(database: Database): unknown[] {
  const guests = `SELECT aggregate_id FROM events WHERE payload = '${PERSONAL}' ORDER BY seq`;
  return database.rows(guests).map(({ aggregate_id }) => aggregate_id);
}

function recorded(database: Database): unknown[] {
  return database.rows('SELECT command, file, counts FROM operations ORDER BY rowid');
}

it('a restored database lacks what was erased since the backup, and --again what was erased later', async () => {
  const file = join(folder, 'backup.sql');
  const staging = new Database('staging');
  expect(await runOn(production.binding, backup, '--out', file)).toMatchObject({ code: 0 });
  await erase('anna');
  const restored = await runOn(staging.binding, restore, file, ...ledger);
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  expect(known(staging)).toEqual(['bert', 'carl']);
  await erase('bert');
  const again = await runOn(staging.binding, eraseEvents, '--again', ...ledger);
  expect(again).toMatchObject({ code: 0, stderr: '' });
  expect(known(staging)).toEqual(['carl']);
  // A run that erases nothing is not recorded.
  await runOn(staging.binding, eraseEvents, '--again', ...ledger);
  expect(recorded(staging)).toEqual([
    {
      command: 'restore',
      file: 'backup.sql',
      counts: expect.stringMatching(/^\{"rows":\d+,"erased":1\}$/),
    },
    { command: 'erase-events', file: null, counts: '{"events":1}' },
  ]);
});

it('after Time Travel, what was erased since is erased again, and a new generation begins', async () => {
  const bookmarked = production.sqlite.serialize();
  await erase('anna');
  send('undone');
  const identity = () => production.rows('SELECT * FROM database_identity')[0];
  const before = identity();
  production.sqlite.deserialize(bookmarked);
  const { stdout } = await runOn(production.binding, afterTimeTravel, ...ledger);
  expect(stdout).toContain('Erased again: 1 event.');
  expect(known(production)).toEqual(['bert', 'carl']);
  expect(identity()?.lineage).toBe(before?.lineage);
  expect(identity()?.generation).not.toBe(before?.generation);
  expect(recorded(production)).toEqual([
    { command: 'after-time-travel', file: null, counts: '{"erased":1}' },
  ]);
});

it('old payloads are emptied by the statement for a full database, and the keys stay', () => {
  const [, statement = ''] =
    /--command "(UPDATE [^"]+)"/.exec(readFileSync('docs/operate/growing.md', 'utf8')) ?? [];
  production.sqlite.exec(
    "UPDATE events SET created_at = 1800000000000 WHERE aggregate_id = 'carl'",
  );
  const keys = () => production.rows('SELECT seq, id, key_id, fingerprint FROM events');
  const before = keys();
  production.sqlite.exec(statement);
  expect(known(production)).toEqual(['carl']);
  expect(keys()).toEqual(before);
});
