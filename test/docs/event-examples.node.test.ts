/** The programs of docs/examples that send and follow events, and the typed client. */

import { execFile, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { v5 } from 'uuid';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createOpenApiDocument } from '../../src/api-document.ts';
import { API_KEY, exampleOf, JDBC_DRIVER, SOON, useRig } from './example-rig.ts';

const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const rig = useRig();

/** Why a program cannot run here. */
const MISSING = {
  ts: '',
  py: runs('python3', '--version') ? '' : 'there is no python3',
  php: runs('php', '-r', "new PDO('sqlite::memory:');") ? '' : 'there is no php with pdo_sqlite',
  java:
    runs('javac', '--version') && existsSync(JDBC_DRIVER) ? '' : `no java, or no ${JDBC_DRIVER}`,
};

function runs(command: string, ...args: string[]): boolean {
  return spawnSync(command, args).status === 0;
}

const eventOf = (idempotency_key: string, aggregate_id: string) => ({
  idempotency_key,
  event_type: 'booking.cancelled',
  aggregate_id,
  aggregate_type: 'booking',
  payload: {},
});

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

it.for([
  [
    'follow-events.ts',
    'handled.add(event.id);',
    "if (event.id === 'ID') process.kill(process.pid, 'SIGKILL');",
  ],
  [
    'follow-events.py',
    'handled.add(event["id"])',
    'if event["id"] == "ID": os.kill(os.getpid(), 9)',
  ],
] as const)(
  '%s repeats the one event at which it was killed, and goes on from a time after a rewind',
  async ([program, line, killAtId], { skip }) => {
    skip(program.endsWith('.py') && MISSING.py !== '', MISSING.py);
    const folder = `followed-${program}`;
    const START = new Date().toISOString();
    const follow = (more = { SINCE: START }) => rig().start(exampleOf(program), folder, [], more);
    const keys = Array.from({ length: 120 }, (_, index) => `${program}-${index}`);
    const ids = [...(await post(...keys.slice(0, 60))), ...(await post(...keys.slice(60)))];
    const variant = rig().variantOf(program, line, killAtId.replace('ID', ids[104] ?? ''));
    const killed = rig().start(variant, folder, [], { SINCE: START });
    await killed.ended;
    expect(killed.lines.map(idIn)).toEqual(ids.slice(0, 105));
    const follower = follow();
    await expect.poll(() => follower.lines.map(idIn), SOON).toEqual(ids.slice(104));

    const SINCE = new Date().toISOString();
    const [undone = ''] = await post(`${program}-undone`);
    await expect.poll(() => follower.lines.map(idIn).at(-1), SOON).toBe(undone);
    await rig().rewind(`DELETE FROM events WHERE id = '${undone}'`);
    await follower.ended;
    expect(follower.errors.join()).toContain('invalid_cursor');
    const [missed] = await post(`${program}-missed`);
    expect(await post(`${program}-undone`)).toEqual([undone]);
    const again = follow({ SINCE });
    const [newest] = await post(`${program}-newest`);
    await expect.poll(() => again.lines.map(idIn), SOON).toEqual([missed, newest]);
  },
);

it('send-events.ts that is run again sends only what has not arrived', async () => {
  const SEND = exampleOf('send-events.ts');
  const keys = Array.from({ length: 450 }, (_, index) => `sent-ü-${index}`);
  // The first is found among the stored events, the second when it is sent.
  const conflicts = ['sent-ü-20', 'sent-ü-420'];
  await post(...conflicts);
  const file = join(rig().folderOf('send'), 'events.jsonl');
  writeFileSync(file, keys.map((key) => `${JSON.stringify(eventOf(key, 'sent'))}\n`).join(''));
  // The response to the third batch is lost, and the program is killed before it sends it again.
  const rejected = { status: 429, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } };
  rig().faults.push(rejected, undefined, undefined, undefined, undefined, 'lost');
  const killed = rig().start(SEND, 'send', [file]);
  await expect.poll(() => storedEvents("aggregate_id = 'sent'").length, SOON).toBe(299);
  killed.child.kill('SIGKILL');
  await killed.ended;

  const again = rig().start(SEND, 'send', [file]);
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
    keys.filter((key) => !conflicts.includes(key)).map((key) => v5(key, NAMESPACE)),
  );
});

