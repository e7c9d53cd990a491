/**
 * Tests of erasures whose calls fail, and of erasures that are repeated in an older state of the
 * database. test/events/erasure.test.ts covers the service's responses, and
 * backup-and-restore.test.ts covers restores.
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

const ANNA = ['--aggregate-type', 'booking', '--aggregate-id', 'anna'];
const ERASED: Erasure = {
  lineage: '5'.repeat(32),
  aggregate: hashAggregate({ type: 'booking', id: 'anna' }),
  last_event_id: 'not-restored',
  erased_at: '1970-01-01T00:00:05.000Z',
};

const folder = mkdtempSync(join(tmpdir(), 'erasures-'));
const ledgerFile = join(folder, 'erasures.jsonl');

afterEach(() => rmSync(ledgerFile, { force: true }));

function readEntries(): Erasure[] {
  if (!existsSync(ledgerFile)) return [];
  const lines = readFileSync(ledgerFile, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line));
}

/** Adds an event that was accepted at a time in milliseconds since 1970. */
function addEvent({ sqlite }: Database, id: string, aggregate: string, at = 1_000): void {
  sqlite
    .prepare(
      `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
       VALUES (?, 'booking.created', 'booking', ?, ?, '{"note":"personal"}')`,
    )
    .run(id, aggregate, at);
}

function findErasedEvents(store: Database): unknown[] {
  const rows = store.rows(
    `SELECT id FROM events WHERE payload = '{}' AND erased_at IS NOT NULL ORDER BY seq`,
  );
  return rows.map(({ id }) => id);
}

