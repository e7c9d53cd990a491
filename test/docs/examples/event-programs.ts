/** Tests the example programs that send events and the programs that follow them. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deriveEventId } from '../../support/keys.ts';
import { getCodeBlocks } from '../../support/markdown.ts';
import {
  API_KEY,
  cancelBooking,
  skipUnlessRunnable,
  useTestService,
} from '../../support/node/example-service.ts';

const service = useTestService();

/**
 * Stores events and returns their ids. Sends the events as a batch, because keys of a batch are not
 * cached in KV. An event that a test has removed can therefore be stored again.
 */
async function store(...keys: string[]): Promise<string[]> {
  const response = await fetch(`${service().origin}/api/public/events/ingest/batch`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify({ events: keys.map((key) => cancelBooking(key, 'followed')) }),
  });
  const result = z.object({ outcome: z.literal('accepted'), event: z.object({ id: z.string() }) });
  const { data } = z.object({ data: z.array(result) }).parse(await response.json());
  return data.map(({ event }) => event.id);
}

const listStoredIds = (where: string) =>
  service()
    .rows(`SELECT id FROM events WHERE ${where} ORDER BY seq`)
    .map(({ id }) => String(id));

const parseId = (line: string) => line.split(' ')[0] ?? '';

/**
 * The line of each follower that runs after it has handled an event, and a line that kills the
 * follower at that point.
 */
const FOLLOWERS = {
  'follow-events.ts': [
    'handled.add(event.id);',
    "if (event.id === 'ID') process.kill(process.pid, 'SIGKILL');",
  ],
  'follow-events.py': [
    'handled.add(event["id"])',
    'if event["id"] == "ID": os.kill(os.getpid(), 9)',
  ],
} as const;

describe.each(Object.entries(FOLLOWERS))('%s', (program, [line, killAtId]) => {
  skipUnlessRunnable(program);

  it('handles every event even if it is killed and the database is restored', async () => {
    const folder = `followed-${program}`;
    const START = new Date().toISOString();
    const follow = (more = { SINCE: START }) => service().start(program, folder, [], more);
    const keys = Array.from({ length: 120 }, (_, index) => `${program}-${index}`);
    const ids = [...(await store(...keys.slice(0, 60))), ...(await store(...keys.slice(60)))];
    const change = [line, killAtId.replace('ID', ids[104] ?? '')] as const;
    const variant = service().changeExamples({ [program]: [change] });
    const killed = service().start(join(variant, program), folder, [], { SINCE: START });
    await killed.ended;
    expect(killed.lines.map(parseId)).toEqual(ids.slice(0, 105));
    const follower = follow();
    await expect.poll(() => follower.lines.map(parseId)).toEqual(ids.slice(104));

    const SINCE = new Date().toISOString();
    const [undone = ''] = await store(`${program}-undone`);
    await expect.poll(() => follower.lines.map(parseId).at(-1)).toBe(undone);
    await service().rewind(`DELETE FROM events WHERE id = '${undone}'`);
    await follower.ended;
    expect(follower.errors.join()).toContain('invalid_cursor');
    const [missed] = await store(`${program}-missed`);
    expect(await store(`${program}-undone`)).toEqual([undone]);
    const restarted = follow({ SINCE });
    const [newest] = await store(`${program}-newest`);
    await expect.poll(() => restarted.lines.map(parseId)).toEqual([missed, newest]);
  });

  it('continues after an empty page if more pages follow', async () => {
    const empty = { has_more: true, next_cursor: 'behind', resume_cursor: 'behind' };
    const body = JSON.stringify({ object: 'list', data: [], ...empty });
    service().faults.push({ status: 200, headers: { 'Content-Type': 'application/json' }, body });
    service().start(program, `empty-${program}`);
    await expect.poll(() => service().requests[1]).toContain('cursor=behind');
  });
});