const OUTBOXES = [
  ['outbox.ts', 'ts', 10],
  ['outbox.py', 'py', 20],
  ['outbox.php', 'php', 30],
  ['Outbox.java', 'java', 40],
] as const;

const keyOf = (booking: number) => `bookings-bk_${booking}-created`;

/** The rows of an outbox: keys, and problems. */
function rowsOf(folder: string) {
  const file = join(rig().folderOf(folder), 'bookings.sqlite');
  const database = new DatabaseSync(file, { timeout: 5_000 });
  const found = database.prepare('SELECT key, problem FROM outbox ORDER BY seq').all();
  database.close();
  return found.map(({ key, problem }) => [key, problem]);
}

it.for(OUTBOXES)(
  '%s sends each event once, and sets aside what is rejected',
  async ([program, language, first], { skip }) => {
    skip(MISSING[language] !== '', MISSING[language]);
    const start = (...args: string[]) => rig().start(exampleOf(program), program, args);
    const rows = () => rowsOf(program);
    const [second, third] = [first + 1, first + 2];
    for (const booking of [first, second, third]) {
      await start(`bk_${booking}`, booking === second ? '0' : '1').ended;
    }
    // The first event is stored, and the program is killed before it knows.
    rig().faults.push('lost', { status: 503, headers: { 'Retry-After': '60' } });
    const killed = start();
    await expect.poll(() => rig().statuses, SOON).toEqual([503]);
    killed.child.kill('SIGKILL');
    await killed.ended;
    expect(killed.errors[0]).toMatch(/SOCKET|closed connection|no response|IOException/);

    const unauthorized = { status: 401, headers: { 'X-Should-Retry': 'false' } };
    rig().faults.push(undefined, undefined, unauthorized);
    await start().ended;
    expect(rows()).toEqual([
      [keyOf(second), expect.stringContaining('payload.guests')],
      [keyOf(third), null],
    ]);
    start();
    await expect.poll(() => rig().statuses, SOON).toEqual([503, 200, 400, 401, 202]);
    await expect.poll(rows, SOON).toHaveLength(1);
    expect(storedEvents(`aggregate_id IN ('bk_${first}', 'bk_${second}', 'bk_${third}')`)).toEqual(
      [first, third].map((booking) => v5(keyOf(booking), NAMESPACE)),
    );
  },
);

const LOGIN_PAGE = '<title>Sign in</title>\n<form>';

