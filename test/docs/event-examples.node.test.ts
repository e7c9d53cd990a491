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

describe('follow-events.ts', () => {
  const FOLLOW = exampleOf('follow-events.ts');

  it('loses nothing when it is killed, and repeats the one event whose id was not written', async () => {
    const keys = Array.from({ length: 120 }, (_, index) => `followed-${index}`);
    const ids = [...(await post(...keys.slice(0, 60))), ...(await post(...keys.slice(60)))];
    const kill = `if (event.id === '${ids[104]}') process.kill(process.pid, 'SIGKILL');`;
    const variant = rig().variantOf('follow-events.ts', 'handled.add(event.id);', kill);
    const killed = rig().start(variant, 'followed');
    await killed.ended;
    expect(killed.lines.map(idIn)).toEqual(ids.slice(0, 105));
    const again = rig().start(FOLLOW, 'followed');
    await expect.poll(() => again.lines.map(idIn), SOON).toEqual(ids.slice(104));
  });

  it('begins at the time that it gets after a rewind, and skips the events that it has handled', async () => {
    const since = new Date().toISOString();
    const [undone = ''] = await post('undone');
    const follower = rig().start(FOLLOW, 'rewound');
    await expect.poll(() => follower.lines.map(idIn).at(-1), SOON).toBe(undone);
    await rig().rewind(`DELETE FROM events WHERE id = '${undone}'`);
    await follower.ended;
    const [missed = ''] = await post('missed');
    expect(await post('undone')).toEqual([undone]);
    await expect(rig().runOnce(FOLLOW, 'rewound')).rejects.toMatchObject({
      stderr: expect.stringContaining('invalid_cursor'),
    });
    const again = rig().start(FOLLOW, 'rewound', [], { SINCE: since });
    const [newest = ''] = await post('newest');
    await expect.poll(() => again.lines.map(idIn), SOON).toEqual([missed, newest]);
  });
});

describe('send-events.ts', () => {
  const SEND = exampleOf('send-events.ts');

  it('sends the events that have not arrived, when it is killed and run again', async () => {
    const keys = Array.from({ length: 450 }, (_, index) => `sent-ü-${index}`);
    const [held = ''] = keys.slice(420);
    await post(held);
    const file = join(rig().folderOf('send'), 'events.jsonl');
    writeFileSync(file, keys.map((key) => `${JSON.stringify(eventOf(key, 'sent'))}\n`).join(''));
    // The response to the third batch is lost, and the program is killed before it sends it again.
    const rejected = { status: 429, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } };
    rig().faults.push(rejected, undefined, undefined, undefined, 'lost');
    const killed = rig().start(SEND, 'send', [file]);
    await expect.poll(() => storedEvents("aggregate_id = 'sent'").length, SOON).toBe(300);
    killed.child.kill('SIGKILL');
    await killed.ended;

    rig().faults.push(undefined, undefined, undefined, undefined, 'lost');
    const again = rig().start(SEND, 'send', [file]);
    expect(await again.ended).toEqual([1, null]);
    expect(again.lines).toEqual([
      '0: 100 have arrived, 0 to send',
      '100: 100 have arrived, 0 to send',
      '200: 100 have arrived, 0 to send',
      '300: 0 have arrived, 100 to send',
      '400: 0 have arrived, 50 to send',
    ]);
    expect(again.errors.at(-1)).toMatch(`${held}: another body`);
    expect(storedEvents("aggregate_id = 'sent'")).toEqual(
      keys.filter((key) => key !== held).map((key) => v5(key, NAMESPACE)),
    );
  });

  it('tells of an event whose key is stored with another body, and ends with an error', async () => {
    await post('same-body', 'other-body');
    const events = [eventOf('same-body', 'followed'), eventOf('other-body', 'another')];
    const file = join(rig().folderOf('send'), 'conflict.jsonl');
    writeFileSync(file, events.map((event) => JSON.stringify(event)).join('\n'));
    await expect(rig().runOnce(SEND, 'send', file)).rejects.toMatchObject({
      code: 1,
      stdout: '0: 2 have arrived, 0 to send\n',
      stderr: expect.stringMatching(/^other-body: another body/),
    });
  });

  it('ends with the reason when an event is not valid', async () => {
    const file = join(rig().folderOf('send'), 'wrong.jsonl');
    writeFileSync(file, JSON.stringify({ ...eventOf('wrong', 'wrong'), event_type: 'unknown' }));
    await expect(rig().runOnce(SEND, 'send', file)).rejects.toMatchObject({
      stderr: expect.stringContaining('events.0.event_type'),
    });
  });
});

