/**
 * A database that is backed up and restored has the same rows, whatever interrupts the commands.
 */

import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { command as afterTimeTravel } from '../../tools/after-time-travel.ts';
import { command as backup } from '../../tools/backup.ts';
import { databaseOver, restDatabase } from '../../tools/cloudflare/rest-database.ts';
import { dump } from '../../tools/database/dump.ts';
import { isUnfinished } from '../../tools/database/identity.ts';
import { type LoadedDump, loadDump } from '../../tools/database/load-dump.ts';
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
const EVENTS = 'SELECT * FROM events ORDER BY seq';
const LISTINGS = 'SELECT * FROM properties ORDER BY id';
const IDENTITY = 'SELECT lineage, generation FROM database_identity';

let source: ProjectCopy;
let target: ProjectCopy;
let file: string;

const eventOf = (aggregate: string, payload: string) =>
  `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
   VALUES ('of-${aggregate}', 'booking.created', 'booking', '${aggregate}', 1000, '${payload}');`;

beforeAll(async () => {
  source = await copyWithStore('samples');
  target = new ProjectCopy();
  source.execute(eventOf('booking-1', `{"note":"l''été \u2028 noon; -- '' --"}`));
  source.execute(eventOf('booking-2', '{"guest_email":"ann@example.com"}'));
  source.execute(eventOf('booking-3', '{}'));
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
    const [original] = source.rows(IDENTITY);
    const line = (aggregate: string, year = 2030, lineage = original?.lineage) =>
      JSON.stringify({
        lineage,
        aggregate: nameOf({ type: 'booking', id: aggregate }),
        last_event_id: 'of-nobody',
        erased_at: `${year}-01-01T00:00:00.000Z`,
      });
    // The second is before the event, and the third of another lineage.
    const lines = [line('booking-2'), line('booking-3', 1969)];
    lines.push(line('booking-1', 2030, '0'.repeat(32)));
    target.write('erasures.jsonl', lines.join('\n'));
    const restored = await target.run('restore.ts', file);
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).toMatch(/^Restored \d+ rows of local at .*Erased again: 1 event\.\n$/);
    // No erased payload reached the restored database at any time.
    const state = join(target.directory, '.wrangler/state/v3/d1/miniflare-D1DatabaseObject');
    const bytes = readdirSync(state).map((name) => readFileSync(join(state, name), 'latin1'));
    expect(bytes.join('')).not.toContain('ann@example.com');

    const [own] = target.rows(IDENTITY);
    expect(own?.lineage).toBe(original?.lineage);
    expect(own?.generation).toMatch(/^[0-9a-f]{32}$/);
    expect(own?.generation).not.toBe(original?.generation);
    expect(target.rows(LISTINGS)).toEqual(source.rows(LISTINGS));
    expect(target.rows(LISTINGS).length).toBeGreaterThan(45);
    const erased = { payload: '{}', erased_at: Date.parse('2030-01-01T00:00:00.000Z') };
    expect(target.rows(EVENTS)).toEqual(
      source.rows(EVENTS).map((row) => (row.id === 'of-booking-2' ? { ...row, ...erased } : row)),
    );
  });

  it('reject a database that was restored and has changed since, or is of another application', async () => {
    const taken = new Database('taken');
    expect(await runOn(taken.binding, restore, file, '--no-ledger')).toMatchObject({ code: 0 });
    taken.sqlite.exec(`DELETE FROM amenities; ${eventOf('later', '{}')}`);
    const before = taken.rows(EVENTS);
    const { code, stdout, stderr } = await runOn(taken.binding, restore, file, '--no-ledger');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      'Not restored: the database has rows already (in events): it must be empty.\nNothing was changed.\n',
    );
    expect([taken.rows(EVENTS), before.length]).toEqual([before, 4]);
    const other = new Database('other');
    other.sqlite.exec('CREATE TABLE orders (id text)');
    const rejected = await runOn(other.binding, restore, file, '--no-ledger');
    expect(rejected.stderr).toContain('the tables of another application (orders)');
    expect(other.rows('SELECT name FROM sqlite_schema')).toEqual([{ name: 'orders' }]);
  });

  it('reject a file that is cut short, altered or no backup, and open no database', async () => {
    const text = readFileSync(file, 'utf8');
    const cases: [string, string][] = [
      [text.slice(0, text.length / 2), 'is cut short'],
      [text.slice(0, text.lastIndexOf('-- end')), 'is cut short'],
      [text.replace(`'booking-1'`, `'booking-9'`), 'was altered or is damaged'],
      [
        text.replace(/"events":\d+/, '"events":9'),
        'events does not have the rows that the last line counts',
      ],
      [`${text}more\n`, 'has data after its end'],
      ['', 'is no backup'],
    ];
    for (const [content, message] of cases) {
      const path = source.write('broken.sql', content);
      const { code, stderr } = await runWith(none, restore, path, '--no-ledger');
      expect([code, stderr]).toEqual([1, expect.stringContaining(`Not restored: ${path} `)]);
      expect(stderr).toMatch(new RegExp(`${message}.*\nNothing was changed\\.`));
    }
    const nowhere = join(source.directory, 'nowhere');
    for (const [args, message] of [
      [[nowhere], `cannot access ${nowhere}: no such file or directory`],
      [
        [source.directory, '--no-ledger'],
        `${source.directory} cannot be loaded: cannot read: illegal operation on a`,
      ],
      [[file, '--ledger', nowhere], `there is no ledger ${nowhere}: name it with --ledger FILE`],
    ] as const) {
      const { code, stderr } = await runWith(none, restore, ...args);
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
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

  function migrated(): Database {
    const database = new Database('texts');
    database.migrate();
    return database;
  }

  /** Backs up amenities with these labels. Returns the path. */
  async function backUp(labels: string[], path = join(folder, 'backup.sql')): Promise<string> {
    const database = migrated();
    const insert = database.sqlite.prepare('INSERT INTO amenities (slug, label) VALUES (?, ?)');
    for (const [index, label] of labels.entries()) insert.run(`a${index}`, label);
    await dump(database.binding, 'texts', path);
    return path;
  }

  async function labelsIn(path: string): Promise<unknown[]> {
    const { scratch, close } = await loadDump(path, mkdtempSync(join(folder, 'scratch-')));
    const { results } = await scratch.prepare('SELECT label FROM amenities ORDER BY rowid').all();
    close();
    return results.map(({ label }) => label);
  }

  it('has every text, one row per line', async () => {
    const texts = [
      'a line separator \u2028, a paragraph separator \u2029 and a next line \u0085',
      'a vertical tab \v, a form feed \f and a lone carriage return \r',
      'a line feed \n, and both \r\n',
      `it's NUL \0 and "quotes"`,
      '\n-- end {}\n-- rows\n',
      'beyond the BMP: café 🏔\ufeff\u00a0',
    ];
    const path = await backUp(texts);
    const lines = readFileSync(path, 'utf8').split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
    const rows = lines.filter((line) => line.startsWith('INSERT INTO "amenities"'));
    expect(rows).toHaveLength(texts.length);
    expect(await labelsIn(path)).toEqual(texts);
  });

  it('is read in lines longer than a chunk, and with line ends that a transfer changed', async () => {
    const texts = ['é\u2028'.repeat(100_000), 'é'.repeat(100_000)];
    const path = await backUp(texts);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('\n', '\r\n'));
    expect(await labelsIn(path)).toEqual(texts);
  });

  it('begins again when an import is applied while it runs', async () => {
    const { sqlite, binding } = migrated();
    const prepare = binding.prepare.bind(binding);
    let isApplied = false;
    binding.prepare = (sql) => {
      // The amenities have been read by then.
      if (!isApplied && sql.includes('FROM "events"')) {
        isApplied = true;
        sqlite.exec(
          `INSERT INTO amenities VALUES ('wifi', 'late');
           INSERT INTO import_staging (kind, key, import_id, row) VALUES ('applied', '', 'i', '1')`,
        );
      }
      return prepare(sql);
    };
    const path = join(folder, 'backup.sql');
    await dump(binding, 'texts', path);
    expect(await labelsIn(path)).toEqual(['late']);
  });

  it.runIf(existsSync('/dev/full'))(
    'is not written on a full disk, which is reported',
    async () => {
      await expect(backUp([], '/dev/full')).rejects.toThrow(
        '/dev/full: cannot write: no space left on device',
      );
    },
  );
});