it('send-events.ts sends only the missing events when it runs again', async () => {
  const keys = Array.from({ length: 450 }, (_, index) => `sent-ü-${index}`);
  // The program finds the first conflict among the stored events, and the second one when it sends the
  // event.
  const conflicts = ['sent-ü-20', 'sent-ü-420'];
  await store(...conflicts);
  const file = join(service().makeFolder('send'), 'events.jsonl');
  writeFileSync(
    file,
    keys.map((key) => `${JSON.stringify(cancelBooking(key, 'sent'))}\n`).join(''),
  );
  // The response to the third batch is lost. The program is killed before it can send the batch again.
  const rejected = { status: 429, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } };
  const pending = new Promise<undefined>(() => {});
  service().faults.push(rejected, undefined, undefined, undefined, undefined, 'lost', pending);
  const killed = service().start('send-events.ts', 'send', [file]);
  await expect.poll(() => service().faults).toEqual([]);
  expect(listStoredIds("aggregate_id = 'sent'")).toHaveLength(299);
  killed.child.kill('SIGKILL');
  await killed.ended;

  const secondRun = service().start('send-events.ts', 'send', [file]);
  expect(await secondRun.ended).toEqual([1, null]);
  expect(secondRun.lines).toEqual([
    '0: 100 have arrived, 0 to send',
    '100: 100 have arrived, 0 to send',
    '200: 100 have arrived, 0 to send',
    '300: 0 have arrived, 100 to send',
    '400: 0 have arrived, 50 to send',
  ]);
  expect(secondRun.errors).toEqual(
    conflicts.map((key) => expect.stringMatching(`${key}: another`)),
  );
  expect(listStoredIds("aggregate_id = 'sent'")).toEqual(
    keys.filter((key) => !conflicts.includes(key)).map(deriveEventId),
  );
});

const BOOKINGS = process.env.FULL ? 90 : 20;

/** Returns the key and the problem of each row in an outbox. */
function listRows(folder: string) {
  const file = join(service().makeFolder(folder), 'bookings.sqlite');
  using database = new DatabaseSync(file, { timeout: 5_000 });
  const rows = database.prepare('SELECT key, problem FROM outbox ORDER BY seq').all();
  return rows.map(({ key, problem }) => [key, problem]);
}

