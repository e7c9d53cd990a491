/** `npm run erase-events`, while the service is running; and its ledger, played again. */

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { command } from '../../tools/erase-events.ts';
import { nameOf, playLedger, readLedger } from '../../tools/erasure/ledger.ts';
import { Database } from '../support/cloudflare/database.ts';
import { runHere, runOn } from '../support/node/in-process.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import type { ServedCopy } from '../support/node/served-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

const KEY = 'erase-events-test-key';
const GUEST = 'anna.example@guests.example';
const NOTE = 'allergic to erasers';
const HERE = '5'.repeat(32);
const INGEST = '/api/public/events/ingest';
const OF_GUEST = ['--aggregate-type', 'booking', '--aggregate-id', 'bk-anna'];

let project: ProjectCopy;
let service: ServedCopy;

beforeAll(async () => {
  project = await copyWithStore('samples');
  project.write(
    '.dev.vars',
    `API_KEY=${KEY}\nRATE_LIMIT_DEFAULT=100000\nRATE_LIMIT_INGEST=100000\nJWT_JWKS=\n`,
  );
  service = await project.serve();
});
afterAll(() => project.remove());

function post(aggregate_id: string, payload: object, key?: string) {
  return fetch(`${service.origin}${INGEST}`, {
    method: 'POST',
    headers: {
      'x-api-key': KEY,
      'Content-Type': 'application/json',
      ...(key && { 'Idempotency-Key': key }),
    },
    body: JSON.stringify({
      event_type: 'booking.created',
      aggregate_id,
      aggregate_type: 'booking',
      payload,
    }),
  });
}

const answer = z.object({ id: z.string(), status: z.string() });

async function read(path: string): Promise<string> {
  const response = await fetch(`${service.origin}/api/v1/events${path}`, {
    headers: { 'x-api-key': KEY },
  });
  return response.text();
}

/** Runs the command in this process, on the database of the service. */
const erase = (args: readonly string[], ledger = 'erasures.jsonl') =>
  runOn(service.database, command, ...args, '--ledger', join(project.directory, ledger));

