/**
 * The story of an erasure: while the service is running, when Cloudflare fails, and again in an
 * older state of the database. test/events/erasure.test.ts has the service's responses afterwards,
 * drill.test.ts the restores.
 */

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { restDatabase } from '../../tools/cloudflare/rest-database.ts';
import { command } from '../../tools/erase-events.ts';
import { type Erasure, nameOf, playLedger } from '../../tools/erasure/ledger.ts';
import { Database } from '../support/cloudflare/database.ts';
import { CloudflareStandIn, type Fault } from '../support/cloudflare/stand-in.ts';
import { runOn } from '../support/node/in-process.ts';
import type { Finished, ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

const NAME = 'events-and-property-feed';
const STAGING = `${NAME}-staging`;
const KEY = 'erase-events-test-key';
const OF_ANNA = ['--aggregate-type', 'booking', '--aggregate-id', 'anna'];
/** A line of a ledger. */
const ERASED: Erasure = {
  lineage: '5'.repeat(32),
  aggregate: nameOf({ type: 'booking', id: 'anna' }),
  last_event_id: 'not-restored',
  erased_at: '1970-01-01T00:00:05.000Z',
};

let project: ProjectCopy;
let ledgerFile: string;

beforeAll(async () => {
  project = await copyWithStore('samples');
  ledgerFile = join(project.directory, 'erasures.jsonl');
});
afterEach(() => rmSync(ledgerFile, { force: true }));
afterAll(() => project.remove());

function ledger(): Erasure[] {
  if (!existsSync(ledgerFile)) return [];
  const lines = readFileSync(ledgerFile, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

/** Adds an event, accepted at a time in milliseconds. */
function send({ sqlite }: Database, id: string, aggregate: string, at = 1_000): void {
  sqlite
    .prepare(
      `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
       VALUES (?, 'booking.created', 'booking', ?, ?, '{"note":"personal"}')`,
    )
    .run(id, aggregate, at);
}

function erasedIn(store: Database): unknown[] {
  const rows = store.rows(
    `SELECT id FROM events WHERE payload = '{}' AND erased_at IS NOT NULL ORDER BY seq`,
  );
  return rows.map(({ id }) => id);
}

it('an erasure fails no request of the running service, and the text is in no row, log and ledger', async () => {
  project.write(
    '.dev.vars',
    `API_KEY=${KEY}\nRATE_LIMIT_DEFAULT=100000\nRATE_LIMIT_INGEST=100000\n`,
  );
  const service = await project.serve();
  const headers = { 'x-api-key': KEY, 'Content-Type': 'application/json' };
  const post = (aggregate_id: string, note: string) =>
    fetch(`${service.origin}/api/public/events/ingest`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        event_type: 'booking.created',
        aggregate_type: 'booking',
        aggregate_id,
        payload: { note },
      }),
    });
  await post('anna', 'allergic to erasers');
  await post('bert', 'bert stays');
  const dryRun = await runOn(service.database, command, ...OF_ANNA, '--dry-run');
  expect(dryRun.stdout).toBe(
    'Dry run: 1 event would be erased; 0 of its 1 event had been erased before.\n',
  );
  const [stored] = project.rows('SELECT id, payload FROM events');
  expect([stored?.payload, ledger()]).toEqual(['{"note":"allergic to erasers"}', []]);

  let isRunning = true;
  const erasing = project.run('erase-events.ts', ...OF_ANNA).finally(() => {
    isRunning = false;
  });
  const statuses = new Set<number>();
  while (isRunning) {
    statuses.add((await post('guest', 'meanwhile')).status);
    statuses.add((await fetch(`${service.origin}/api/v1/events`, { headers })).status);
  }
  const { code, stdout, stderr } = await erasing;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Erased 1 event; 0 of its 1 event had been erased before\. The ledger/);
  expect([...statuses].sort()).toEqual([200, 202]);

  const rows = JSON.stringify(project.rows('SELECT * FROM events'));
  expect(rows).toContain('bert stays');
  const line = readFileSync(ledgerFile, 'utf8');
  for (const text of [rows, service.log(), line, stdout]) expect(text).not.toContain('allergic');
  expect(line).not.toContain('anna');
  expect(ledger()).toEqual([
    {
      lineage: project.rows('SELECT lineage FROM database_identity')[0]?.lineage,
      aggregate: nameOf({ type: 'booking', id: 'anna' }),
      last_event_id: stored?.id,
      erased_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
    },
  ]);
});

