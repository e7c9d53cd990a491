/**
 * A database that is backed up and restored has the same rows, whatever interrupts the commands.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptKeyed, acceptKeyless } from '../../src/events/store.ts';
import { command as afterTimeTravel } from '../../tools/after-time-travel.ts';
import { dump } from '../../tools/backup/dump.ts';
import { requireRestorable, restore as restoreEvents } from '../../tools/backup/restore.ts';
import { command as backup } from '../../tools/backup.ts';
import { databaseOver } from '../../tools/database/d1.ts';
import { readState } from '../../tools/database/identity.ts';
import type { WithDatabase } from '../../tools/database/open.ts';
import { hashAggregate } from '../../tools/erasure/ledger.ts';
import { ensureTables } from '../../tools/import/load-listings.ts';
import { command as restore } from '../../tools/restore.ts';
import { Database } from '../support/cloudflare/database.ts';
import { failingDatabase, GONE } from '../support/node/failing-database.ts';
import { runOn, runWith } from '../support/node/in-process.ts';
import { copyWithStore } from '../support/node/stores.ts';

const EVENTS = 'SELECT * FROM events ORDER BY seq';
const IDENTITY = 'SELECT lineage, generation FROM database_identity';
/** Texts that would end a line or a value of the file. */
const TEXTS = [
  'a line separator \u2028, a paragraph separator \u2029 and a next line \u0085',
  'a vertical tab \v, a form feed \f and a lone carriage return \r',
  'a line feed \n, and both \r\n',
  `it's NUL \0 and "quotes"`,
  '\n-- end {}\n-- rows\n',
  'beyond the BMP: café 🏔\ufeff\u00a0',
  'longer than a chunk: é\u2028'.repeat(4_000),
  'é'.repeat(40_000),
];

const eventOf = (guest: string) =>
  `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
   VALUES ('of-${guest}', 'booking.created', 'booking', '${guest}', 1000, '{"email":"${guest}@x"}');`;

const folder = mkdtempSync(join(tmpdir(), 'backup-'));
const file = join(folder, 'backup.sql');
const original = new Database('migrated').migrate();

