/**
 * Tests of restores and Time Travel. No row may be lost, however the commands are interrupted, and
 * no erased payload may come back.
 */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { loadDump } from '../../../tools/backup/dump.ts';
import { requireRestorable, restore as restoreRows } from '../../../tools/backup/restore.ts';
import { openAccount } from '../../../tools/cloudflare/account.ts';
import { command as afterTimeTravel } from '../../../tools/commands/after-time-travel.ts';
import { command as backup } from '../../../tools/commands/backup.ts';
import { command as eraseEvents } from '../../../tools/commands/erase-events.ts';
import { command as importListings } from '../../../tools/commands/import-listings.ts';
import { command as restore } from '../../../tools/commands/restore.ts';
import { createD1Database } from '../../../tools/database/d1.ts';
import { createRestDatabase, type WithDatabase } from '../../../tools/database/open.ts';
import { hashAggregate } from '../../../tools/erasure/ledger.ts';
import { Database, type Statement } from '../../support/cloudflare/database.ts';
import { ACCOUNT_ID, FakeCloudflare } from '../../support/cloudflare/fake-cloudflare.ts';
import { failingDatabase, GONE } from '../../support/node/failing-database.ts';
import { FakeClock } from '../../support/node/fake-clock.ts';
import { runImportOn, runOn, runWith } from '../../support/node/in-process.ts';
import { copyWithStore } from '../../support/node/stores.ts';

const EVENTS = 'SELECT * FROM events ORDER BY seq';
const IDENTITY = 'SELECT lineage, generation FROM database_identity';
const SENDS_EVENTS = /^INSERT OR REPLACE INTO "restoring_[0-9a-f]{16}_events"/;
const STATEMENTS = {
  'the first transaction': /^DROP TABLE/,
  'events are sent': SENDS_EVENTS,
  'the last transaction': /^ALTER TABLE "restoring/,
};

const folder = mkdtempSync(join(tmpdir(), 'backup-and-restore-'));
const path = (name: string) => join(folder, name);
const file = path('backup.sql');
const otherFile = path('other.sql');
const production = new Database('production').migrate();
/** Maximum size of a batch. It makes a restore send production's seven events in three calls. */
const BYTES_PER_BATCH = 350;

const insertEvent = (guest: string) =>
  `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
   VALUES ('of-${guest}', 'booking.created', 'booking', '${guest}', 1000, '{"note":"x"}');`;

beforeAll(async () => {
  const { sqlite, binding } = production;
  sqlite.exec(
    "INSERT INTO import_staging (kind, key, import_id, row) VALUES ('applied', '', 'i', '1')",
  );
  sqlite.exec(`INSERT INTO locations (id, slug, name) VALUES ('l', 'bay', '{}');
    INSERT INTO amenities VALUES ('wifi', '{}');`);
  sqlite.exec(`${insertEvent('anna')} UPDATE events SET seq = 7`);
  for (let n = 0; n < 6; n += 1) sqlite.exec(insertEvent(`guest-${n}`));
  expect(await runOn(binding, backup, '--out', file)).toMatchObject({ code: 0, stderr: '' });
  const other = new Database('other');
  other.sqlite.deserialize(sqlite.serialize());
  other.sqlite.exec("UPDATE events SET received_from = 'changed'");
  expect(await runOn(other.binding, backup, '--out', otherFile)).toMatchObject({ code: 0 });
});

/** The `restore` command with small batches. */
const restoreSlowly = {
  ...restore,
  run: (request: Parameters<typeof restore.run>[0], open?: WithDatabase) =>
    restore.run(request, open, BYTES_PER_BATCH),
};

function restoreInto({ binding }: Database, open = binding) {
  return runOn(open, restoreSlowly, file, '--no-ledger');
}

function getTables(database: Database): string[] {
  const tables =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence'";
  return database.rows(tables).map(({ name }) => String(name));
}

/**
 * Reads the names of the indexes, and the rows of all tables except the identity and the
 * operations.
 */