describe('an erasure of a deployed database', () => {
  const ERASURE = { request: /\/query$/, body: /UPDATE events/ };
  let cloudflare: CloudflareStandIn;
  let production: Database;
  let staging: Database;

  /** Makes a database with an event of bert between two of anna. */
  function makeDatabase(name: string): Database {
    const database = cloudflare.account.createDatabase(name);
    database.migrate();
    for (const [index, guest] of ['anna', 'bert', 'anna'].entries()) {
      send(database, `e${index + 1}`, guest);
    }
    return database;
  }

  beforeEach(async () => {
    cloudflare = await new CloudflareStandIn().start();
    project.environment = cloudflare.environment;
    production = makeDatabase(NAME);
    staging = makeDatabase(STAGING);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    expect(cloudflare.unknown).toEqual([]);
    await cloudflare.stop();
  });

  /**
   * Runs the command in this process on the database of production, and repeats its calls without
   * pauses.
   */
  function erase(...args: string[]): Promise<Finished> {
    const database = restDatabase(cloudflare.openAccount(), production.uuid);
    return runOn(database, command, '--remote', '--ledger', ledgerFile, ...args);
  }

  it('finds the database by its name, needs the right to D1 only, and is done once', async () => {
    cloudflare.faults = [{ request: /\/(workers|storage)\//, status: 403 }];
    const done = await project.run('erase-events.ts', ...OF_ANNA, '--remote', '--env', 'staging');
    expect(done).toEqual({
      code: 0,
      stdout: `Erased 2 events; 0 of its 2 events had been erased before. The ledger is ${ledgerFile}.\n`,
      stderr: '',
    });
    expect([erasedIn(production), erasedIn(staging)]).toEqual([[], ['e1', 'e3']]);
    const [identity] = staging.rows('SELECT lineage FROM database_identity');
    expect(ledger()).toMatchObject([{ lineage: identity?.lineage, last_event_id: 'e3' }]);
    expect(cloudflare.requests.filter((name) => /workers|kv/.test(name))).toEqual([]);
  });

  it.each<[string, Fault]>([
    ['a 502 after it was carried out', { ...ERASURE, status: 502, times: 1, isAfter: true }],
    ['a 502 before it was carried out', { ...ERASURE, status: 502, times: 1 }],
    ['a connection that breaks', { ...ERASURE, status: 0, times: 1, isAfter: true }],
    ['nothing but 502s after it was carried out', { ...ERASURE, status: 502, isAfter: true }],
  ])('is done, reported and in the ledger when it meets %s', async (_, fault) => {
    cloudflare.faults = [fault];
    const { code, stdout, stderr } = await erase(...OF_ANNA);
    expect([code, erasedIn(production)]).toEqual([0, ['e1', 'e3']]);
    expect(ledger()).toMatchObject([{ last_event_id: 'e3' }]);
    expect(stdout).toContain('Erased 2 events; 0 of its 2 events had been erased before.');
    expect(stderr).toMatch(/^Cloudflare: .* The request is repeated\.\n$/);
  });

  it('says that nothing was changed when it has read that back', async () => {
    cloudflare.faults = [{ ...ERASURE, status: 502 }];
    const { code, stdout, stderr } = await erase(...OF_ANNA);
    expect([code, stdout, erasedIn(production), ledger()]).toEqual([1, '', [], []]);
    expect(stderr.trimEnd().split('\n')).toEqual([
      'Cloudflare: its API responded with HTTP 502. The request is repeated.',
      expect.stringMatching(/^Cloudflare gave no usable response to POST .*, 5 times: .*HTTP 502$/),
      'Nothing was changed.',
    ]);
  });

  it('says that the outcome is not known when it cannot be read back, and may be repeated', async () => {
    cloudflare.failFrom(ERASURE.body);
    const lost = await erase(...OF_ANNA);
    expect([lost.code, lost.stdout, erasedIn(production)]).toEqual([1, '', ['e1', 'e3']]);
    expect(lost.stderr).toMatch(
      /\nIt is not known whether anything was erased: run the command again\.\n$/,
    );
    expect(ledger()).toEqual([]);
    cloudflare.faults = [];
    const { code, stdout } = await erase(...OF_ANNA);
    expect([code, ledger()]).toMatchObject([0, [{ last_event_id: 'e3' }]]);
    expect(stdout).toContain('Erased 0 events; 2 of its 2 events had been erased before.');
  });

  it('is in the ledger with the time of the last event, if that is later than the clock', async () => {
    send(production, 'e4', 'anna', 4_102_444_800_000);
    writeFileSync(ledgerFile, JSON.stringify({ ...ERASED, lineage: '0'.repeat(32) }));
    await erase(...OF_ANNA);
    expect(ledger().map(({ erased_at }) => Date.parse(erased_at))).toEqual([
      5_000, 4_102_444_800_000,
    ]);
  });

  it('is rejected for a database without tables or with an unfinished restore', async () => {
    const run = (database: Database) =>
      runOn(database.binding, command, ...OF_ANNA, '--remote', '--env', 'staging', '--dry-run');
    const rejected = (message: string) => ({
      code: 1,
      stdout: '',
      stderr: `${message}\nNothing was changed.\n`,
    });
    expect(await run(new Database('empty'))).toEqual(
      rejected('the database has no tables: run `npm run deploy -- --env staging` first'),
    );
    staging.sqlite.exec('DELETE FROM database_identity');
    expect(await run(staging)).toEqual(
      rejected('a restore of this database is not finished: run `npm run restore` again'),
    );
    expect(await erase(...OF_ANNA, '--aggregate-id', 'nobody')).toMatchObject({
      code: 0,
      stdout: 'The aggregate has no events: there is nothing to erase.\n',
    });
    expect(ledger()).toEqual([]);
    expect((await erase('--again')).stderr).toContain(`there is no ledger ${ledgerFile}\n`);
  });

  it.each([
    ['a file that is none', 'broken.jsonl', 'broken.jsonl:2 is not a line of an erasure ledger'],
    ['in a folder that is none', 'nowhere/erasures.jsonl', 'nowhere: no such file or directory'],
  ])('changes nothing when the ledger is %s', async (_, name, message) => {
    project.write('broken.jsonl', `${JSON.stringify(ERASED)}\n{"lineage"\n`);
    const path = join(project.directory, name);
    const { code, stdout, stderr } = await erase(...OF_ANNA, '--ledger', path);
    expect([code, stdout, erasedIn(production)]).toEqual([1, '', []]);
    expect(stderr).toContain(message);
    expect(stderr).toContain('Nothing was changed.');
  });
});

it('a ledger is played on an older state of any size, and spares later events', async () => {
  const store = new Database('older');
  store.migrate();
  send(store, 'e1', 'anna', 1_000);
  send(store, 'e2', 'bert', 1_000);
  send(store, 'e3', 'anna', 5_000);
  send(store, 'e4', 'anna', 5_001);
  for (let n = 0; n < 20; n += 1) send(store, `other-${n}`, 'emma');
  send(store, 'e5', 'carl', 9_000);
  send(store, 'e6', 'dora', 4_000);
  const erasureOf = (id: string, lineage = ERASED.lineage) => {
    const aggregate = nameOf({ type: 'booking', id });
    return { ...ERASED, lineage, aggregate };
  };
  const played = ['anna', 'carl', 'dora', 'nobody'].map((id) => erasureOf(id));
  played.push(erasureOf('bert', 'e'.repeat(32)));
  expect(await playLedger(store.binding, ERASED.lineage, played)).toBe(3);
  expect(erasedIn(store)).toEqual(['e1', 'e3', 'e6']);
  expect(await playLedger(store.binding, ERASED.lineage, played)).toBe(0);
});
