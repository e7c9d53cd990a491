/** The programs of docs/examples that send and follow events. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deriveEventId } from '../support/keys.ts';
import { getCodeBlocks } from '../support/markdown.ts';
import { API_KEY, eventOf, skipUnlessRunnable, useRig } from '../support/node/example-service.ts';

const rig = useRig();

/**
 * Stores events as a batch: KV does not know the key of an event that is undone. Returns the ids.
 */
async function post(...keys: string[]): Promise<string[]> {
  const response = await fetch(`${rig().service.origin}/api/public/events/ingest/batch`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify({ events: keys.map((key) => eventOf(key, 'followed')) }),
  });
  const result = z.object({ outcome: z.literal('accepted'), event: z.object({ id: z.string() }) });
  const { data } = z.object({ data: z.array(result) }).parse(await response.json());
  return data.map(({ event }) => event.id);
}

const storedEvents = (where: string) =>
  rig()
    .project.rows(`SELECT id FROM events WHERE ${where} ORDER BY seq`)
    .map(({ id }) => String(id));

/** The id at the begin of a line. */
const idIn = (line: string) => line.split(' ')[0] ?? '';

/** The line at which a follower has handled an event, and what kills it there. */
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

  it('repeats the one event at which it was killed, and goes on from a time after a rewind', async () => {
    const folder = `followed-${program}`;
    const START = new Date().toISOString();
    const follow = (more = { SINCE: START }) => rig().start(program, folder, [], more);
    const keys = Array.from({ length: 120 }, (_, index) => `${program}-${index}`);
    const ids = [...(await post(...keys.slice(0, 60))), ...(await post(...keys.slice(60)))];
    const change = [line, killAtId.replace('ID', ids[104] ?? '')] as const;
    const variant = rig().variantOf({ [program]: [change] });
    const killed = rig().start(join(variant, program), folder, [], { SINCE: START });
    await killed.ended;
    expect(killed.lines.map(idIn)).toEqual(ids.slice(0, 105));
    const follower = follow();
    await expect.poll(() => follower.lines.map(idIn)).toEqual(ids.slice(104));

    const SINCE = new Date().toISOString();
    const [undone = ''] = await post(`${program}-undone`);
    await expect.poll(() => follower.lines.map(idIn).at(-1)).toBe(undone);
    await rig().rewind(`DELETE FROM events WHERE id = '${undone}'`);
    await follower.ended;
    expect(follower.errors.join()).toContain('invalid_cursor');
    const [missed] = await post(`${program}-missed`);
    expect(await post(`${program}-undone`)).toEqual([undone]);
    const again = follow({ SINCE });
    const [newest] = await post(`${program}-newest`);
    await expect.poll(() => again.lines.map(idIn)).toEqual([missed, newest]);
  });

  it('goes on behind a page that is empty and not the last', async () => {
    const empty = { has_more: true, next_cursor: 'behind', resume_cursor: 'behind' };
    const body = JSON.stringify({ object: 'list', data: [], ...empty });
    rig().faults.push({ status: 200, headers: { 'Content-Type': 'application/json' }, body });
    rig().start(program, `empty-${program}`);
    await expect.poll(() => rig().requests[1]).toContain('cursor=behind');
  });
});