describe.each(['outbox.ts', 'outbox.py', 'outbox.php'])('%s', (program) => {
  skipUnlessRunnable(program);
  const startHere = (folder: string, ...args: string[]) => service().start(program, folder, args);

  it('stores each event once and keeps rejected events in the outbox', async () => {
    const start = (...args: string[]) => startHere(`sent-${program}`, ...args);
    const rows = () => listRows(`sent-${program}`);
    const makeKey = (name: string) => `bookings-${program}-${name}-created`;
    await start(`${program}-stored`, '1').ended;
    await start(`${program}-invalid`, '-1').ended;
    await start(`${program}-unsent`, '1').ended;
    // The service stores the first event, but the program is killed before it receives the response.
    service().faults.push('lost', { status: 503, headers: { 'Retry-After': '3600' } });
    const killed = start();
    await expect.poll(() => service().statuses).toEqual([503]);
    killed.child.kill('SIGKILL');
    await killed.ended;
    expect(killed.errors[0]).toMatch(/SOCKET|closed connection|Empty reply/);

    const unauthorized = { status: 401, headers: { 'X-Should-Retry': 'false' } };
    service().faults.push(undefined, undefined, unauthorized);
    const stopped = start();
    expect(await stopped.ended).toEqual([1, null]);
    expect(stopped.errors).toEqual([`${makeKey('unsent')}: 401 {}`]);
    expect(rows()).toEqual([
      [makeKey('invalid'), expect.stringContaining('payload.guests')],
      [makeKey('unsent'), null],
    ]);
    start();
    await expect.poll(() => service().statuses).toEqual([503, 200, 400, 401, 202]);
    await expect.poll(rows).toHaveLength(1);
    expect(
      listStoredIds(
        `aggregate_id IN ('${program}-stored', '${program}-invalid', '${program}-unsent')`,
      ),
    ).toEqual([deriveEventId(makeKey('stored')), deriveEventId(makeKey('unsent'))]);
  });

  it("keeps the order of a booking's events while a firewall rejects one of them", async () => {
    const folder = `firewall-${program}`;
    const start = () => startHere(folder);
    await startHere(folder, `${program}-made`, '2').ended;
    using database = new DatabaseSync(join(service().makeFolder(folder), 'bookings.sqlite'), {
      timeout: 5_000,
    });
    const insert = database.prepare('INSERT INTO outbox (key, event) VALUES (?, ?)');
    const insertEvent = (key: string, booking: string, payload = {}) => {
      const { idempotency_key, ...event } = cancelBooking(key, booking);
      insert.run(idempotency_key, JSON.stringify({ ...event, payload }));
    };
    const keys = Array.from({ length: BOOKINGS }, (_, index) => `${program}-${index}`);
    const [attack, later] = [`${program}-12`, `${program}-12-later`];
    for (const key of keys) {
      insertEvent(key, key, key === attack ? { guests: '<script>alert(1)</script>' } : {});
    }
    insertEvent(later, attack);
    for (const many of [5, BOOKINGS / 2]) {
      const [first, second] = [start(), start()];
      await expect.poll(() => service().statuses.length).toBeGreaterThan(many);
      for (const { child } of [first, second]) child.kill('SIGKILL');
      await Promise.all([first.ended, second.ended]);
    }
    start();
    await expect
      .poll(() => listRows(folder))
      .toEqual([
        [attack, 'not a response of the service: 403 (cf-ray: 9e0a-MAD) <!DOCTYPE html>'],
        [later, null],
      ]);
    const others = listStoredIds(
      `aggregate_id LIKE '${program}-__' OR aggregate_id LIKE '${program}-_'`,
    );
    expect(others.toSorted()).toEqual(
      keys
        .filter((key) => key !== attack)
        .map(deriveEventId)
        .toSorted(),
    );

    const [, repair = ''] =
      getCodeBlocks('docs/guides/sending-events.md', 'sql')[0]?.split(';') ?? [];
    database.exec(repair.replace('seq = 7', `key = '${attack}'`));
    await expect.poll(() => listRows(folder)).toEqual([]);
    expect(listStoredIds(`aggregate_id = '${attack}'`)).toEqual([attack, later].map(deriveEventId));
  });

  it('waits while another program locks its database', async () => {
    const folder = `locked-${program}`;
    await startHere(folder, `${program}-locked`, '1').ended;
    using database = new DatabaseSync(join(service().makeFolder(folder), 'bookings.sqlite'), {
      timeout: 5_000,
    });
    // With this timeout, SQLite itself does not wait.
    const busyTimeouts: Record<string, [string, string]> = {
      'outbox.ts': ['timeout: 5_000', 'timeout: 0'],
      'outbox.py': ['timeout=5', 'timeout=0'],
      'outbox.php': ['ATTR_TIMEOUT => 5', 'ATTR_TIMEOUT => 0'],
    };
    const variant = service().changeExamples({ [program]: [busyTimeouts[program] ?? ['', '']] });
    const complaints = () =>
      sender.errors.filter((line) => /lock.*, next attempt in 1 s$/.test(line));
    /** Locks the database until the program has reported the lock. */
    async function lock(during = () => {}) {
      database.exec('BEGIN EXCLUSIVE');
      const before = complaints().length;
      during();
      await expect.poll(() => complaints().length).toBeGreaterThan(before);
      database.exec('COMMIT');
    }

    // Locks the database while the program starts, while it waits for a response, and while it is idle.
    const response = Promise.withResolvers<undefined>();
    service().faults.push(response.promise);
    database.exec('BEGIN EXCLUSIVE');
    const sender = service().start(join(variant, program), folder);
    await expect.poll(complaints).not.toEqual([]);
    database.exec('COMMIT');
    await expect.poll(() => service().requests).toHaveLength(1);
    await lock(() => response.resolve(undefined));
    await expect.poll(() => listRows(folder)).toEqual([]);
    await lock();
    await startHere(folder, `${program}-unlocked`, '1').ended;
    await expect.poll(() => listRows(folder)).toEqual([]);
    expect(service().statuses).toEqual([202, 202]);
  });

  it('encodes a key in ASCII like the programs in other languages', async () => {
    const folder = `keys-${program}`;
    await startHere(folder, "bk_日é\r\nX-Other: 1-_.~!*'()/ %&", '1').ended;
    expect(listRows(folder).map(([key]) => key)).toEqual([
      'bookings-bk_%E6%97%A5%C3%A9%0D%0AX-Other%3A%201-_.~%21%2A%27%28%29%2F%20%25%26-created',
    ]);
  });
});

it('send-events.ts stops if a response has no result for one of its events', async () => {
  const file = join(service().makeFolder('send-foreign'), 'events.jsonl');
  writeFileSync(file, JSON.stringify(cancelBooking('send-foreign', 'send-foreign')));
  service().faults.push(undefined, { status: 200, body: '{"object":"list","data":[]}' });
  const stopped = service().start('send-events.ts', 'send-foreign', [file]);
  expect(await stopped.ended).toEqual([1, null]);
  expect(stopped.errors.join()).toContain('no result');
  expect(listStoredIds("aggregate_id = 'send-foreign'")).toEqual([]);
});
