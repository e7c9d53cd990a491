/** The programs of docs/examples that send and follow events, and the typed client. */

import { execFile, spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { v5 } from 'uuid';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createOpenApiDocument } from '../../src/api-document.ts';
import { API_KEY, exampleOf, SOON, useRig } from './example-rig.ts';

const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const rig = useRig();

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

it('follow-events.ts repeats the one event at which it was killed, and goes on from a time after a rewind', async () => {
  const follow = (more = {}) => rig().start(exampleOf('follow-events.ts'), 'followed', [], more);
  const keys = Array.from({ length: 120 }, (_, index) => `followed-${index}`);
  const ids = [...(await post(...keys.slice(0, 60))), ...(await post(...keys.slice(60)))];
  const kill = `if (event.id === '${ids[104]}') process.kill(process.pid, 'SIGKILL');`;
  const variant = rig().variantOf('follow-events.ts', 'handled.add(event.id);', kill);
  const killed = rig().start(variant, 'followed');
  await killed.ended;
  expect(killed.lines.map(idIn)).toEqual(ids.slice(0, 105));
  const follower = follow();
  await expect.poll(() => follower.lines.map(idIn), SOON).toEqual(ids.slice(104));

  const SINCE = new Date().toISOString();
  const [undone = ''] = await post('undone');
  await expect.poll(() => follower.lines.map(idIn).at(-1), SOON).toBe(undone);
  await rig().rewind(`DELETE FROM events WHERE id = '${undone}'`);
  await follower.ended;
  expect(follower.errors.join()).toContain('invalid_cursor');
  const [missed] = await post('missed');
  expect(await post('undone')).toEqual([undone]);
  const again = follow({ SINCE });
  const [newest] = await post('newest');
  await expect.poll(() => again.lines.map(idIn), SOON).toEqual([missed, newest]);
});

it('send-events.ts sends the events that have not arrived when it is run again, and names those whose key has another body', async () => {
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

const PYTHON_IS_MISSING = spawnSync('python3', ['--version']).status !== 0;

it.for([
  ['outbox.ts', 10],
  ['outbox.py', 20],
] as const)(
  '%s sends each event once in its order, keeps what it could not send, and sets aside an event that is rejected',
  async ([program, first], { skip }) => {
    skip(PYTHON_IS_MISSING && program.endsWith('.py'), 'there is no python3');
    const start = (...args: string[]) => rig().start(exampleOf(program), program, args);
    const keyOf = (booking: number) => `bookings-bk_${booking}-created`;
    const rows = () => {
      const file = join(rig().folderOf(program), 'bookings.sqlite');
      const database = new DatabaseSync(file, { timeout: 5_000 });
      const found = database.prepare('SELECT key, problem FROM outbox ORDER BY seq').all();
      database.close();
      return found.map(({ key, problem }) => [key, problem]);
    };
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
    expect(killed.errors[0]).toMatch(/SOCKET|closed connection/);

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