function readContents(database: Database) {
  const tables = getTables(database).filter((name) => !/identity|operations/.test(name));
  const rows = (table: string) => database.rows(`SELECT rowid AS position, * FROM "${table}"`);
  const indexes = "SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index' ORDER BY name";
  return {
    ...Object.fromEntries(tables.map((name) => [name, rows(name)])),
    indexes: database.rows(indexes),
  };
}

/** Deletes an event that an unfinished restore has already sent. */
function deleteEvents(database: Database) {
  const events = getTables(database).find((name) => name.endsWith('_events'));
  database.sqlite.exec(`DELETE FROM "${events}" WHERE seq = 7`);
}

const isUnfinished = (database: Database) =>
  getTables(database).some((name) => name.startsWith('restoring_'));

it('restores a local backup without the payloads that the ledger erases', async () => {
  const project = await copyWithStore('empty');
  for (const guest of ['anna', 'bert'])
    project.rows(insertEvent(guest).replace('"x"', `"${guest}@x"`));
  const [identity] = project.rows(IDENTITY);
  const events = project.rows(EVENTS);
  const { stdout } = await project.run('backup.ts');
  expect(stdout).toMatch(/^backups\/local-[0-9TZ-]+\.sql: \d+ rows, read back and compared\n$/);
  rmSync(join(project.directory, '.wrangler/state'), { recursive: true });
  project.write('erasures.jsonl', {
    lineage: identity?.lineage,
    aggregate: hashAggregate({ type: 'booking', id: 'anna' }),
    last_event_id: 'of-anna',
    erased_at: '2030-01-01T00:00:00.000Z',
  });
  const restored = await project.run('restore.ts', stdout.split(':')[0] ?? '');
  expect(restored).toMatchObject({ code: 0, stderr: '' });
  expect(restored.stdout).toMatch(/^Restored \d+ rows of local at .*Erased again: 1 event\.\n$/);

  // The erased payload never reached the restored database.
  const state = join(project.databaseFile(), '..');
  const bytes = readdirSync(state).map((name) => readFileSync(join(state, name), 'latin1'));
  expect(bytes.join('')).not.toContain('anna@x');
  expect(bytes.join('')).toContain('bert@x');
  const [restoredIdentity] = project.rows(IDENTITY);
  expect(restoredIdentity?.lineage).toBe(identity?.lineage);
  expect(restoredIdentity?.generation).toMatch(/^[0-9a-f]{32}$/);
  expect(restoredIdentity?.generation).not.toBe(identity?.generation);
  const erased = { payload: '{}', erased_at: Date.parse('2030-01-01T00:00:00.000Z') };
  expect(project.rows(EVENTS)).toEqual([{ ...events[0], ...erased }, ...events.slice(1)]);
  await project.remove();
});

describe('restore that cannot begin', () => {
  it.each([
    ['(in events). Restore into an empty database', insertEvent('live'), '--no-ledger'],
    ['of another application (amenities', 'DROP TABLE database_identity', '--no-ledger'],
    [
      'no.jsonl does not exist. Name it with --ledger, or use --no-ledger if nothing was ever erased from',
      '',
      '--ledger=no.jsonl',
    ],
  ])('changes nothing if it fails with "%s"', async (message, change, ledger) => {
    const target = new Database('target').migrate();
    target.sqlite.exec(change);
    const before = target.sqlite.serialize();
    const { code, stdout, stderr } = await runOn(target.binding, restore, file, ledger);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^Not restored: .*\nNothing was changed\.\n$/);
    expect(stderr).toContain(message);
    expect(target.sqlite.serialize()).toEqual(before);
  });
});

