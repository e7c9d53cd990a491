/**
 * The story of an erasure: while the service is running, when calls fail, and again in an older
 * state of the database. test/events/erasure.test.ts has the service's responses afterwards,
 * drill.test.ts the restores.
 */

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { command } from '../../tools/erase-events.ts';
import { applyLedger, type Erasure, hashAggregate } from '../../tools/erasure/ledger.ts';
import { Database } from '../support/cloudflare/database.ts';
import { failingDatabase, GONE } from '../support/node/failing-database.ts';
import { runOn } from '../support/node/in-process.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

const KEY = 'erase-events-test-key';
const OF_ANNA = ['--aggregate-type', 'booking', '--aggregate-id', 'anna'];
/** A line of a ledger. */
const ERASED: Erasure = {
  lineage: '5'.repeat(32),
  aggregate: hashAggregate({ type: 'booking', id: 'anna' }),
  last_event_id: 'not-restored',
  erased_at: '1970-01-01T00:00:05.000Z',
};

let project: ProjectCopy;
let ledgerFile: string;

beforeAll(async () => {
  project = await copyWithStore('empty');
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
  project.write('.dev.vars', `API_KEY=${KEY}\nRATE_LIMIT_DEFAULT=99999\nRATE_LIMIT_INGEST=99999\n`);
  const service = await project.serve();
  const headers = { 'x-api-key': KEY, 'Content-Type': 'application/json' };
  const post = (aggregate_id: string, note: string) => {
    const aggregate = { aggregate_type: 'booking', aggregate_id };
    const body = JSON.stringify({ event_type: 'booking.created', ...aggregate, payload: { note } });
    return fetch(`${service.origin}/api/public/events/ingest`, { method: 'POST', headers, body });
  };
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
      ...project.rows('SELECT lineage FROM database_identity')[0],
      aggregate: ERASED.aggregate,
      last_event_id: stored?.id,
      erased_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
    },
  ]);
});

describe('an erasure', () => {
  let store: Database;

  beforeEach(() => {
    store = new Database('store');
    store.migrate();
    for (const [index, guest] of ['anna', 'bert', 'anna'].entries()) {
      send(store, `e${index + 1}`, guest);
    }
  });

  const erase = (database: D1Database, ...args: string[]) =>
    runOn(database, command, ...OF_ANNA, '--ledger', ledgerFile, ...args);

  it('that fails is reported as done, or as not done, when it has been read back', async () => {
    const update = (sql: string) => sql.startsWith('UPDATE');
    const failed = failingDatabase(store.binding, (sql) => (update(sql) ? 'before' : undefined));
    expect(await erase(failed)).toEqual({
      code: 1,
      stdout: '',
      stderr: `The erasure failed: ${GONE}\nNothing was changed.\n`,
    });
    expect([erasedIn(store), ledger()]).toEqual([[], []]);
    const lost = failingDatabase(store.binding, (sql) => (update(sql) ? 'after' : undefined));
    const { code, stdout } = await erase(lost);
    expect([code, erasedIn(store)]).toEqual([0, ['e1', 'e3']]);
    expect(ledger()).toMatchObject([{ last_event_id: 'e3' }]);
    expect(stdout).toContain('Erased 2 events; 0 of its 2 events had been erased before.');
  });

  it('whose outcome cannot be read back says so, and may be repeated', async () => {
    let isGone = false;
    const database = failingDatabase(store.binding, (sql) => {
      if (isGone) return 'before';
      isGone = sql.startsWith('UPDATE');
      return isGone ? 'after' : undefined;
    });
    const lost = await erase(database);
    expect([lost.code, lost.stdout, erasedIn(store)]).toEqual([1, '', ['e1', 'e3']]);
    expect(lost.stderr).toMatch(
      /\nIt is not known whether anything was erased: run the command again\.\n$/,
    );
    expect(ledger()).toEqual([]);
    const { stdout } = await erase(store.binding);
    expect(stdout).toContain('Erased 0 events; 2 of its 2 events had been erased before.');
    expect(ledger()).toMatchObject([{ last_event_id: 'e3' }]);
  });

  it('is in the ledger with the time of the database, or of the last event if that is later', async () => {
    // The line is cut: its end is missing.
    writeFileSync(ledgerFile, JSON.stringify({ ...ERASED, lineage: '0'.repeat(32) }));
    const startedAt = Date.now();
    // The clock of this machine jumps: a later restore must not erase later events.
    vi.useFakeTimers({ toFake: ['Date'], now: 4_000_000_000_000 });
    await erase(store.binding);
    vi.useRealTimers();
    const [, first] = ledger().map(({ erased_at }) => Date.parse(erased_at));
    expect(first).toBeGreaterThanOrEqual(startedAt);
    expect(first).toBeLessThanOrEqual(Date.now());
    send(store, 'e4', 'anna', 4_102_444_800_000);
    await erase(store.binding);
    expect(Date.parse(ledger()[2]?.erased_at ?? '')).toBe(4_102_444_800_000);
  });

  it('changes nothing without tables, during a restore, without events, or without a ledger', async () => {
    const empty = await erase(new Database('empty').binding, '--remote', '--env', 'staging');
    expect(empty.stderr).toBe(
      'the database has no tables: run `npm run deploy -- --env staging` first\nNothing was changed.\n',
    );
    expect((await erase(store.binding, '--aggregate-id', 'nobody')).stdout).toBe(
      'The aggregate has no events: there is nothing to erase.\n',
    );
    const again = await runOn(store.binding, command, '--again', '--ledger', ledgerFile);
    expect(again.stderr).toBe(`there is no ledger ${ledgerFile}\nNothing was changed.\n`);
    store.sqlite.exec('DELETE FROM database_identity');
    expect((await erase(store.binding)).stderr).toContain('a restore of this database is not fin');
    project.write('broken.jsonl', `${JSON.stringify(ERASED)}\n{"lineage"\n`);
    for (const [name, message] of [
      ['broken.jsonl', 'broken.jsonl:2 is not a line of an erasure ledger\nNothing was changed.'],
      ['nowhere/ledger', 'nowhere: no such file or directory\nNothing was changed.'],
    ] as const) {
      const path = join(project.directory, name);
      const { code, stderr } = await erase(store.binding, '--ledger', path);
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
    expect([erasedIn(store), ledger()]).toEqual([[], []]);
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
    const aggregate = hashAggregate({ type: 'booking', id });
    return { ...ERASED, lineage, aggregate };
  };
  const played = ['anna', 'carl', 'dora', 'nobody'].map((id) => erasureOf(id));
  played.push(erasureOf('bert', 'e'.repeat(32)));
  expect(await applyLedger(store.binding, ERASED.lineage, played)).toBe(3);
  expect(erasedIn(store)).toEqual(['e1', 'e3', 'e6']);
  expect(await applyLedger(store.binding, ERASED.lineage, played)).toBe(0);
});