beforeAll(async () => {
  const { sqlite, binding } = original;
  const insert = sqlite.prepare('INSERT INTO amenities (slug, label) VALUES (?, ?)');
  for (const [index, label] of TEXTS.entries()) insert.run(`a${index}`, label);
  sqlite.exec(
    `INSERT INTO import_staging (kind, key, import_id, row) VALUES ('applied', '', 'i', '1');
     ${eventOf('anna')} UPDATE events SET seq = 7`,
  );
  expect(await runOn(binding, backup, '--out', file)).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => rmSync(folder, { recursive: true }));

function restoreInto({ binding }: Database, path = file, open = binding) {
  return runOn(open, restore, path, '--no-ledger');
}

/** The rows of all tables but the identity and the operations, by table. */
function contents(database: Database) {
  const tables = database.rows(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('sqlite_sequence', 'database_identity', 'operations')`,
  );
  const rows = (table: unknown) => database.rows(`SELECT rowid AS place, * FROM "${table}"`);
  return Object.fromEntries(tables.map(({ name }) => [name, rows(name)]));
}

it('a working copy is brought back, but for the events that its ledger lists', async () => {
  const project = await copyWithStore('empty');
  for (const guest of ['anna', 'bert']) project.rows(eventOf(guest));
  const [identity] = project.rows(IDENTITY);
  const events = project.rows(EVENTS);
  const { stdout } = await project.run('backup.ts');
  expect(stdout).toMatch(/^backups\/local-[0-9TZ-]+\.sql: \d+ rows, read back and compared\n$/);
  rmSync(join(project.directory, '.wrangler/state'), { recursive: true });
  const erasure = {
    lineage: identity?.lineage,
    aggregate: hashAggregate({ type: 'booking', id: 'anna' }),
    last_event_id: 'of-anna',
    erased_at: '2030-01-01T00:00:00.000Z',
  };
  project.write('erasures.jsonl', erasure);
  const restored = await project.run('restore.ts', stdout.split(':')[0] ?? '');
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  expect(restored.stdout).toMatch(/^Restored \d+ rows of local at .*Erased again: 1 event\.\n$/);

  // No erased payload reached the restored database at any time.
  const state = join(project.databaseFile(), '..');
  const bytes = readdirSync(state).map((name) => readFileSync(join(state, name), 'latin1'));
  expect(bytes.join('')).not.toContain('anna@x');
  expect(bytes.join('')).toContain('bert@x');
  const [own] = project.rows(IDENTITY);
  expect(own?.lineage).toBe(identity?.lineage);
  expect(own?.generation).toMatch(/^[0-9a-f]{32}$/);
  expect(own?.generation).not.toBe(identity?.generation);
  const erased = { payload: '{}', erased_at: Date.parse('2030-01-01T00:00:00.000Z') };
  expect(project.rows(EVENTS)).toEqual([{ ...events[0], ...erased }, ...events.slice(1)]);
  await project.remove();
});

describe('a backup', () => {
  it('has every text, one row per line, and survives line ends that a transfer changed', async () => {
    const text = readFileSync(file, 'utf8');
    const lines = text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
    const rows = lines.filter((line) => line.startsWith('INSERT INTO "amenities"'));
    expect(rows).toHaveLength(TEXTS.length);
    const changed = join(folder, 'changed.sql');
    writeFileSync(changed, text.replaceAll('\n', '\r\n'));
    for (const path of [file, changed]) {
      const database = new Database('restored');
      expect(await restoreInto(database, path)).toMatchObject({ code: 0 });
      expect(contents(database)).toEqual(contents(original));
    }
  });

  it('begins again when an import is applied while it runs', async () => {
    const { sqlite, binding } = new Database('migrated').migrate();
    let isApplied = false;
    const database = failingDatabase(binding, (sql) => {
      // The amenities have been read by then.
      if (isApplied || !sql.includes('FROM "events"')) return undefined;
      isApplied = true;
      sqlite.exec(
        `INSERT INTO amenities VALUES ('wifi', 'late');
         INSERT INTO import_staging (kind, key, import_id, row) VALUES ('applied', '', 'i', '1')`,
      );
      return undefined;
    });
    const path = join(folder, 'again.sql');
    await dump(database, 'again', path);
    expect(readFileSync(path, 'utf8')).toContain(`'late'`);
  });

  it('replaces no file, and is made of no database without tables', async () => {
    const { code, stderr } = await runOn(original.binding, backup, '--out', folder);
    expect([code, stderr]).toEqual([1, expect.stringContaining('exists already')]);
    const out = join(folder, 'empty.sql');
    expect(await runOn(new Database('empty').binding, backup, '--out', out)).toMatchObject({
      code: 1,
      stderr: 'There is no backup: the database has no tables: run `npm run dev` first.\n',
    });
  });
});

describe('a restore rejects', () => {
  it.each([
    ['has changed since it was restored', `DELETE FROM amenities; ${eventOf('later')}`, 'events'],
    ['is of another application', 'CREATE TABLE orders (id text)', 'application (orders)'],
  ])('a database that %s', async (_, change, message) => {
    const taken = new Database('taken');
    if (message === 'events') await restoreInto(taken);
    taken.sqlite.exec(change);
    const before = taken.sqlite.serialize();
    const { code, stdout, stderr } = await restoreInto(taken);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^Not restored: .*\nNothing was changed\.\n$/);
    expect(stderr).toContain(message);
    expect(taken.sqlite.serialize()).toEqual(before);
  });

  it('a file that is cut short, altered or no backup, and opens no database', async () => {
    const none: WithDatabase = () => Promise.reject(new Error('the database was opened'));
    const text = readFileSync(file, 'utf8');
    const path = join(folder, 'broken.sql');
    const nowhere = join(folder, 'nowhere');
    const cases: [content: string, message: string, ...args: string[]][] = [
      [text.slice(0, text.length / 2), `${path} is cut short`],
      [text.slice(0, text.lastIndexOf('-- end')), `${path} is cut short`],
      [text.replace(`'of-anna'`, `'of-bert'`), `${path} was altered or is damaged`],
      [text.replace(/"events":\d+/, '"events":9'), 'events does not have the rows that the last'],
      [`${text}more\n`, 'has data after its end'],
      ['', `${path} is no backup`],
      ['', `there is no ledger ${nowhere}: name it with`, file, '--ledger', nowhere],
    ];
    for (const [content, message, ...args] of cases) {
      writeFileSync(path, content);
      const given = args.length > 0 ? args : [path, '--no-ledger'];
      const { code, stderr } = await runWith(none, restore, ...given);
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
      expect(stderr).toMatch(/^Not restored: .*\nNothing was changed\.\n$/);
    }
  });
});

describe('a restore that is interrupted', () => {
  /** Expects that no command takes the database for a whole one. */
  async function expectRejected(database: D1Database) {
    const message = 'a restore of this database is not finished';
    for (const { code, stderr } of [
      await runOn(database, backup, '--out', join(folder, 'unfinished.sql')),
      await runOn(database, afterTimeTravel, '--no-ledger'),
    ]) {
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
    const target = { kind: 'remote', environment: undefined } as const;
    await expect(ensureTables(database, target, false)).rejects.toThrow(message);
  }

  it.each([
    ['before it is carried out, without tables', false, 'before'],
    ['after it is carried out, without tables', false, 'after'],
    ['before it is carried out, migrated further than the backup', true, 'before'],
  ] as const)('at any call, %s, is finished by the next run', async (_, isMigrated, fate) => {
    let unfinished = 0;
    for (let failing = 1, isDone = false; !isDone; failing += 1) {
      const database = isMigrated ? new Database('migrated').migrate() : new Database('target');
      if (isMigrated) {
        database.sqlite.exec('CREATE TABLE later (id text); CREATE INDEX x ON later (id)');
      }
      let calls = 0;
      const broken = failingDatabase(database.binding, () => {
        calls += 1;
        return calls > failing ? 'before' : calls === failing ? fate : undefined;
      });
      const { stderr } = await restoreInto(database, file, broken);
      if ((await readState(database.binding)) === 'unfinished') {
        unfinished += 1;
        expect(stderr).toContain(GONE);
        expect(stderr).toContain('Run the same command again: it continues where it stopped.');
        if (unfinished === 1) await expectRejected(database.binding);
      }
      const again = await restoreInto(database);
      // The one before had succeeded.
      isDone = again.stderr.includes('the database has rows already');
      expect(again.code).toBe(isDone ? 1 : 0);
      if (isDone) expect(again.stderr).toContain('If an earlier run ended without a word, it has');
      expect(contents(database)).toEqual(contents(original));
      // The restored table has those of the backup, and this one.
      const operations = 'SELECT command, file, counts FROM operations';
      const counts = expect.stringMatching(/^\{"rows":\d+,"erased":0\}$/);
      expect(database.rows(operations)).toEqual([
        { command: 'restore', file: 'backup.sql', counts },
      ]);
      database.sqlite.close();
    }
    expect(unfinished).toBeGreaterThan(3);
  });

  describe('after many rows', () => {
    const large = join(folder, 'large.sql');
    const other = join(folder, 'other.sql');
    const source = new Database('large').migrate();

    beforeAll(async () => {
      for (let n = 0; n < 12; n += 1) {
        source.sqlite.exec(
          `${eventOf(`guest-${n}`)} UPDATE events SET payload = '{"text":"${'x'.repeat(400_000)}"}'`,
        );
      }
      for (const out of [large, other]) {
        expect(await runOn(source.binding, backup, '--out', out)).toMatchObject({ code: 0 });
        source.sqlite.exec("UPDATE events SET received_from = 'changed'");
      }
    });

    /** Runs a restore, and returns the calls that send events. Ends it after some of them. */
    async function send(database: Database, path: string, ledger: string[], end = 99) {
      let sent = 0;
      const binding = failingDatabase(database.binding, (sql) => {
        if (!/^INSERT OR REPLACE INTO "restoring_[0-9a-f]{16}_events"/.test(sql)) return undefined;
        sent += 1;
        return sent > end ? 'before' : undefined;
      });
      const { code } = await runOn(binding, restore, path, ...ledger);
      expect(code).toBe(end === 99 ? 0 : 1);
      return end === 99 ? sent : sent - 1;
    }

    it.each([
      ['continues with the same file', () => [large, '--no-ledger'], 4],
      ['starts over with another file', () => [other, '--no-ledger'], 6],
      ['starts over with another ledger', () => [large, '--ledger', join(folder, 'own.jsonl')], 6],
    ])('%s', async (_, args, calls) => {
      const [identity] = source.rows(IDENTITY);
      const aggregate = hashAggregate({ type: 'booking', id: 'nobody' });
      const erasure = { aggregate, last_event_id: 'e', erased_at: '2030-01-01T00:00:00.000Z' };
      const line = { lineage: identity?.lineage, ...erasure };
      writeFileSync(join(folder, 'own.jsonl'), JSON.stringify(line));
      const database = new Database('target');
      expect(await send(database, large, ['--no-ledger'], 2)).toBe(2);
      const [path = '', ...ledger] = args();
      expect(await send(database, path, ledger)).toBe(calls);
      const from = path === other ? 'changed' : null;
      const sender = `SELECT count(*) AS events, received_from FROM events GROUP BY received_from`;
      expect(database.rows(sender)).toEqual([{ events: 12, received_from: from }]);
    });

    it('starts over if the rows of the earlier run are not those of the file', async () => {
      const database = new Database('target');
      await send(database, large, ['--no-ledger'], 2);
      const [table] = database.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'restoring_%_events'",
      );
      database.sqlite.exec(`DELETE FROM "${table?.name}" WHERE seq = 1`);
      expect(await send(database, large, ['--no-ledger'])).toBe(6);
      expect(database.rows('SELECT count(*) AS events FROM events')).toEqual([{ events: 12 }]);
    });

    it('fails if a row is missing in the end, and the next run sends it', async () => {
      const database = new Database('target');
      const binding = failingDatabase(database.binding, (sql) => {
        const [, table] = /DELETE FROM "(restoring_\w+_)database_identity"/.exec(sql) ?? [];
        if (table) database.sqlite.exec(`DELETE FROM "${table}events" WHERE seq = 1`);
        return undefined;
      });
      const { code, stderr } = await restoreInto(database, large, binding);
      expect([code, stderr]).toEqual([1, expect.stringContaining('not have the rows of the b')]);
      expect(await readState(database.binding)).toBe('unfinished');
      expect(await restoreInto(database, large)).toMatchObject({ code: 0 });
      expect(database.rows(EVENTS)).toHaveLength(12);
    });
  });
});

describe('a restore while a Worker accepts events', () => {
  const request = (keyId: string) => ({
    keyId,
    fingerprint: `body of ${keyId}`,
    reusedKeyEventId: `${keyId} again`,
    event_type: 'booking.created' as const,
    aggregate_type: 'booking',
    aggregate_id: 'live',
    payload: {},
  });
  const context = {
    receipt: 'receipt',
    receivedFrom: null,
    mayReadEvents: true,
    now: Date.now(),
    heldSince: 0,
  };

  it('loses none of them, puts them behind those of the backup, and repeats none', async () => {
    const target = new Database('target').migrate();
    let accepted = 0;
    /** Before and after each call of the restore, the Worker accepts an event. */
    const accept = async () => {
      accepted += 1;
      const [decision] = await acceptKeyed(target.binding, [request(`live-${accepted}`)], context);
      expect(decision?.kind).toBe('accepted');
      // The backup has this event.
      await acceptKeyless(target.binding, 'of-anna', request('of-anna'), context);
    };
    const during = databaseOver(async (queries) => {
      await accept();
      const rows = target.query(queries);
      await accept();
      return rows;
    });
    // The events are not there when the restore begins.
    await requireRestorable(target.binding, original.binding);
    expect(await restoreEvents(during, original.binding, [])).toBe(0);
    expect(accepted).toBeGreaterThan(20);

    const live = Array.from({ length: accepted }, (_, n) => `live-${n + 1}`);
    const [restored, ...arrived] = target.rows(EVENTS);
    expect(restored).toEqual(original.rows(EVENTS)[0]);
    expect(arrived.map(({ id }) => id)).toEqual(live);
    expect(arrived.map(({ seq }) => seq)).toEqual(live.map((_, n) => 8 + n));
    const schema = "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY name";
    expect(target.rows(schema)).toEqual(original.rows(schema));
  });
});