describe('an outbox', () => {
  const OUTBOX = exampleOf('outbox.ts');
  const rowsIn = (folder: string) => () => {
    const file = join(rig().folderOf(folder), 'bookings.sqlite');
    const database = new DatabaseSync(file, { timeout: 5_000 });
    const found = database.prepare('SELECT key, problem FROM outbox ORDER BY seq').all();
    database.close();
    return found.map(({ key, problem }) => [key, String(problem)]);
  };
  const keyOf = (booking: number) => `bookings-bk_${booking}-created`;
  const setAside = (booking: number) => [[keyOf(booking), expect.stringMatching(/payload.guests/)]];

  it('of outbox.ts sends each event once in its order, and sets aside an event that is rejected', async () => {
    for (const [booking, guests] of [7, 8, 9].map((each) => [`bk_${each}`, `${(each - 8) ** 2}`])) {
      await rig().runOnce(OUTBOX, 'outbox', booking ?? '', guests ?? '');
    }
    const kill = "process.kill(process.pid, 'SIGKILL')";
    const variant = rig().variantOf('outbox.ts', 'remove.run(Number(row.seq))', kill);
    await rig().start(variant, 'outbox').ended;

    rig().faults.push(undefined, undefined, 'lost');
    const sender = rig().start(OUTBOX, 'outbox');
    await expect.poll(rowsIn('outbox'), SOON).toEqual(setAside(8));
    expect(rig().statuses).toEqual([202, 200, 400, 200]);
    const sent = [7, 9].map((booking) => `sent ${keyOf(booking)}: 200`);
    await expect.poll(() => sender.lines.slice(1), SOON).toEqual(sent);
    expect(sender.errors[0]).toMatch(/^set aside bookings-bk_8-created: .*payload.guests/);
    expect(storedEvents("aggregate_id IN ('bk_7', 'bk_8', 'bk_9')")).toEqual(
      [7, 9].map((booking) => v5(keyOf(booking), NAMESPACE)),
    );

    rig().faults.push({ status: 401, headers: { 'X-Should-Retry': 'false' } });
    await rig().runOnce(OUTBOX, 'outbox', 'bk_10', '2');
    await sender.ended;
    expect(rowsIn('outbox')()[1]).toEqual([keyOf(10), 'null']);
  });

  it.skipIf(spawnSync('python3', ['--version']).status !== 0)(
    'in Python does the same (skipped where there is no python3)',
    async () => {
      const program = exampleOf('outbox.py');
      for (const booking of ['bk_20 2', 'bk_21 0', 'bk_22 2']) {
        await rig().start(program, 'python', booking.split(' ')).ended;
      }
      const rejected = { status: 429, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } };
      rig().faults.push('lost', rejected);
      const sender = rig().start(program, 'python');
      await expect.poll(rowsIn('python'), SOON).toEqual(setAside(21));
      expect(rig().statuses).toEqual([429, 200, 400, 202]);
      expect(sender.errors).toHaveLength(2);
      expect(storedEvents("aggregate_id IN ('bk_20', 'bk_21', 'bk_22')")).toEqual(
        [20, 22].map((booking) => v5(keyOf(booking), NAMESPACE)),
      );
    },
  );
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

  it('reads all pages and has its event accepted, then repeated', async () => {
    const runClient = async () =>
      (await rig().runOnce('client.ts', 'typed')).stdout.trimEnd().split('\n');
    const first = await runClient();
    const homes = first.slice(0, -1).map((line) => line.split(' ')[1]);
    expect(new Set(homes).size).toBe(homes.length);
    expect(homes.length).toBeGreaterThan(40);
    expect(first.at(-1)).toMatch(/^pending [0-9a-f-]{36}$/);
    const second = await runClient();
    expect(second).toEqual(first.map((line) => line.replace('pending', 'idempotent')));
  });
});

it('every program names the cause within 5 s when the service cannot be reached', async () => {
  const file = join(rig().folderOf('send'), 'one.jsonl');
  writeFileSync(file, JSON.stringify(eventOf('unreached', 'unreached')));
  await rig().runOnce(exampleOf('outbox.ts'), 'unreached', 'bk_11', '2');
  const programs = [
    ...['build-site', 'follow-events', 'keep-copy', 'outbox', 'site-files'].map(
      (name) => [exampleOf(`${name}.ts`), 'unreached', []] as const,
    ),
    [exampleOf('send-events.ts'), 'unreached', [file]] as const,
    ['client.ts', 'typed', []] as const,
  ];
  const API_URL = 'http://localhost:2';
  const started = programs.map(([program, folder, args]) =>
    rig().start(program, folder, [...args], { API_URL }),
  );
  const silent = () => started.filter(({ errors }) => !/ECONNREFUSED/.test(errors.join())).length;
  await expect.poll(silent, { timeout: 10_000 }).toBe(0);
});