it.for(OUTBOXES)(
  '%s keeps an event, and stops, when a response is not of the service',
  async ([program, language, first], { skip }) => {
    skip(MISSING[language] !== '', MISSING[language]);
    const folder = `foreign-${program}`;
    const start = (...args: string[]) => rig().start(exampleOf(program), folder, args);
    const booking = first + 5;
    await start(`bk_${booking}`, '2').ended;
    const foreign = [
      { status: 302, headers: { Location: '/login' }, body: 'Found' },
      { status: 200, body: LOGIN_PAGE },
      { status: 202, body: '{"object":"event","id":"6bf0acc7-c31d-50b8-a7c2-7bfcd7964fd4"}' },
      { status: 202, body: '[]' },
      { status: 403, headers: { 'cf-mitigated': 'challenge' }, body: LOGIN_PAGE },
      { status: 400, body: 'Bad Request' },
    ];
    for (const fault of foreign) {
      rig().faults.push(fault);
      const stopped = start();
      expect(await stopped.ended).toEqual([1, null]);
      const [firstLine = ''] = fault.body.split('\n');
      const reason = stopped.errors.find((line) => line.includes('not a response of the service'));
      expect(reason).toContain(`${fault.status}`);
      expect(reason).toContain(firstLine);
      expect(reason?.includes('cf-mitigated: challenge')).toBe(fault.status === 403);
      expect(rowsOf(folder)).toEqual([[keyOf(booking), null]]);
    }
    expect(rig().requests).toEqual(Array(6).fill('POST /api/public/events/ingest'));
    // Errors of a proxy that a retry may cure.
    rig().faults.push({ status: 408 }, { status: 429 }, { status: 502 });
    start();
    await expect.poll(() => rig().statuses.at(-1), SOON).toBe(202);
    await expect.poll(() => rowsOf(folder), SOON).toEqual([]);
    for (const agent of rig().agents) expect(agent).toMatch(/^(bookings-outbox|examples)\//);
    expect(storedEvents(`aggregate_id = 'bk_${booking}'`)).toEqual([v5(keyOf(booking), NAMESPACE)]);
  },
);

it.for([
  ...OUTBOXES.map(([program, language]) => [program, language] as const),
  ['follow-events.py', 'py'] as const,
])('%s says in one sentence that API_KEY is absent', async ([program, language], { skip }) => {
  skip(MISSING[language] !== '', MISSING[language]);
  const folder = `no-key-${program}`;
  if (program === 'outbox.ts') await rig().start(exampleOf(program), folder, ['bk_1', '2']).ended;
  const started = rig().start(exampleOf(program), folder, [], { API_KEY: '' });
  expect(await started.ended).toEqual([1, null]);
  expect(started.errors).toEqual(['Set API_KEY to a key of the service.']);
});

it.each([
  ['a login page', LOGIN_PAGE],
  ['a list of other results', '{"object":"list","data":[]}'],
])('send-events.ts stops at %s with status 200', async (_, body) => {
  const file = join(rig().folderOf('send-foreign'), 'events.jsonl');
  writeFileSync(file, JSON.stringify(eventOf('send-foreign', 'send-foreign')));
  rig().faults.push(undefined, { status: 200, body });
  const stopped = rig().start(exampleOf('send-events.ts'), 'send-foreign', [file]);
  expect(await stopped.ended).toEqual([1, null]);
  expect(stopped.errors.join()).toMatch(
    /not a response of the service: 200 <title>Sign in|no result/,
  );
  expect(storedEvents("aggregate_id = 'send-foreign'")).toEqual([]);
});

describe('typed-client.ts, with the types that openapi-typescript generates', () => {
  const OPTIONS = [
    ...['--strict', '--singleThreaded', '--noEmit', '--target', 'es2024', '--types', 'node'],
    ...['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'],
    ...['--module', 'nodenext', '--allowImportingTsExtensions'],
  ];
  const folder = () => rig().folderOf('typed');

  /** Runs a program of the project's packages. Returns what it prints, also when it fails. */
  async function runPackage(name: string, ...args: string[]): Promise<string> {
    const program = resolve('node_modules/.bin', name);
    const ran = promisify(execFile)(program, args, { cwd: folder() });
    return (await ran.catch((error: { stdout: string }) => error)).stdout;
  }

  it('compiles, knows the payload of an event by its type, and rejects unknown fields', async () => {
    const program = readFileSync(exampleOf('typed-client.ts'), 'utf8');
    writeFileSync(join(folder(), 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder(), 'openapi.json'), JSON.stringify(createOpenApiDocument()));
    writeFileSync(join(folder(), 'client.ts'), program);
    copyFileSync(exampleOf('call.ts'), join(folder(), 'call.ts'));
    symlinkSync(realpathSync('node_modules'), join(folder(), 'node_modules'));
    await runPackage('openapi-typescript', 'openapi.json', '--output', 'api.d.ts');
    const wrong = `${program.replace("aggregate_type: 'booking',", "aggregate_kind: 'booking',")}
      import type { components } from './api.d.ts';
      type Stored = components['schemas']['StoredEvent'];
      export const known = (stored: Stored) =>
        stored.type === 'booking.created' ? stored.payload.guests?.toFixed() :
        stored.type === 'booking.cancelled' && stored.payload.reason?.trim();
      export const unknown = ({ payload }: Extract<Stored, { type: 'booking.cancelled' }>) =>
        payload.reason?.toFixed();`;
    writeFileSync(join(folder(), 'wrong.ts'), wrong);
    const errors = await runPackage('tsc', ...OPTIONS, 'wrong.ts');
    expect(errors.match(/error TS.*/g)).toEqual([
      expect.stringContaining("'aggregate_kind' does not exist"),
      expect.stringContaining("Property 'toFixed' does not exist on type 'string'"),
    ]);
  });
});
