/** A database that is backed up and restored holds the same rows, whatever interrupts the commands. */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { command as afterTimeTravel } from '../../tools/after-time-travel.ts';
import { command as backup } from '../../tools/backup.ts';
import { databaseOver, restDatabase } from '../../tools/cloudflare/rest-database.ts';
import { dump } from '../../tools/database/dump.ts';
import { type LoadedDump, loadDump } from '../../tools/database/dump-file.ts';
import type { WithDatabase } from '../../tools/database/open.ts';
import { requireRestorable, restore as restoreInto } from '../../tools/database/restore.ts';
import { nameOf } from '../../tools/erasure/ledger.ts';
import { command as restore } from '../../tools/restore.ts';
import { Database } from '../support/cloudflare/database.ts';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { runOn, runWith } from '../support/node/in-process.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

const NAME = 'events-and-property-feed';
const DEV_KEY = 'dev_key_4f1c09a7b25e4d8391';
const headers = { 'x-api-key': DEV_KEY, 'Content-Type': 'application/json' };
const EVENTS = 'SELECT * FROM events ORDER BY seq';
const LISTINGS = 'SELECT * FROM properties ORDER BY id';
const IDENTITY = 'SELECT lineage, generation FROM database_identity';

/** The view of the service's readers: every page of the feed and of the events. */
async function seenBy(origin: string) {
  const pages: z.infer<typeof known>['data'][] = [];
  const known = z.looseObject({
    next_cursor: z.string().nullish(),
    data: z.array(z.looseObject({ id: z.string() })),
  });
  for (const path of ['/api/v1/web/properties', '/api/v1/events']) {
    let cursor = '';
    do {
      const response = await fetch(`${origin}${path}?limit=25${cursor}`, { headers });
      const page = known.parse(await response.json());
      pages.push(page.data);
      cursor = page.next_cursor ? `&cursor=${encodeURIComponent(page.next_cursor)}` : '';
    } while (cursor !== '');
  }
  return pages;
}

async function send(origin: string, aggregate_id: string, payload: object): Promise<void> {
  const response = await fetch(`${origin}/api/public/events/ingest`, {
    method: 'POST',
    headers,
    body: JSON.stringify({
      event_type: 'booking.created',
      aggregate_type: 'booking',
      aggregate_id,
      payload,
    }),
  });
  expect(response.status).toBe(202);
}

let source: ProjectCopy;
let target: ProjectCopy;
let seen: Awaited<ReturnType<typeof seenBy>>;
let file: string;

beforeAll(async () => {
  source = await copyWithStore('samples');
  target = new ProjectCopy();
  const service = await source.serve();
  await send(service.origin, 'booking-1', { note: "l'été\nat \u0001\u2028 noon; -- '' --" });
  await send(service.origin, 'booking-2', { guest_email: 'ann@example.com' });
  await send(service.origin, 'booking-3', {});
  seen = await seenBy(service.origin);
  await service.stop();
  const { code, stdout, stderr } = await source.run('backup.ts');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^backups\/local-[0-9TZ-]+\.sql: \d+ rows, read back and compared\n$/);
  file = join(source.directory, stdout.split(':')[0] ?? '');
});
afterAll(() => Promise.all([source.remove(), target.remove()]));

/** Opens no database. */
const none: WithDatabase = () => Promise.reject(new Error('the database was opened'));