function ledgerOf(name = 'erasures.jsonl'): string {
  const file = join(project.directory, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

describe('erase-events', () => {
  it('erases while the service is running: the text is in no answer, log, row and ledger', async () => {
    const personal = { guest_email: GUEST, note: NOTE };
    const first = answer.parse(await (await post('bk-anna', personal, 'anna-1')).json());
    const kept = answer.parse(await (await post('bk-bert', { note: 'bert stays' })).json());
    const last = answer.parse(await (await post('bk-anna', { ...personal, more: 1 })).json());
    expect(await read('?limit=100')).toContain(GUEST);

    const dry = await erase([...OF_GUEST, '--dry-run']);
    expect(dry).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('2 events would be erased'),
    });
    expect(await read(`/${first.id}`)).toContain(NOTE);
    expect(ledgerOf()).toBe('');

    let isRunning = true;
    const erasing = project.run('erase-events.ts', ...OF_GUEST).finally(() => {
      isRunning = false;
    });
    const statuses = new Set<number>();
    while (isRunning) {
      statuses.add((await post('bk-carl', { note: 'meanwhile' })).status);
      const page = await fetch(`${service.origin}/api/v1/events`, {
        headers: { 'x-api-key': KEY },
      });
      statuses.add(page.status);
    }
    const { code, stdout, stderr } = await erasing;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^Erased 2 events; 0 of its 2 events had been erased before\. The ledger is /,
    );
    expect([...statuses].sort()).toEqual([200, 202]);

    const retried = await post('bk-anna', personal, 'anna-1');
    expect(retried.status).toBe(200);
    expect(answer.parse(await retried.json())).toEqual({ id: first.id, status: 'idempotent' });
    const refused = await post('bk-anna', { note: 'other' }, 'anna-1');
    const answers = [
      await read('?limit=100&order=asc'),
      await read('?aggregate_id=bk-anna'),
      await read(`/${first.id}`),
      await read(`/${last.id}`),
      await refused.text(),
    ];
    expect(refused.status).toBe(409);
    const rows = JSON.stringify(project.rows('SELECT * FROM events'));
    for (const text of [...answers, rows, service.log(), ledgerOf(), stdout]) {
      expect(text).not.toContain(GUEST);
      expect(text).not.toContain(NOTE);
    }
    expect(await read('?aggregate_id=bk-bert')).toContain('bert stays');
    expect(await read(`/${kept.id}`)).toContain('bert stays');

    expect(ledgerOf()).not.toContain('bk-anna');
    expect(ledgerOf()).toMatch(/^[^\n]+\n$/);
    expect(JSON.parse(ledgerOf())).toEqual({
      lineage: project.rows('SELECT lineage FROM database_identity')[0]?.lineage,
      aggregate: nameOf({ type: 'booking', id: 'bk-anna' }),
      last_event_id: last.id,
      erased_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
    });
  });

  it('may be repeated, and then writes the line that a ledger lacks', async () => {
    const before = ledgerOf();
    const again = await erase(OF_GUEST);
    expect(again.stdout).toContain('Erased 0 events; 2 of its 2 events had been erased before');
    expect(ledgerOf()).toBe(before);
    rmSync(join(project.directory, 'erasures.jsonl'));
    const { code } = await erase(OF_GUEST, 'other.jsonl');
    expect(code).toBe(0);
    expect(ledgerOf()).toBe('');
    expect(JSON.parse(ledgerOf('other.jsonl')).aggregate).toBe(JSON.parse(before).aggregate);
  });

  it('says that there is nothing to erase, and writes nothing', async () => {
    const none = ['--aggregate-type', 'booking', '--aggregate-id', 'bk-nobody'];
    const { code, stdout } = await erase(none);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'The aggregate has no events: there is nothing to erase.\n',
    });
    expect(ledgerOf()).toBe('');
  });

  it.each([
    ['a file that is none', 'broken.jsonl', 'broken.jsonl:2 is not a line of an erasure ledger'],
    ['a folder that is none', 'nowhere/erasures.jsonl', 'cannot be written'],
  ])('changes nothing when the ledger is %s', async (_, ledger, told) => {
    const line = JSON.stringify({
      lineage: HERE,
      aggregate: 'a'.repeat(64),
      last_event_id: 'x',
      erased_at: '2027-01-01T00:00:00.000Z',
    });
    writeFileSync(join(project.directory, 'broken.jsonl'), `${line}\n{"lineage"\n`);
    await post('bk-dora', { note: 'dora stays' });
    const { code, stdout, stderr } = await erase(
      ['--aggregate-type', 'booking', '--aggregate-id', 'bk-dora'],
      ledger,
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(told);
    expect(stderr).toContain('Nothing was changed.');
    expect(await read('?aggregate_id=bk-dora')).toContain('dora stays');
  });

  it.each([
    [[], '--aggregate-type is missing'],
    [['--aggregate-type', 'booking'], '--aggregate-id is missing'],
    [['--aggregate-id', 'bk-anna'], '--aggregate-type is missing'],
    [['--aggregate-type', '', '--aggregate-id', 'bk-anna'], '--aggregate-type is missing'],
    [[...OF_GUEST, '--ledger', ''], '--ledger names no file'],
    [[...OF_GUEST, '--all'], "Unknown option '--all'"],
    [[...OF_GUEST, 'bk-bert'], "Unexpected argument 'bk-bert'"],
    [[...OF_GUEST, '--env', 'staging'], '--env needs --remote'],
    [['--again', ...OF_GUEST], '--again takes no aggregate and no --dry-run'],
    [['--again', '--dry-run'], '--again takes no aggregate and no --dry-run'],
  ])('refuses %j in one line above the usage', async (args, told) => {
    const { code, stdout, stderr } = await runHere(command, ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(told);
    expect(stderr.split('\n').indexOf('')).toBe(1);
    expect(stderr).toContain('Usage: npm run erase-events');
  });
});

describe('a ledger', () => {
  it('is played on an older state: its erasures are repeated, and later events are spared', async () => {
    const store = new Database('older');
    try {
      store.migrate();
      const { binding: database } = store;
      const insert = database.prepare(
        `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
         VALUES (?, 'booking.created', 'booking', ?, ?, '{"note":"personal"}')`,
      );
      await database.batch([
        insert.bind('e1', 'anna', 1_000),
        insert.bind('e2', 'anna', 2_000),
        insert.bind('e3', 'bert', 3_000),
        insert.bind('e4', 'anna', 9_000),
        insert.bind('e5', 'carl', 1_000),
        insert.bind('e6', 'carl', 9_000),
        // The last erased event of dora was undone, and was sent again after a later event.
        insert.bind('e7', 'dora', 1_000),
        insert.bind('e8', 'dora', 8_000),
        insert.bind('sent-again', 'dora', 9_000),
      ]);
      const file = project.write(
        'played.jsonl',
        [
          [HERE, 'anna', 'e2'],
          [HERE, 'carl', 'not-restored'],
          [HERE, 'nobody', 'e1'],
          [HERE, 'dora', 'sent-again'],
          ['e'.repeat(32), 'bert', 'e3'],
        ]
          .map(([lineage, id = '', last_event_id]) =>
            JSON.stringify({
              lineage,
              aggregate: nameOf({ type: 'booking', id }),
              last_event_id,
              erased_at: '1970-01-01T00:00:05.000Z',
            }),
          )
          .join('\n'),
      );
      expect(await playLedger(database, HERE, readLedger(file))).toBe(4);
      expect(await playLedger(database, HERE, readLedger(file))).toBe(0);
      const { results } = await database
        .prepare('SELECT id, erased_at FROM events WHERE erased_at IS NOT NULL ORDER BY seq')
        .all();
      expect(results).toEqual(['e1', 'e2', 'e5', 'e7'].map((id) => ({ id, erased_at: 5_000 })));
    } finally {
      store.sqlite.close();
    }
  });
});