it('send-events.ts that is run again sends only what has not arrived', async () => {
  const keys = Array.from({ length: 450 }, (_, index) => `sent-ü-${index}`);
  // The first is found among the stored events, the second when it is sent.
  const conflicts = ['sent-ü-20', 'sent-ü-420'];
  await post(...conflicts);
  const file = join(rig().folderOf('send'), 'events.jsonl');
  writeFileSync(file, keys.map((key) => `${JSON.stringify(eventOf(key, 'sent'))}\n`).join(''));
  // The response to the third batch is lost, and the program is killed before it sends it again.
  const rejected = { status: 429, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } };
  const held = new Promise<undefined>(() => {});
  rig().faults.push(rejected, undefined, undefined, undefined, undefined, 'lost', held);
  const killed = rig().start('send-events.ts', 'send', [file]);
  await expect.poll(() => rig().faults).toEqual([]);
  expect(storedEvents("aggregate_id = 'sent'")).toHaveLength(299);
  killed.child.kill('SIGKILL');
  await killed.ended;

  const again = rig().start('send-events.ts', 'send', [file]);
  expect(await again.ended).toEqual([1, null]);
  expect(again.lines).toEqual([
    '0: 100 have arrived, 0 to send',
    '100: 100 have arrived, 0 to send',
    '200: 100 have arrived, 0 to send',
    '300: 0 have arrived, 100 to send',
    '400: 0 have arrived, 50 to send',
  ]);
  expect(again.errors).toEqual(conflicts.map((key) => expect.stringMatching(`${key}: another`)));
  expect(storedEvents("aggregate_id = 'sent'")).toEqual(
    keys.filter((key) => !conflicts.includes(key)).map(deriveEventId),
  );
});

const BOOKINGS = process.env.FULL ? 90 : 20;

/** The rows of an outbox: keys, and problems. */
function rowsOf(folder: string) {
  const file = join(rig().folderOf(folder), 'bookings.sqlite');
  using database = new DatabaseSync(file, { timeout: 5_000 });
  const found = database.prepare('SELECT key, problem FROM outbox ORDER BY seq').all();
  return found.map(({ key, problem }) => [key, problem]);
}