describe('backup and restore', () => {
  it('bring an empty working copy into the same state, but for the events that the ledger lists', async () => {
    const [first, second] = source.rows(EVENTS);
    const [original] = source.rows(IDENTITY);
    const line = (aggregate: string, event: unknown, year = 2030, lineage = original?.lineage) =>
      JSON.stringify({
        lineage,
        aggregate: nameOf({ type: 'booking', id: aggregate }),
        last_event_id: event,
        erased_at: `${year}-01-01T00:00:00.000Z`,
      });
    target.write(
      'erasures.jsonl',
      [
        line('booking-2', second?.id),
        // Before the events of booking-3, and of another lineage.
        line('booking-3', first?.id, 2001),
        line('booking-1', first?.id, 2030, '0'.repeat(32)),
      ].join('\n'),
    );
    const restored = await target.run('restore.ts', file);
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).toMatch(/^Restored \d+ rows of local .*Erased again: 1 event\.\n$/);
    // No erased payload reached the restored database at any time.
    const state = join(target.directory, '.wrangler/state/v3/d1/miniflare-D1DatabaseObject');
    const bytes = readdirSync(state).map((name) => readFileSync(join(state, name), 'latin1'));
    expect(bytes.join('')).not.toContain('ann@example.com');

    const [own] = target.rows(IDENTITY);
    expect(own?.lineage).toBe(original?.lineage);
    expect(own?.generation).toMatch(/^[0-9a-f]{32}$/);
    expect(own?.generation).not.toBe(original?.generation);
    expect(target.rows(LISTINGS)).toEqual(source.rows(LISTINGS));
    const service = await target.serve();
    const erased = { payload: {}, erased_at: '2030-01-01T00:00:00.000Z' };
    expect(await seenBy(service.origin)).toEqual(
      seen.map((page) =>
        page.map((item) => (item.id === second?.id ? { ...item, ...erased } : item)),
      ),
    );
    expect(seen.flat().length).toBeGreaterThan(45);
    // A new event follows the restored ones.
    await send(service.origin, 'booking-4', {});
    await service.stop();
    expect(target.rows('SELECT max(seq) AS last, count(*) AS n FROM events')).toEqual([
      { last: 4, n: 4 },
    ]);
  });

  it('reject a database that holds rows, or the tables of another application, and change nothing', async () => {
    const taken = new Database('taken');
    taken.migrate();
    taken.sqlite.exec(`INSERT INTO amenities (slug, label) VALUES ('wifi', '{}')`);
    const { code, stdout, stderr } = await runOn(taken.binding, restore, file, '--no-ledger');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      'Not restored: the database holds rows already (in amenities): it must be empty.\nNothing was changed.\n',
    );
    expect(taken.rows('SELECT slug FROM amenities')).toEqual([{ slug: 'wifi' }]);
    taken.sqlite.close();
    const other = new Database('other');
    other.sqlite.exec('CREATE TABLE orders (id text)');
    const rejected = await runOn(other.binding, restore, file, '--no-ledger');
    expect(rejected.stderr).toContain('the tables of another application (orders)');
    expect(other.rows('SELECT name FROM sqlite_schema')).toEqual([{ name: 'orders' }]);
    other.sqlite.close();
  });

  it('reject a file that is cut short, altered or no backup, and open no database', async () => {
    const text = readFileSync(file, 'utf8');
    const cases: [string, string][] = [
      [text.slice(0, text.length / 2), 'is cut short'],
      [text.slice(0, text.lastIndexOf('-- end')), 'is cut short'],
      [text.replace(`'booking-1'`, `'booking-9'`), 'was altered or is damaged'],
      [`${text}more\n`, 'has data after its end marker'],
      ['', 'is no backup'],
    ];
    for (const [content, message] of cases) {
      const path = source.write('broken.sql', content);
      const { code, stderr } = await runWith(none, restore, path, '--no-ledger');
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
      expect(stderr).toContain('Nothing was changed.');
    }
    const nowhere = join(source.directory, 'nowhere');
    for (const [args, message] of [
      [[nowhere, '--no-ledger'], /there is no file/],
      [
        [file, '--ledger', nowhere],
        /there is no ledger .*: name it with --ledger FILE, or say --no-ledger/,
      ],
    ] as const) {
      const { code, stderr } = await runWith(none, restore, ...args);
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
    }
  });

  it('replace no file, and back up no database without tables', async () => {
    const path = source.write('kept.sql', 'mine');
    const kept = await runWith(none, backup, '--out', path);
    expect([kept.code, kept.stderr]).toEqual([1, expect.stringContaining('exists already')]);
    expect(readFileSync(path, 'utf8')).toBe('mine');
    const { binding } = new Database('empty');
    const out = join(source.directory, 'empty.sql');
    expect(await runOn(binding, backup, '--out', out)).toMatchObject({
      code: 1,
      stderr: 'There is no backup: the database has no tables: run `npm run dev` first.\n',
    });
  });
});

