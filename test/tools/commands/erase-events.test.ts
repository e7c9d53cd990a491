/**
 * The story of an erasure: when calls fail, and again in an older state of the database.
 * test/events/erasure.test.ts has the service's responses afterwards, drill.test.ts the restores.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { command } from '../../../tools/commands/erase-events.ts';
import { applyLedger, type Erasure, hashAggregate } from '../../../tools/erasure/ledger.ts';
import { Database } from '../../support/cloudflare/database.ts';
import { failingDatabase, GONE } from '../../support/node/failing-database.ts';
import { runOn } from '../../support/node/in-process.ts';

const OF_ANNA = ['--aggregate-type', 'booking', '--aggregate-id', 'anna'];
/** A line of a ledger. */
const ERASED: Erasure = {
  lineage: '5'.repeat(32),
  aggregate: hashAggregate({ type: 'booking', id: 'anna' }),
  last_event_id: 'not-restored',
  erased_at: '1970-01-01T00:00:05.000Z',
};

const folder = mkdtempSync(join(tmpdir(), 'erasures-'));
const ledgerFile = join(folder, 'erasures.jsonl');

afterEach(() => rmSync(ledgerFile, { force: true }));

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

describe('an erasure', () => {
  let store: Database;

  beforeEach(() => {
    store = new Database('store').migrate();
    for (const [index, guest] of ['anna', 'bert', 'anna'].entries()) {
      send(store, `e${index + 1}`, guest);
    }
  });

  const erase = (database: D1Database, ...args: string[]) =>
    runOn(database, command, ...OF_ANNA, '--ledger', ledgerFile, ...args);

  it('leaves the payload in no row, no output and no ledger, and is recorded once', async () => {
    vi.stubEnv('GITHUB_ACTOR', 'ana');
    const counts = '0 of its 2 events had been erased before';
    expect(await erase(store.binding, '--dry-run')).toMatchObject({
      stdout: `Dry run: 2 events would be erased; ${counts}.\n`,
    });
    expect([erasedIn(store), ledger()]).toEqual([[], []]);
    expect(await erase(store.binding)).toEqual({
      code: 0,
      stdout: `Erased 2 events; ${counts}. The ledger is ${ledgerFile}.\n`,
      stderr: '',
    });
    expect(store.rows('SELECT payload FROM events ORDER BY seq')).toEqual([
      { payload: '{}' },
      { payload: '{"note":"personal"}' },
      { payload: '{}' },
    ]);
    expect(ledger()).toEqual([
      {
        ...store.rows('SELECT lineage FROM database_identity')[0],
        aggregate: ERASED.aggregate,
        last_event_id: 'e3',
        erased_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
      },
    ]);
    expect(readFileSync(ledgerFile, 'utf8')).not.toContain('anna');
    // A run that erases nothing is not recorded.
    expect(await erase(store.binding)).toMatchObject({ code: 0 });
    expect(store.rows('SELECT who, command, file, counts, export_id FROM operations')).toEqual([
      { who: 'ana', command: 'erase-events', file: null, counts: '{"events":2}', export_id: null },
    ]);
  });

  it.each(['before', 'after'] as const)(
    'that fails %s it is carried out says that this is not known, and may be repeated',
    async (fate) => {
      const failing = failingDatabase(store.binding, (sql) =>
        sql.startsWith('UPDATE') ? fate : undefined,
      );
      const { code, stderr } = await erase(failing);
      expect([code, stderr]).toEqual([
        1,
        `The erasure failed: ${GONE}\nIt is not known whether anything was erased. Run the command again.\n`,
      ]);
      expect(erasedIn(store)).toEqual(fate === 'after' ? ['e1', 'e3'] : []);
      // A restored state must not have a payload that is gone.
      expect(ledger()).toMatchObject([{ last_event_id: 'e3' }]);
      expect(await erase(store.binding)).toMatchObject({ code: 0, stderr: '' });
      expect(erasedIn(store)).toEqual(['e1', 'e3']);
    },
  );

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

  it.each([
    ['booking bk_none has no events. --find searches for other', '--aggregate-id=bk_none'],
    ['booking bk_none has no events', '--aggregate-id=bk_none', '--dry-run'],
    ['nowhere/ledger: no such file or directory', `--ledger=${join(folder, 'nowhere/ledger')}`],
  ])('changes nothing: %s', async (message, ...args) => {
    const { code, stderr } = await erase(store.binding, ...args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(stderr).toMatch(/\nNothing was changed\.\n$/);
    expect([erasedIn(store), ledger()]).toEqual([[], []]);
  });

  it('--again needs a ledger', async () => {
    const again = () => runOn(store.binding, command, '--again', '--ledger', ledgerFile);
    expect(await again()).toMatchObject({
      code: 1,
      stderr: `there is no ledger ${ledgerFile}: name it with --ledger\nNothing was changed.\n`,
    });
    writeFileSync(ledgerFile, `${JSON.stringify(ERASED)}\n{"lineage"\n`);
    expect(await again()).toMatchObject({
      code: 1,
      stderr: `${ledgerFile}:2 is not a line of an erasure ledger\nNothing was changed.\n`,
    });
  });
});

describe('the search for a guest', () => {
  let store: Database;
  beforeEach(() => {
    store = new Database('store').migrate();
  });

  const sendPayload = (aggregate: string, payload: object) => {
    send(store, `e${store.rows('SELECT seq FROM events').length}`, aggregate);
    store.sqlite
      .prepare('UPDATE events SET payload = ? WHERE seq = (SELECT max(seq) FROM events)')
      .run(JSON.stringify(payload));
  };
  const find = (text: string) => runOn(store.binding, command, '--find', text);

  it('lists the aggregates whose events have a text, and changes nothing', async () => {
    sendPayload('bk_1', { guest: { email: 'Anna.Ruiz@example.com' } });
    sendPayload('bk_2', { guest: { email: 'bert@example.com' } });
    sendPayload('bk_1', { contact: 'anna.ruiz@EXAMPLE.com' });
    sendPayload('anna.ruiz@example.com', {});
    sendPayload('bk_3', { contact: 'aenna.ruiz@example.com' });
    sendPayload('bk_4', { link: 'https://example.com/?mail=anna.ruiz%40example.com' });
    sendPayload('anna.ruiz%40example.com', {});
    const before = store.rows('SELECT * FROM events');
    expect(await find(' anna.ruiz@example.com')).toEqual({
      code: 0,
      stdout: `booking bk_1: 2 events
booking anna.ruiz@example.com: 1 event
booking bk_3: 1 event (not exact: in another spelling or encoded)
booking bk_4: 1 event (not exact: in another spelling or encoded)
booking anna.ruiz%40example.com: 1 event (not exact: in another spelling or encoded)
5 aggregates found
`,
      stderr: '',
    });
    expect((await find('carl')).stdout).toBe('0 aggregates found\n');
    expect(store.rows('SELECT * FROM events')).toEqual(before);
  });

  it('that fails says so', async () => {
    const failing = failingDatabase(store.binding, (sql) =>
      sql.includes('AS "payload"') ? 'before' : undefined,
    );
    expect(await runOn(failing, command, '--find', 'anna')).toEqual({
      code: 1,
      stdout: '',
      stderr: `The search failed: ${GONE}\nNothing was changed.\n`,
    });
  });
});

it('a ledger is applied to an older state of any size, and spares later events', async () => {
  const store = new Database('older').migrate();
  send(store, 'e1', 'anna', 1_000);
  send(store, 'e2', 'bert', 1_000);
  send(store, 'e3', 'anna', 5_000);
  send(store, 'e4', 'anna', 5_001);
  send(store, 'e5', 'carl', 9_000);
  // More than a page.
  for (let n = 0; n < 20; n += 1) send(store, `other-${n}`, 'emma');
  send(store, 'e6', 'dora', 4_000);
  const erasureOf = (id: string, lineage = ERASED.lineage) => {
    const aggregate = hashAggregate({ type: 'booking', id });
    return { ...ERASED, lineage, aggregate };
  };
  const applied = ['anna', 'carl', 'dora', 'dora'].map((id) => erasureOf(id));
  applied.push(erasureOf('bert', 'e'.repeat(32)));
  expect(await applyLedger(store.binding, ERASED.lineage, applied)).toBe(3);
  expect(erasedIn(store)).toEqual(['e1', 'e3', 'e6']);
  expect(await applyLedger(store.binding, ERASED.lineage, applied)).toBe(0);
  // An aggregate that was erased twice.
  const later = { ...erasureOf('anna'), erased_at: '1970-01-01T00:00:06.000Z' };
  expect(await applyLedger(store.binding, ERASED.lineage, [...applied, later])).toBe(1);
  expect(erasedIn(store)).toEqual(['e1', 'e3', 'e4', 'e6']);
  expect(store.rows("SELECT erased_at FROM events WHERE id IN ('e3', 'e4')")).toEqual([
    { erased_at: 5_000 },
    { erased_at: 6_000 },
  ]);
});

it('old payloads are emptied by the statement for a full database, and the keys stay', () => {
  const [, statement = ''] =
    /--command "(UPDATE [^"]+)"/.exec(readFileSync('docs/operate/growing.md', 'utf8')) ?? [];
  const store = new Database('full').migrate();
  send(store, 'e1', 'anna');
  send(store, 'e2', 'anna', 1_800_000_000_000);
  const events = () => store.rows('SELECT seq, id, key_id, fingerprint FROM events');
  const before = events();
  store.sqlite.exec(statement);
  expect(erasedIn(store)).toEqual(['e1']);
  expect(events()).toEqual(before);
});