describe('interrupted restore', () => {
  it.each([
    ['before', 'empty', false],
    ['after', 'empty', false],
    ['before', 'migrated further than the backup', true],
  ] as const)(
    'is completed by the next run after any call failed %s taking effect (database: %s)',
    async (behaviour, _, isMigrated) => {
      let unfinished = 0;
      for (let failing = 1, isDone = false; !isDone; failing += 1) {
        const database = isMigrated ? new Database('target').migrate() : new Database('target');
        if (isMigrated)
          database.sqlite.exec('CREATE TABLE later (id text); CREATE INDEX x ON later (id)');
        let calls = 0;
        const broken = failingDatabase(database.binding, () => {
          // No table has a name that a Worker uses.
          const prefixed = getTables(database).filter((name) => name.startsWith('restoring_'));
          if (prefixed.length > 0) expect(prefixed).toEqual(getTables(database));
          calls += 1;
          return calls > failing ? 'before' : calls === failing ? behaviour : undefined;
        });
        const { stderr } = await restoreInto(database, broken);
        if (isUnfinished(database)) {
          unfinished += 1;
          expect(stderr).toContain(GONE);
          expect(stderr).toContain('Run the same command again: it continues where it stopped.');
        }
        const nextRun = await restoreInto(database);
        // No call failed, because the restore needed fewer calls.
        isDone = nextRun.stderr.includes(', unless an earlier restore was completed.');
        expect(nextRun.code).toBe(isDone ? 1 : 0);
        expect(readContents(database)).toEqual(readContents(production));
        expect(database.rows('SELECT command, file, counts FROM operations')).toEqual([
          {
            command: 'restore',
            file: basename(file),
            counts: expect.stringMatching(/^\{"rows":\d+,"erased":0\}$/),
          },
        ]);
        database.sqlite.close();
      }
      expect(unfinished).toBeGreaterThan(5);
    },
  );

  /** Restores until a call fails. Returns the number of calls that sent events. */
  async function countCalls(database: Database, args: readonly string[], lastCall = 99) {
    let sent = 0;
    const binding = failingDatabase(database.binding, (sql) => {
      if (!SENDS_EVENTS.test(sql)) return undefined;
      sent += 1;
      return sent > lastCall ? 'before' : undefined;
    });
    const { code } = await runOn(binding, restoreSlowly, ...args);
    expect(code).toBe(lastCall === 99 ? 0 : 1);
    return sent;
  }

  it.each<[fact: string, args: string[], isChanged: boolean, calls: number]>([
    ['continues with the same file', [file, '--no-ledger'], false, 2],
    ['starts over with a different ledger', [file, '--ledger', path('other.jsonl')], false, 3],
    ['starts over with a different file', [otherFile, '--no-ledger'], false, 3],
    ['starts over if rows are gone', [file, '--no-ledger'], true, 3],
  ])('%s', async (_, args, isChanged, calls) => {
    const [identity] = production.rows(IDENTITY);
    const aggregate = hashAggregate({ type: 'booking', id: 'nobody' });
    const erasure = { aggregate, last_event_id: 'e', erased_at: '2030-01-01T00:00:00.000Z' };
    writeFileSync(path('other.jsonl'), JSON.stringify({ lineage: identity?.lineage, ...erasure }));
    const database = new Database('target');
    expect(await countCalls(database, [file, '--no-ledger'], 1)).toBe(2);
    if (isChanged) deleteEvents(database);
    expect(await countCalls(database, args)).toBe(calls);
    const from = args[0] === otherFile ? 'changed' : null;
    const senders = 'SELECT received_from, count(*) AS events FROM events GROUP BY 1';
    expect(database.rows(senders)).toEqual([{ received_from: from, events: 7 }]);
  });
});