describe('the file of a backup', () => {
  const folder = mkdtempSync(join(tmpdir(), 'backup-file-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Backs up listings' labels. Returns the path. */
  async function backUp(...labels: string[]): Promise<string> {
    const database = new Database('texts');
    database.migrate();
    const insert = database.sqlite.prepare('INSERT INTO amenities (slug, label) VALUES (?, ?)');
    for (const [index, label] of labels.entries()) insert.run(`a${index}`, label);
    const path = join(folder, 'backup.sql');
    await dump(database.binding, 'texts', path);
    database.sqlite.close();
    return path;
  }

  async function labelsIn(path: string): Promise<unknown[]> {
    const { scratch } = await loadDump(path, mkdtempSync(join(folder, 'scratch-')));
    const labels = scratch.prepare('SELECT label FROM amenities ORDER BY rowid').all();
    scratch.close();
    return labels.map(({ label }) => label);
  }

  it('holds every text, one row per line', async () => {
    const texts = [
      'a line separator \u2028, a paragraph separator \u2029 and a next line \u0085',
      'a vertical tab \v, a form feed \f and a lone carriage return \r',
      'a line feed \n, and both \r\n',
      `it's NUL \0 and "quotes"`,
      '\n-- end {}\n-- rows\n',
      'beyond the BMP: café 🏔\ufeff\u00a0',
    ];
    const path = await backUp(...texts);
    const lines = readFileSync(path, 'utf8').split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
    const rows = lines.filter((line) => line.startsWith('INSERT INTO "amenities"'));
    expect(rows).toHaveLength(texts.length);
    expect(await labelsIn(path)).toEqual(texts);
  });

  it('is read in lines longer than a chunk, and with line ends that a transfer changed', async () => {
    const texts = ['é\u2028'.repeat(100_000), 'é'.repeat(100_000)];
    const path = await backUp(...texts);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('\n', '\r\n'));
    expect(await labelsIn(path)).toEqual(texts);
  });
});

describe('a restore that is interrupted', () => {
  const folder = mkdtempSync(join(tmpdir(), 'interrupted-'));
  let backedUp: Database;
  let loaded: LoadedDump;

  beforeAll(async () => {
    backedUp = new Database('source');
    backedUp.migrate();
    backedUp.sqlite.exec(
      `INSERT INTO amenities (slug, label) VALUES ('wifi', '{}');
       INSERT INTO import_staging (kind, key, import_id, row) VALUES ('applied', '', 'i', '1');
       INSERT INTO events (seq, id, type, aggregate_type, aggregate_id, created_at, payload)
       VALUES (7, 'e1', 'booking.created', 'booking', 'anna', 1000, '{"note":"personal"}')`,
    );
    const path = join(folder, 'backup.sql');
    await dump(backedUp.binding, 'source', path);
    loaded = await loadDump(path, folder);
  });
  afterAll(() => {
    loaded.scratch.close();
    rmSync(folder, { recursive: true });
  });

  /** The rows of all tables but the identity, by table. */
  const contents = (database: Database) =>
    Object.fromEntries(
      tablesOf(database)
        .filter((table) => table !== 'database_identity')
        .map((table) => [table, database.rows(`SELECT rowid AS place, * FROM "${table}"`)]),
    );
  const tablesOf = (database: Database) =>
    database
      .rows(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence'`)
      .map(({ name }) => String(name));
  const isUnfinished = (database: Database) =>
    tablesOf(database).includes('database_identity') && database.rows(IDENTITY).length === 0;

  /** The database's interface, whose calls fail from number `first` on: this one before it is carried out, or after. */
  function breakingAt(first: number, database: Database, isAfter: boolean): D1Database {
    let calls = 0;
    return databaseOver(async (schema, body) => {
      calls += 1;
      const isCarriedOut = calls < first || (calls === first && isAfter);
      const response = isCarriedOut
        ? database.query(Buffer.from(JSON.stringify(body))).body
        : undefined;
      if (calls >= first) throw new Error('the connection is gone');
      return schema.parse(z.looseObject({ result: z.unknown() }).parse(response).result);
    });
  }

  it.each([
    ['before it is carried out, without tables', false, false],
    ['after it is carried out, without tables', false, true],
    ['before it is carried out, migrated further than the backup', true, false],
  ])('at any call, %s, starts over when it is run again', async (_, isMigrated, isAfter) => {
    let unfinished = 0;
    let isDone = false;
    for (let call = 1; !isDone; call += 1) {
      const database = new Database('target');
      if (isMigrated) {
        database.migrate();
        database.sqlite.exec('CREATE TABLE later (id text); CREATE INDEX x ON later (id)');
      }
      const broken = breakingAt(call, database, isAfter);
      const outcome = await restoreInto(broken, loaded, []).catch((error: Error) => error.message);
      expect([0, 'the connection is gone']).toContain(outcome);
      if (isUnfinished(database)) {
        unfinished += 1;
        const out = join(folder, 'unfinished.sql');
        for (const rejected of [
          await runOn(database.binding, backup, '--out', out),
          await runOn(database.binding, afterTimeTravel, '--no-ledger'),
        ]) {
          expect([rejected.code, rejected.stderr]).toEqual([
            1,
            expect.stringContaining('a restore of this database is not finished'),
          ]);
        }
      }
      isDone = tablesOf(database).includes('events') && database.rows(EVENTS).length === 1;
      isDone &&= !isUnfinished(database);
      if (!isDone) {
        await requireRestorable(database.binding, 'target');
        await restoreInto(database.binding, loaded, []);
      }
      expect(contents(database)).toEqual(contents(backedUp));
      database.sqlite.close();
    }
    expect(unfinished).toBeGreaterThan(5);
  });
});

describe('backup and restore of a deployed database', () => {
  let cloudflare: CloudflareStandIn;

  beforeAll(async () => {
    cloudflare = await new CloudflareStandIn().start();
    cloudflare.account.createDatabase(NAME).migrate();
    target.environment = cloudflare.environment;
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await cloudflare.stop();
  });

  /** The database of production. Its calls are repeated without pauses. */
  const production = () =>
    restDatabase(cloudflare.openAccount(), cloudflare.account.database(NAME).uuid);

  it('need the right to D1 only, and say what to run after a failure', async () => {
    const forbidden = { request: /\/(workers|storage)\//, status: 403 };
    const body = /INSERT OR REPLACE INTO \\"properties/;
    cloudflare.faults = [forbidden, { request: /\/query$/, body, status: 502, isAfter: true }];
    const failed = await runOn(production(), restore, file, '--no-ledger', '--remote');
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringContaining(
        'The database may hold a part of the backup. Run the same command again: it starts from the beginning.',
      ),
    ]);
    const homes = target.write('homes.json', {});
    const imported = await target.run('import-listings.ts', homes, '--remote');
    expect(imported).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('a restore of this database is not finished'),
    });
    // The last call is carried out, and its response lost once.
    const last = { request: /\/query$/, body: /INTO database_identity/, status: 502, times: 1 };
    cloudflare.faults = [forbidden, { ...last, isAfter: true }];
    expect(await target.run('restore.ts', file, '--no-ledger', '--remote')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Restored \d+ rows/),
    });
    const { account } = cloudflare;
    for (const query of [EVENTS, LISTINGS]) {
      expect(account.database(NAME).rows(query)).toEqual(source.rows(query));
    }
    expect(cloudflare.unknown).toEqual([]);
  });

  it('make no file while Cloudflare does not respond, and say so in a few lines', async () => {
    cloudflare.faults = [{ request: /\/query$/, body: /rowid/, status: 503 }];
    const folder = join(target.directory, 'none');
    const out = join(folder, 'backup.sql');
    const { code, stderr } = await runOn(production(), backup, '--remote', '--out', out);
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      'Cloudflare: its API answered with HTTP 503. The request is repeated.',
      expect.stringMatching(
        /^There is no backup: Cloudflare gave no usable answer to POST .*, 5 times/,
      ),
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['SIGINT', 0],
    ['SIGTERM', 0],
    ['SIGHUP', 0],
    ['SIGKILL', 1],
  ] as const)('leave %s no file behind that the next run does not remove', async (signal, left) => {
    cloudflare.faults = [{ request: /\/query$/, body: /rowid/, status: 503 }];
    const folder = join(target.directory, 'interrupted');
    mkdirSync(folder, { recursive: true });
    const args = ['tools/backup.ts', '--remote', '--out', join(folder, 'backup.sql')];
    const { directory: cwd, environment } = target;
    const program = spawn(process.execPath, args, { cwd, env: { ...process.env, ...environment } });
    // It writes the file until Cloudflare fails.
    await new Promise((resolve) => program.stderr.once('data', resolve));
    expect(readdirSync(folder)).toHaveLength(1);
    const ended = new Promise((resolve) => program.once('exit', (_, by) => resolve(by)));
    program.kill(signal);
    expect(await ended).toBe(signal);
    expect(readdirSync(folder)).toHaveLength(left);
    if (left === 0) return;
    cloudflare.faults = [];
    const { code } = await runOn(production(), backup, '--out', join(folder, 'next.sql'));
    expect([code, readdirSync(folder)]).toEqual([0, ['next.sql']]);
  });
});