describe('a restore that is interrupted', () => {
  const folder = mkdtempSync(join(tmpdir(), 'interrupted-'));
  const backedUp = new Database('source');
  let loaded: LoadedDump;

  beforeAll(async () => {
    backedUp.migrate();
    backedUp.sqlite.exec(
      `INSERT INTO amenities (slug, label) VALUES ('wifi', '{}');
       INSERT INTO import_staging (kind, key, import_id, row) VALUES ('applied', '', 'i', '1');
       ${eventOf('anna', '{"note":"personal"}')} UPDATE events SET seq = 7`,
    );
    const path = join(folder, 'backup.sql');
    await dump(backedUp.binding, 'source', path);
    loaded = await loadDump(path, folder);
  });
  afterAll(() => {
    loaded.close();
    rmSync(folder, { recursive: true });
  });

  /** The rows of all tables but the identity, by table. */
  function contents(database: Database) {
    const tables = database.rows(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('sqlite_sequence', 'database_identity')`,
    );
    const rows = (table: unknown) => database.rows(`SELECT rowid AS place, * FROM "${table}"`);
    return Object.fromEntries(tables.map(({ name }) => [name, rows(name)]));
  }

  /**
   * The database's interface, whose calls fail from number `first` on: this one before it is
   * carried out, or after.
   */
  function breakingAt(first: number, { binding }: Database, isAfter: boolean): D1Database {
    let calls = 0;
    return databaseOver(async (body) => {
      calls += 1;
      const gone = new Error('the connection is gone');
      if (calls > first || (calls === first && !isAfter)) throw gone;
      const queries = 'batch' in body ? body.batch : [body];
      const statements = queries.map(({ sql, params }) => binding.prepare(sql).bind(...params));
      const results = await binding.batch<Record<string, unknown>>(statements);
      if (calls === first) throw gone;
      return results;
    });
  }

  it.each([
    ['before it is carried out, without tables', false, false],
    ['after it is carried out, without tables', false, true],
    ['before it is carried out, migrated further than the backup', true, false],
  ])('at any call, %s, starts over when it is run again', async (_, isMigrated, isAfter) => {
    let unfinished = 0;
    for (let call = 1, isDone = false; !isDone; call += 1) {
      const database = new Database('target');
      if (isMigrated) {
        database.migrate();
        database.sqlite.exec('CREATE TABLE later (id text); CREATE INDEX x ON later (id)');
      }
      const broken = breakingAt(call, database, isAfter);
      const outcome = await restoreInto(broken, loaded.scratch, []).catch(
        (error: Error) => error.message,
      );
      expect([0, 'the connection is gone']).toContain(outcome);
      if (await isUnfinished(database.binding)) {
        unfinished += 1;
        const out = join(folder, 'unfinished.sql');
        for (const rejected of [
          await runOn(database.binding, backup, '--out', out),
          await runOn(database.binding, afterTimeTravel, '--no-ledger'),
        ]) {
          expect(rejected.code).toBe(1);
          expect(rejected.stderr).toContain('a restore of this database is not finished');
        }
      }
      isDone = await requireRestorable(database.binding, 'target').then(
        () => false,
        () => true,
      );
      if (!isDone) await restoreInto(database.binding, loaded.scratch, []);
      expect(contents(database)).toEqual(contents(backedUp));
      database.sqlite.close();
    }
    expect(unfinished).toBeGreaterThan(3);
  });
});

describe('backup and restore of a deployed database', () => {
  let cloudflare: CloudflareStandIn;

  beforeAll(async () => {
    cloudflare = await new CloudflareStandIn().start();
    for (const name of [NAME, `${NAME}-staging`]) cloudflare.account.createDatabase(name).migrate();
    target.environment = cloudflare.environment;
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await cloudflare.stop();
  });

  /** The database of production. Its calls are repeated without pauses. */
  const production = () =>
    restDatabase(cloudflare.openAccount(), cloudflare.account.database(NAME).uuid);

  it('need the right to D1 only, and name the next command after a failure', async () => {
    const forbidden = { request: /\/(workers|storage)\//, status: 403 };
    const body = /INSERT OR REPLACE INTO \\"properties/;
    cloudflare.faults = [forbidden, { request: /\/query$/, body, status: 502, isAfter: true }];
    const failed = await runOn(production(), restore, file, '--no-ledger', '--remote');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain(
      'The database may hold a part of the backup. Run the same command again: it starts from the beginning.',
    );
    const homes = target.write('homes.json', {});
    const imported = await target.run('import-listings.ts', homes, '--remote');
    expect(imported.stderr).toContain('a restore of this database is not finished');
    // The last call is carried out, and its response lost once.
    const last = { request: /\/query$/, body: /INTO database_identity/, status: 502, times: 1 };
    cloudflare.faults = [forbidden, { ...last, isAfter: true }];
    expect(await target.run('restore.ts', file, '--no-ledger', '--remote')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Restored \d+ rows/),
    });
    const restored = cloudflare.account.database(NAME);
    for (const query of [EVENTS, LISTINGS])
      expect(restored.rows(query)).toEqual(source.rows(query));
    expect(cloudflare.unknown).toEqual([]);
  });

  it.each([
    ['backup', 'SIGINT', 0],
    ['backup', 'SIGTERM', 0],
    ['backup', 'SIGHUP', 0],
    ['backup', 'SIGKILL', 1],
    ['restore', 'SIGINT', 0],
    ['restore', 'SIGKILL', 1],
  ] as const)(
    '%s leaves %s no file behind that the next run does not remove',
    async (name, signal, left) => {
      cloudflare.faults = [{ request: /\/query$/, body: /rowid/, status: 503 }];
      const folder = join(target.directory, 'interrupted');
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      const words =
        name === 'backup' ? ['--out', join(folder, 'backup.sql')] : [file, '--no-ledger'];
      const args = [`tools/${name}.ts`, ...words, '--remote', '--env', 'staging'];
      const { directory: cwd, environment } = target;
      const env = { ...process.env, ...environment, TMPDIR: folder };
      const program = spawn(process.execPath, args, { cwd, env });
      // It writes until Cloudflare fails.
      await new Promise((resolve) => program.stderr.once('data', resolve));
      expect(readdirSync(folder)).toHaveLength(1);
      const ended = new Promise((resolve) => program.once('exit', (_, by) => resolve(by)));
      program.kill(signal);
      expect(await ended).toBe(signal);
      expect(readdirSync(folder)).toHaveLength(left);
      cloudflare.faults = [];
      const { code } = await runOn(production(), backup, '--out', join(folder, 'next.sql'));
      expect([code, readdirSync(folder)]).toEqual([0, ['next.sql']]);
    },
  );
});