describe.each(['outbox.ts', 'outbox.py', 'outbox.php'])('%s', (program) => {
  skipUnlessRunnable(program);
  const startIn = (folder: string, ...args: string[]) => rig().start(program, folder, args);

  it('sends each event once, and sets aside what is rejected', async () => {
    const start = (...args: string[]) => startIn(program, ...args);
    const rows = () => rowsOf(program);
    const keyOf = (name: string) => `bookings-${program}-${name}-created`;
    await start(`${program}-stored`, '1').ended;
    await start(`${program}-invalid`, '-1').ended;
    await start(`${program}-unsent`, '1').ended;
    // The first event is stored, and the program is killed before it knows.
    rig().faults.push('lost', { status: 503, headers: { 'Retry-After': '3600' } });
    const killed = start();
    await expect.poll(() => rig().statuses).toEqual([503]);
    killed.child.kill('SIGKILL');
    await killed.ended;
    expect(killed.errors[0]).toMatch(/SOCKET|closed connection|Empty reply/);

    const unauthorized = { status: 401, headers: { 'X-Should-Retry': 'false' } };
    rig().faults.push(undefined, undefined, unauthorized);
    const stopped = start();
    expect(await stopped.ended).toEqual([1, null]);
    expect(stopped.errors).toEqual([`${keyOf('unsent')}: 401 {}`]);
    expect(rows()).toEqual([
      [keyOf('invalid'), expect.stringContaining('payload.guests')],
      [keyOf('unsent'), null],
    ]);
    start();
    await expect.poll(() => rig().statuses).toEqual([503, 200, 400, 401, 202]);
    await expect.poll(rows).toHaveLength(1);
    expect(
      storedEvents(
        `aggregate_id IN ('${program}-stored', '${program}-invalid', '${program}-unsent')`,
      ),
    ).toEqual([deriveEventId(keyOf('stored')), deriveEventId(keyOf('unsent'))]);
  });

  it('holds back a booking whose event a firewall rejects until it is repaired, and sends the others, in spite of kills and a second sender', async () => {
    const folder = `firewall-${program}`;
    const start = () => startIn(folder);
    await startIn(folder, `${program}-made`, '2').ended;
    using database = new DatabaseSync(join(rig().folderOf(folder), 'bookings.sqlite'), {
      timeout: 5_000,
    });
    const insert = database.prepare('INSERT INTO outbox (key, event) VALUES (?, ?)');
    const store = (key: string, booking: string, payload = {}) => {
      const { idempotency_key, ...event } = eventOf(key, booking);
      insert.run(idempotency_key, JSON.stringify({ ...event, payload }));
    };
    const keys = Array.from({ length: BOOKINGS }, (_, index) => `${program}-${index}`);
    const [attack, later] = [`${program}-12`, `${program}-12-later`];
    for (const key of keys) {
      store(key, key, key === attack ? { guests: '<script>alert(1)</script>' } : {});
    }
    store(later, attack);
    for (const many of [5, BOOKINGS / 2]) {
      const [first, second] = [start(), start()];
      await expect.poll(() => rig().statuses.length).toBeGreaterThan(many);
      for (const { child } of [first, second]) child.kill('SIGKILL');
      await Promise.all([first.ended, second.ended]);
    }
    start();
    await expect
      .poll(() => rowsOf(folder))
      .toEqual([
        [attack, 'not a response of the service: 403 (cf-ray: 9e0a-MAD) <!DOCTYPE html>'],
        [later, null],
      ]);
    const others = storedEvents(
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
    await expect.poll(() => rowsOf(folder)).toEqual([]);
    expect(storedEvents(`aggregate_id = '${attack}'`)).toEqual([attack, later].map(deriveEventId));
  });

  it('waits while another program has locked its database, and sends each event once', async () => {
    const folder = `locked-${program}`;
    await startIn(folder, `${program}-locked`, '1').ended;
    using database = new DatabaseSync(join(rig().folderOf(folder), 'bookings.sqlite'), {
      timeout: 5_000,
    });
    // SQLite itself does not wait.
    const busyTimeouts: Record<string, [string, string]> = {
      'outbox.ts': ['timeout: 5_000', 'timeout: 0'],
      'outbox.py': ['timeout=5', 'timeout=0'],
      'outbox.php': ['ATTR_TIMEOUT => 5', 'ATTR_TIMEOUT => 0'],
    };
    const variant = rig().variantOf({ [program]: [busyTimeouts[program] ?? ['', '']] });
    const complaints = () =>
      sender.errors.filter((line) => /lock.*, next attempt in 1 s$/.test(line));
    /** Locks the database until the program has complained. */
    async function lock(during = () => {}) {
      database.exec('BEGIN EXCLUSIVE');
      const before = complaints().length;
      during();
      await expect.poll(() => complaints().length).toBeGreaterThan(before);
      database.exec('COMMIT');
    }

    // While it starts, while it waits for a response, and while it has nothing to send.
    const response = Promise.withResolvers<undefined>();
    rig().faults.push(response.promise);
    database.exec('BEGIN EXCLUSIVE');
    const sender = rig().start(join(variant, program), folder);
    await expect.poll(complaints).not.toEqual([]);
    database.exec('COMMIT');
    await expect.poll(() => rig().requests).toHaveLength(1);
    await lock(() => response.resolve(undefined));
    await expect.poll(() => rowsOf(folder)).toEqual([]);
    await lock();
    await startIn(folder, `${program}-unlocked`, '1').ended;
    await expect.poll(() => rowsOf(folder)).toEqual([]);
    expect(rig().statuses).toEqual([202, 202]);
  });

  it('makes each key of ASCII, the same in every language', async () => {
    const folder = `keys-${program}`;
    await startIn(folder, "bk_日é\r\nX-Other: 1-_.~!*'()/ %&", '1').ended;
    expect(rowsOf(folder).map(([key]) => key)).toEqual([
      'bookings-bk_%E6%97%A5%C3%A9%0D%0AX-Other%3A%201-_.~%21%2A%27%28%29%2F%20%25%26-created',
    ]);
  });
});

it('send-events.ts stops at a list of other results', async () => {
  const file = join(rig().folderOf('send-foreign'), 'events.jsonl');
  writeFileSync(file, JSON.stringify(eventOf('send-foreign', 'send-foreign')));
  rig().faults.push(undefined, { status: 200, body: '{"object":"list","data":[]}' });
  const stopped = rig().start('send-events.ts', 'send-foreign', [file]);
  expect(await stopped.ended).toEqual([1, null]);
  expect(stopped.errors.join()).toContain('no result');
  expect(storedEvents("aggregate_id = 'send-foreign'")).toEqual([]);
});