describe('erasure', () => {
  let store: Database;

  beforeEach(() => {
    store = new Database('store').migrate();
    for (const [index, guest] of ['anna', 'bert', 'anna'].entries()) {
      addEvent(store, `e${index + 1}`, guest);
    }
  });

  const erase = (database: D1Database, ...args: string[]) =>
    runOn(database, command, ...ANNA, '--ledger', ledgerFile, ...args);

  const counts = '0 of its 2 events had been erased before';

  it('changes nothing with --dry-run', async () => {
    expect(await erase(store.binding, '--dry-run')).toMatchObject({
      stdout: `Dry run: 2 events would be erased; ${counts}.\n`,
    });
    expect([findErasedEvents(store), readEntries()]).toEqual([[], []]);
    expect(store.rows('SELECT command FROM operations')).toEqual([]);
  });

  it('removes the payload without copying it into the output or the ledger', async () => {
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
    expect(readEntries()).toEqual([
      {
        ...store.rows('SELECT lineage FROM database_identity')[0],
        aggregate: ERASED.aggregate,
        last_event_id: 'e3',
        erased_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
      },
    ]);
    expect(readFileSync(ledgerFile, 'utf8')).not.toContain('anna');
  });

  it('is recorded as an operation unless it erases nothing', async () => {
    vi.stubEnv('GITHUB_ACTOR', 'ana');
    for (const _ of [1, 2]) expect(await erase(store.binding)).toMatchObject({ code: 0 });
    expect(store.rows('SELECT who, command, file, counts, export_id FROM operations')).toEqual([
      { who: 'ana', command: 'erase-events', file: null, counts: '{"events":2}', export_id: null },
    ]);
  });

  it.each(['before', 'after'] as const)(
    'can be repeated if its statement fails %s taking effect',
    async (behaviour) => {
      const failing = failingDatabase(store.binding, (sql) =>
        sql.startsWith('UPDATE') ? behaviour : undefined,
      );
      const { code, stderr } = await erase(failing);
      expect([code, stderr]).toEqual([
        1,
        `The erasure failed: ${GONE}\nIt is not known whether anything was erased. Run the command again.\n`,
      ]);
      expect(findErasedEvents(store)).toEqual(behaviour === 'after' ? ['e1', 'e3'] : []);
      // The ledger already contains the erasure, so that a restore cannot bring the payload back.
      expect(readEntries()).toMatchObject([{ last_event_id: 'e3' }]);
      expect(await erase(store.binding)).toMatchObject({ code: 0, stderr: '' });
      expect(findErasedEvents(store)).toEqual(['e1', 'e3']);
    },
  );

  it("is entered in the ledger with the later of the database's time and the last event's", async () => {
    // The existing line has no line end, as after an interrupted write.
    writeFileSync(ledgerFile, JSON.stringify({ ...ERASED, lineage: '0'.repeat(32) }));
    const startedAt = Date.now();
    // Even if this machine's clock is wrong, a later restore must not erase later events.
    vi.useFakeTimers({ toFake: ['Date'], now: 4_000_000_000_000 });
    await erase(store.binding);
    vi.useRealTimers();
    const [, erasedAt] = readEntries().map(({ erased_at }) => Date.parse(erased_at));
    expect(erasedAt).toBeGreaterThanOrEqual(startedAt);
    expect(erasedAt).toBeLessThanOrEqual(Date.now());
    addEvent(store, 'e4', 'anna', 4_102_444_800_000);
    await erase(store.binding);
    expect(Date.parse(readEntries()[2]?.erased_at ?? '')).toBe(4_102_444_800_000);
  });

  it.each([
    ['booking bk_none has no events. --find searches for other', '--aggregate-id=bk_none'],
    ['booking bk_none has no events', '--aggregate-id=bk_none', '--dry-run'],
    ['nowhere/ledger: no such file or directory', `--ledger=${join(folder, 'nowhere/ledger')}`],
  ])('changes nothing if it fails with "%s"', async (message, ...args) => {
    const { code, stderr } = await erase(store.binding, ...args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(stderr).toMatch(/\nNothing was changed\.\n$/);
    expect([findErasedEvents(store), readEntries()]).toEqual([[], []]);
  });

  it('can be repeated only with a valid ledger', async () => {
    const repeat = () => runOn(store.binding, command, '--again', '--ledger', ledgerFile);
    expect(await repeat()).toMatchObject({
      code: 1,
      stderr: `the ledger ${ledgerFile} does not exist. Name it with --ledger\nNothing was changed.\n`,
    });
    writeFileSync(ledgerFile, `${JSON.stringify(ERASED)}\n{"lineage"\n`);
    expect(await repeat()).toMatchObject({
      code: 1,
      stderr: `${ledgerFile}:2 is not a line of an erasure ledger\nNothing was changed.\n`,
    });
  });
});

describe('search for a guest', () => {
  let store: Database;
  beforeEach(() => {
    store = new Database('store').migrate();
  });

  const addPayload = (aggregate: string, payload: object) => {
    addEvent(store, `e${store.rows('SELECT seq FROM events').length}`, aggregate);
    store.sqlite
      .prepare('UPDATE events SET payload = ? WHERE seq = (SELECT max(seq) FROM events)')
      .run(JSON.stringify(payload));
  };
  const find = (text: string) => runOn(store.binding, command, '--find', text);

  it('lists the aggregates whose events contain the text', async () => {
    addPayload('bk_1', { guest: { email: 'Anna.Ruiz@example.com' } });
    addPayload('bk_2', { guest: { email: 'bert@example.com' } });
    addPayload('bk_1', { contact: 'anna.ruiz@EXAMPLE.com' });
    addPayload('anna.ruiz@example.com', {});
    addPayload('bk_3', { contact: 'aenna.ruiz@example.com' });
    addPayload('bk_4', { link: 'https://example.com/?mail=anna.ruiz%40example.com' });
    addPayload('anna.ruiz%40example.com', {});
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

  it('reports that it failed', async () => {
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

it('applies a ledger only to events that were accepted before their erasure', async () => {
  const store = new Database('older').migrate();
  addEvent(store, 'e1', 'anna', 1_000);
  addEvent(store, 'e2', 'bert', 1_000);
  addEvent(store, 'e3', 'anna', 5_000);
  addEvent(store, 'e4', 'anna', 5_001);
  addEvent(store, 'e5', 'carl', 9_000);
  // These events belong to a guest who is not in the ledger.
  for (let n = 0; n < 20; n += 1) addEvent(store, `other-${n}`, 'emma');
  addEvent(store, 'e6', 'dora', 4_000);
  const createErasure = (id: string, lineage = ERASED.lineage) => {
    const aggregate = hashAggregate({ type: 'booking', id });
    return { ...ERASED, lineage, aggregate };
  };
  const entries = ['anna', 'carl', 'dora', 'dora'].map((id) => createErasure(id));
  entries.push(createErasure('bert', 'e'.repeat(32)));
  expect(await applyLedger(store.binding, ERASED.lineage, entries)).toBe(3);
  expect(findErasedEvents(store)).toEqual(['e1', 'e3', 'e6']);
  expect(await applyLedger(store.binding, ERASED.lineage, entries)).toBe(0);
  // The same aggregate was erased twice.
  const later = { ...createErasure('anna'), erased_at: '1970-01-01T00:00:06.000Z' };
  expect(await applyLedger(store.binding, ERASED.lineage, [...entries, later])).toBe(1);
  expect(findErasedEvents(store)).toEqual(['e1', 'e3', 'e4', 'e6']);
  expect(store.rows("SELECT erased_at FROM events WHERE id IN ('e3', 'e4')")).toEqual([
    { erased_at: 5_000 },
    { erased_at: 6_000 },
  ]);
});

it('preserves idempotency keys when the statement in growing.md clears old payloads', () => {
  const [, statement = ''] =
    /--command "(UPDATE [^"]+)"/.exec(readFileSync('docs/operate/growing.md', 'utf8')) ?? [];
  const store = new Database('full').migrate();
  addEvent(store, 'e1', 'anna');
  addEvent(store, 'e2', 'anna', 1_800_000_000_000);
  const events = () => store.rows('SELECT seq, id, key_id, fingerprint FROM events');
  const before = events();
  store.sqlite.exec(statement);
  expect(findErasedEvents(store)).toEqual(['e1']);
  expect(events()).toEqual(before);
});