describe('restore while another command runs', () => {
  const CHANGED = 'another command has changed the database in the meantime';

  async function restoreFrom(from: string, { binding }: Database, open = binding) {
    using loaded = await loadDump(from, mkdtempSync(path('scratch-')));
    await requireRestorable(open);
    return await restoreRows(open, loaded.scratch, [], {
      ...loaded,
      bytesPerBatch: BYTES_PER_BATCH,
    });
  }

  /** Calls `act` before the first call with a matching statement. */
  function doBefore(database: Database, pattern: RegExp, act: () => unknown): D1Database {
    let isDone = false;
    return createD1Database(async (queries) => {
      if (!isDone && queries.some(({ sql }) => pattern.test(sql))) {
        isDone = true;
        await act();
      }
      return database.query(queries);
    });
  }

  const restoreThis = (target: Database) => restoreFrom(file, target);
  const restoreAnother = (target: Database) => restoreFrom(otherFile, target);

  it.each<[statement: keyof typeof STATEMENTS, fact: string, act: (target: Database) => unknown]>([
    ['the first transaction', 'an event is stored', (to) => to.sqlite.exec(insertEvent('live'))],
    ['the first transaction', 'a table is made', (to) => to.sqlite.exec('CREATE TABLE a (b)')],
    ['the first transaction', 'a restore of this file is finished', restoreThis],
    ['the first transaction', 'a restore of another file is finished', restoreAnother],
    ['events are sent', 'a restore of this file is finished', restoreThis],
    ['events are sent', 'a restore of another file is finished', restoreAnother],
    ['the last transaction', 'rows disappear', deleteEvents],
  ])('fails if, before %s, %s', async (statement, _, act) => {
    const target = new Database('target').migrate();
    let contentsBefore: unknown;
    const binding = doBefore(target, STATEMENTS[statement], async () => {
      await act(target);
      contentsBefore = readContents(target);
    });
    await expect(restoreFrom(file, target, binding)).rejects.toThrow(CHANGED);
    expect(readContents(target)).toEqual(contentsBefore);
  });

  it('completes only one of two concurrent restores', async () => {
    const target = new Database('target');
    using first = await loadDump(file, mkdtempSync(path('scratch-')));
    using second = await loadDump(file, mkdtempSync(path('scratch-')));
    await requireRestorable(target.binding);
    const restores = [first, second].map((loaded) =>
      restoreRows(target.binding, loaded.scratch, [], {
        ...loaded,
        bytesPerBatch: BYTES_PER_BATCH,
      }),
    );
    const outcomes = await Promise.allSettled(restores);
    const rejected = outcomes.filter(({ status }) => status === 'rejected');
    expect(rejected).toMatchObject([{ reason: { message: CHANGED } }]);
    expect(readContents(target)).toEqual(readContents(production));
  });

  it('makes an import fail that had read the database before the restore', async () => {
    writeFileSync(path('listings.json'), '{"amenities":[{"slug":"pool","label":{"en":"Pool"}}]}');
    const target = new Database('target').migrate();
    const killed = failingDatabase(target.binding, (sql) =>
      SENDS_EVENTS.test(sql) ? 'before' : undefined,
    );
    const importing = doBefore(target, /INSERT INTO import_staging/, () =>
      expect(restoreFrom(otherFile, target, killed)).rejects.toThrow(GONE),
    );
    expect(await runImportOn(importing, importListings, path('listings.json'))).toEqual({
      code: 1,
      stdout: '',
      stderr: `a restore of this database is not finished. Run \`npm run restore\` again.\nNothing was changed.\n`,
    });
    expect(await restoreFrom(otherFile, target)).toBe(0);
  });
});

describe('erased payload', () => {
  const ledger = ['--ledger', path('erasures.jsonl')];

  async function erase(database: Database, guest: string) {
    const aggregate = ['--aggregate-type', 'booking', '--aggregate-id', guest];
    const erased = await runOn(database.binding, eraseEvents, ...aggregate, ...ledger);
    expect(erased).toMatchObject({ code: 0, stderr: '' });
  }

  /** Returns the guests whose payloads have been erased. */
  const findErasedGuests = (database: Database) =>
    database
      .rows("SELECT aggregate_id FROM events WHERE payload = '{}' ORDER BY seq")
      .map(({ aggregate_id }) => aggregate_id);
  const readOperations = (database: Database) =>
    database.rows('SELECT command, counts FROM operations ORDER BY rowid');

  /** Number of events, which have 600 bytes each. A call reads 2 MB, or sends 1 MB of JSON. */
  const count = process.env.FULL ? 1_000_000 : 10_000;

  it('stays erased in a restored copy even if calls fail', {
    timeout: process.env.FULL ? 1_800_000 : 120_000,
  }, async () => {
    const clock = new FakeClock();
    const cloudflare = await new FakeCloudflare().start();
    onTestFinished(() => cloudflare.stop());
    cloudflare.now = clock.now;
    const source = new Database('source').migrate();
    const copy = new Database('copy');
    cloudflare.databases.push(source, copy);
    source.sqlite.exec(
      `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
       SELECT 'event-' || i, 'booking.created', 'booking', 'bk_' || i, i, '{"note":"${'x'.repeat(500)}"}' FROM n`,
    );
    // This row is too large for one bound value, so it is sent column by column.
    const half = 'x'.repeat(1_100_000);
    source.sqlite.exec(`INSERT INTO locations (id, slug, name) VALUES ('l', '${half}', '${half}')`);
    const remotely =
      ({ uuid }: Database): WithDatabase =>
      async (_target, work) =>
        work(createRestDatabase(await openAccount(ACCOUNT_ID, [1, 1, 1, 1], clock), uuid));

    // Another program of the same user also calls the API.
    cloudflare.count(1_200);
    const saved = await runWith(remotely(source), backup, '--out', path('large.sql'));
    expect(saved.stderr).toMatch(/Waiting until \d\d:\d\d:\d\d, then continuing\.\n$/);
    expect(saved.code).toBe(0);
    expect(clock.sleptMs).toBeGreaterThanOrEqual(300_000);
    expect(cloudflare.requests.length).toBeLessThan(count / 3_000 + 40);
    await erase(source, 'bk_1');

    let sent = 0;
    let largest = 0;
    let endsAfter = count / 3_000;
    const lost = new Set(['CREATE INDEX', 'INSERT OR REPLACE INTO database_identity']);
    cloudflare.fault = (_, body) => {
      for (const sql of lost) {
        if (body.includes(sql) && lost.delete(sql)) return { status: 500, isAfter: true };
      }
      if (/INSERT OR REPLACE INTO [^ ]*_events/.test(body)) sent += 1;
      const { params = [] }: Statement = JSON.parse(body || '{}');
      largest = Math.max(largest, ...params.map((param) => param.length));
      return sent > endsAfter ? { status: 400 } : undefined;
    };
    const runRestore = () => runWith(remotely(copy), restore, path('large.sql'), ...ledger);
    expect(await runRestore()).toMatchObject({ code: 1 });
    // The restore continued although the response to the creation of the tables was lost.
    expect(sent).toBeGreaterThan(endsAfter);
    endsAfter = Number.POSITIVE_INFINITY;
    expect(await runRestore()).toMatchObject({ code: 0 });
    expect([...lost]).toEqual([]);
    expect(largest).toBeLessThan(2_000_000);
    expect(sent).toBeLessThan(count / 1_300 + 2);
    const counted = 'SELECT count(*) AS events, (SELECT name FROM locations) AS name FROM events';
    expect(copy.rows(counted)).toEqual([{ events: count, name: half }]);
    expect(findErasedGuests(copy)).toEqual(['bk_1']);

    await erase(source, 'bk_2');
    // The second run erases nothing, so it is not recorded.
    for (const _ of [1, 2]) await runWith(remotely(copy), eraseEvents, '--again', ...ledger);
    expect(findErasedGuests(copy)).toEqual(['bk_1', 'bk_2']);
    expect(readOperations(copy)).toEqual([
      { command: 'restore', counts: expect.stringMatching(/^\{"rows":\d+,"erased":1\}$/) },
      { command: 'erase-events', counts: '{"events":1}' },
    ]);
  });

  it('is erased again by after-time-travel', async () => {
    const database = new Database('before').migrate();
    for (const guest of ['anna', 'bert']) database.sqlite.exec(insertEvent(guest));
    const rewound = new Database('rewound');
    rewound.sqlite.deserialize(database.sqlite.serialize());
    await erase(database, 'anna');
    const { stdout } = await runOn(rewound.binding, afterTimeTravel, ...ledger);
    expect(stdout).toContain('Erased again: 1 event.');
    expect(findErasedGuests(rewound)).toEqual(['anna']);
    const [[before], [after]] = [database.rows(IDENTITY), rewound.rows(IDENTITY)];
    expect(after?.lineage).toBe(before?.lineage);
    expect(after?.generation).not.toBe(before?.generation);
    expect(readOperations(rewound)).toEqual([
      { command: 'after-time-travel', counts: '{"erased":1}' },
    ]);
  });
});
