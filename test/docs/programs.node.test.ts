/** The programs and curl lines of the documents, run as they stand against one service. */

import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { v5 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { fileOf } from '../support/node/listings-file.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import type { ServedCopy } from '../support/node/served-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { noteSent } from '../support/watch-service-log.ts';
import { codeBlocksOf, DOCUMENTS } from './markdown.ts';

const API_KEY = 'dev_key_4f1c09a7b25e4d8391';
const EVENTS = '/api/v1/events';
const FOLLOWING = 'docs/guides/following-events.md';
const CONSUMER = programOf(FOLLOWING);
const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'documents-'));

/** The consumers that were started. */
const consumers: ChildProcess[] = [];
let project: ProjectCopy;
let service: ServedCopy;
let proxy: Proxy;

beforeAll(async () => {
  project = await copyWithStore('samples');
  project.write('.dev.vars', `API_KEY=${API_KEY}\nENVIRONMENT=development\nFEED_CACHE_SECONDS=0\n`);
  service = await project.serve();
  proxy = await startProxy(service.origin);
  symlinkSync(realpathSync('node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(directory, 'follow-events.ts'), CONSUMER);
  writeFileSync(join(directory, 'build-site.ts'), programOf('docs/guides/building-a-site.md'));
  writeFileSync(join(directory, 'send-events.js'), programOf(FOLLOWING, 'js'));
  writeFileSync(join(directory, 'send_events.py'), programOf(FOLLOWING, 'python'));
});

afterAll(async () => {
  for (const consumer of consumers) consumer.kill('SIGKILL');
  proxy?.server.close();
  await project.remove();
  rmSync(directory, { recursive: true });
});

function programOf(document: string, language = 'ts'): string {
  const [program, ...others] = codeBlocksOf(document, language);
  expect(others).toEqual([]);
  return z.string().parse(program);
}

/** A proxy before the service. It records requests and statuses, and answers with faults that a test asks for. */
type Proxy = {
  server: Server;
  origin: string;
  /** The requests that have reached it: methods, paths and queries. */
  requests: string[];
  statuses: number[];
  /** What happens to the next requests; nothing to an undefined one. */
  faults: (Fault | undefined)[];
  client: string;
};
/** `lost`: the request is passed on, and its answer lost. A status of 0 is no answer. */
type Fault = 'lost' | { status: number; headers?: Record<string, string>; body?: string };

async function startProxy(target: string): Promise<Proxy> {
  const requests: string[] = [];
  const statuses: number[] = [];
  const faults: Proxy['faults'] = [];
  const server = createServer(async (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const fault = faults.shift();
    const client = new AbortController();
    response.on('close', () => client.abort());
    const answer =
      typeof fault === 'object'
        ? answerOf(fault)
        : await passOn(request, target, client.signal).catch(() => undefined);
    if (answer === undefined || fault === 'lost') return request.socket.destroy();
    statuses.push(answer.status);
    const { 'content-encoding': _, ...sent } = Object.fromEntries(answer.headers);
    response.writeHead(answer.status, sent);
    return response.end(await answer.text());
  }).listen(0);
  await once(server, 'listening');
  const { port } = z.object({ port: z.int() }).parse(server.address());
  const origin = `http://localhost:${port}`;
  return { server, origin, requests, statuses, faults, client: '192.0.2.1' };
}

function answerOf({ status, headers = {}, body = '{}' }: Exclude<Fault, 'lost'>) {
  return status === 0 ? undefined : new Response(body, { status, headers });
}

/** Sends a request on as the proxy's client. Rejects when its sender hangs up. */
async function passOn(
  request: IncomingMessage,
  target: string,
  signal: AbortSignal,
): Promise<Response> {
  const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
  const sent = z.record(z.string(), z.string());
  const isPost = request.method === 'POST';
  return fetch(`${target}${request.url}`, {
    method: isPost ? 'POST' : 'GET',
    headers: sent.parse({ ...headers, 'CF-Connecting-IP': proxy.client }),
    ...(isPost && { body: Buffer.concat(await request.toArray()) }),
    signal,
  });
}

/** Gives the proxy a new client address, and clears its records. */
function asClient(address: string): void {
  proxy.client = address;
  proxy.requests.length = 0;
  proxy.statuses.length = 0;
}

const environment = () => ({
  ...process.env,
  API_URL: proxy.origin,
  API_KEY,
  PAUSE_SECONDS: '0.1',
});

describe('the programs of the documents', () => {
  it('compile under strict rules', async () => {
    const options = '--strict --singleThreaded --noEmit --target es2024 --module nodenext'.split(
      ' ',
    );
    const strictness = ['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
    const compiled = await run(
      resolve('node_modules/.bin/tsc'),
      [...options, ...strictness, '--types', 'node', 'follow-events.ts', 'build-site.ts'],
      { cwd: directory },
    ).catch((error: unknown) => z.object({ stdout: z.string() }).parse(error));
    expect(compiled.stdout).toBe('');
  });
});

const idsPage = z.object({
  data: z.array(z.object({ id: z.string() })),
  next_cursor: z.string().nullable(),
});

/** The ids of all events, in the order of the stream. */
async function allEvents(): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const next: string = cursor === '' ? '' : `&cursor=${cursor}`;
    const response = await fetch(`${service.origin}${EVENTS}?order=asc&limit=100${next}`, {
      headers: { 'x-api-key': API_KEY, 'CF-Connecting-IP': '192.0.2.99' },
    });
    const page = idsPage.parse(await response.json());
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  return ids;
}

/** Stores one event, as a batch: KV may know the key of an event that is undone. Returns its id. */
async function post(key: string = crypto.randomUUID(), aggregateId = 'followed'): Promise<string> {
  const response = await fetch(`${service.origin}/api/public/events/ingest/batch`, {
    method: 'POST',
    headers: {
      'x-api-key': API_KEY,
      'Content-Type': 'application/json',
      'CF-Connecting-IP': '192.0.2.98',
    },
    body: JSON.stringify({ events: [eventOf(key, aggregateId)] }),
  });
  const [result] = z.object({ data: z.array(resultOfPost) }).parse(await response.json()).data;
  return z.string().parse(result?.event.id);
}

const resultOfPost = z.object({
  outcome: z.literal('accepted'),
  event: z.object({ id: z.string() }),
});

const eventOf = (idempotency_key: string, aggregate_id: string) => ({
  idempotency_key,
  event_type: 'booking.cancelled',
  aggregate_id,
  aggregate_type: 'booking',
  payload: {},
});

/** Runs the consumer in a folder of its own until it has handled so many events, then kills it. */
async function follow(
  folder: string,
  {
    until,
    program = 'follow-events.ts',
    since = '',
  }: { until: (ids: string[]) => boolean; program?: string; since?: string },
): Promise<string[]> {
  const onEvent = (handled: string[]) => {
    if (until(handled)) child.kill('SIGKILL');
  };
  const { child, ids } = startFollowing(folder, { program, onEvent, since });
  await once(child, 'close');
  return ids;
}

function startFollowing(
  folder: string,
  {
    program = 'follow-events.ts',
    onEvent = () => undefined,
    since = '',
  }: { program?: string; onEvent?: (ids: string[]) => void; since?: string } = {},
): { child: ChildProcess; ids: string[] } {
  const cwd = join(directory, folder);
  mkdirSync(cwd, { recursive: true });
  const child = spawn(process.execPath, ['--no-warnings', join('..', program)], {
    cwd,
    env: { ...environment(), SINCE: since },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  consumers.push(child);
  const ids: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    ids.push(line.split(' ')[0] ?? '');
    onEvent(ids);
  });
  return { child, ids };
}

describe('the consumer of docs/guides/following-events.md', () => {
  beforeAll(async () => {
    for (let index = 0; index < 120; index += 1) await post();
  });

  it('loses nothing when it is killed, and repeats at most the event that it was at', async () => {
    asClient('192.0.2.2');
    const expected = await allEvents();
    const last = expected.at(-1);
    // One that takes its time over an event, so that it is killed before it has handled all.
    const slow = CONSUMER.replace('await handle(event);', 'await pause(10), await handle(event);');
    writeFileSync(join(directory, 'slow.ts'), slow);
    const isPast = (events: number) => (ids: string[]) =>
      ids.length >= events || ids.at(-1) === last;
    const runs = [
      await follow('killed', { until: isPast(20), program: 'slow.ts' }),
      await follow('killed', { until: isPast(40), program: 'slow.ts' }),
      await follow('killed', { until: (ids) => ids.at(-1) === last }),
    ];
    expect(runs.map(({ length }) => length > 0)).toEqual([true, true, true]);
    const handled = runs.flatMap((ids, index) => {
      const [first, ...rest] = ids;
      return index > 0 && first === runs[index - 1]?.at(-1) ? rest : ids;
    });
    expect(handled).toEqual(expected);
  });

  it('repeats the one event whose id was not written, and no other', async () => {
    asClient('192.0.2.3');
    const expected = await allEvents();
    const crashing = CONSUMER.replace(
      'handled.add(event.id);',
      `if (event.id === '${expected[9]}') process.kill(process.pid, 'SIGKILL');`,
    );
    writeFileSync(join(directory, 'crashing.ts'), crashing);
    const first = await follow('crash', { until: () => false, program: 'crashing.ts' });
    expect(first).toEqual(expected.slice(0, 10));
    const second = await follow('crash', { until: (ids) => ids.at(-1) === expected.at(-1) });
    expect(second).toEqual(expected.slice(9));
  });

  it('finds what comes later, through lost answers, a 500 and a 429, and repeats nothing after a wait', async () => {
    asClient('192.0.2.4');
    const before = await allEvents();
    const { child, ids } = startFollowing('waiting');
    await expect.poll(() => ids.length, { timeout: 20_000 }).toBe(before.length);
    proxy.faults.push(
      { status: 0 },
      { status: 500, headers: { 'X-Should-Retry': 'true' } },
      { status: 429, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } },
    );
    await post();
    await expect.poll(() => proxy.faults, { timeout: 20_000 }).toEqual([]);
    await post();
    await expect.poll(() => ids, { timeout: 20_000 }).toEqual(await allEvents());
    const handledIds = join(directory, 'waiting', 'handled.txt');
    await expect.poll(() => readFileSync(handledIds, 'utf8')).toContain(ids.at(-1));
    child.kill('SIGKILL');
    await once(child, 'close');

    const newest = await post();
    const handled = await follow('waiting', { until: (ids) => ids.includes(newest) });
    expect(handled).toEqual([newest]);
  });

  it('waits for events, so that two of them and a build of the site share one address', async () => {
    asClient('192.0.2.8');
    const before = await allEvents();
    const two = ['one', 'other'].map((folder) => startFollowing(folder));
    const bothHave = (events: number) =>
      expect
        .poll(() => two.map(({ ids }) => ids.length), { timeout: 20_000 })
        .toEqual([events, events]);
    await bothHave(before.length);
    for (let event = 1; event <= 5; event += 1) {
      await post();
      await bothHave(before.length + event);
    }
    const asked = proxy.requests.filter((request) => request.startsWith(`GET ${EVENTS}`));
    // One request for each page that was there, for each event that came, and one that waits.
    const pages = Math.ceil(before.length / 100);
    expect(asked.length).toBeLessThanOrEqual(2 * (pages + 5 + 1));
    expect(asked.filter((request) => !request.includes('&wait=25'))).toEqual([]);
    await run(process.execPath, ['--no-warnings', join('..', 'build-site.ts')], {
      cwd: join(directory, 'one'),
      env: environment(),
    });
    expect(new Set(proxy.statuses)).toEqual(new Set([200]));
    for (const { child } of two) child.kill('SIGKILL');
  });

  it('pauses when its request is not held', async () => {
    asClient('192.0.2.9');
    const program = CONSUMER.replace(
      "import { setTimeout as pause } from 'node:timers/promises';",
      "const pause = async (ms: number) => console.log('pause', ms);",
    );
    writeFileSync(join(directory, 'pausing.ts'), program);
    const body = '{"data":[],"resume_cursor":""}';
    proxy.faults.push({ status: 200, headers: {}, body });
    const [first, ...others] = await follow('full', { until: () => true, program: 'pausing.ts' });
    expect([first, others]).toEqual(['pause', []]);
  });

  it('begins again at the time that it is told after a set-back, and passes over what it has handled', async () => {
    asClient('192.0.2.10');
    const key = crypto.randomUUID();
    const since = new Date().toISOString();
    const undone = await post(key);
    const last = z.string().parse((await allEvents()).at(-1));
    expect(last).toBe(undone);
    const { child, ids } = startFollowing('set-back');
    await expect.poll(() => ids.at(-1), { timeout: 20_000 }).toBe(undone);

    project.execute(`DELETE FROM events WHERE id = '${undone}';
      UPDATE database_identity SET generation = 'another'`);
    await once(child, 'close');
    const missed = await post();
    expect(await post(key)).toBe(undone);
    const newest = await post();
    const refused = run(process.execPath, ['--no-warnings', join('..', 'follow-events.ts')], {
      cwd: join(directory, 'set-back'),
      env: environment(),
    });
    await expect(refused).rejects.toMatchObject({
      stderr: expect.stringContaining('invalid_cursor'),
    });
    const again = startFollowing('set-back', { since });
    const checkpoint = join(directory, 'set-back', 'checkpoint.json');
    await expect.poll(() => readFileSync(checkpoint, 'utf8'), { timeout: 20_000 }).toContain(since);
    expect(again.ids).toEqual([missed, newest]);
    again.child.kill('SIGKILL');
    const next = await post();
    expect(await follow('set-back', { until: (ids) => ids.includes(next) })).toEqual([next]);
  });
});

const hasPython = spawnSync('python3', ['--version']).status === 0;

describe('the backfill of docs/guides/following-events.md', () => {
  const send = (program: readonly string[], file: string) => {
    const [command = '', ...args] = program;
    return run(command, [...args, file], { cwd: directory, env: environment() });
  };

  async function brokenOff(name: string, program: readonly string[]): Promise<void> {
    const keys = Array.from({ length: 450 }, (_, index) => `${name}-ü-${index}`);
    const held = z.string().parse(keys[420]);
    await post(held, 'another');
    const file = join(directory, `${name}.jsonl`);
    writeFileSync(file, keys.map((key) => `${JSON.stringify(eventOf(key, name))}\n`).join(''));

    // The answer to the third batch is lost, and the program is killed before it sends it again.
    const refused = { status: 429, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } };
    proxy.faults.push(refused, undefined, undefined, undefined, 'lost');
    const [command = '', ...args] = program;
    const options = { cwd: directory, env: environment(), stdio: 'ignore' } as const;
    const child = spawn(command, [...args, file], options);
    consumers.push(child);
    await expect.poll(() => storedBy(name).length, { timeout: 20_000 }).toBe(300);
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(proxy.requests.map((request) => request.split('?')[0])).toEqual([
      'GET /api/v1/events',
      'GET /api/v1/events',
      ...Array(3).fill('POST /api/public/events/ingest/batch'),
    ]);

    proxy.faults.push(undefined, undefined, undefined, undefined, 'lost');
    const { stdout, stderr } = await send(program, file);
    expect(stdout.trim().split('\n')).toEqual([
      '0: 100 have arrived, 0 to send',
      '100: 100 have arrived, 0 to send',
      '200: 100 have arrived, 0 to send',
      '300: 0 have arrived, 100 to send',
      '400: 0 have arrived, 50 to send',
    ]);
    expect(stderr.trim()).toBe(`${held} idempotency_key_in_use`);
    expect(proxy.faults).toEqual([]);
    const sent = keys.filter((key) => key !== held);
    expect(storedBy(name)).toEqual(sent.map((key) => v5(key, NAMESPACE)));
  }

  const storedBy = (name: string) =>
    project
      .rows(`SELECT id FROM events WHERE aggregate_id = '${name}' ORDER BY seq`)
      .map(({ id }) => id);

  it('in JavaScript sends what has not arrived when it is killed and run again', async () => {
    asClient('192.0.2.11');
    await brokenOff('javascript', [process.execPath, 'send-events.js']);
  });

  it.skipIf(!hasPython)('in Python does the same (skipped where there is no python3)', async () => {
    asClient('192.0.2.12');
    await brokenOff('python', ['python3', 'send_events.py']);
  });

  it('ends with the reason when an event does not fit', async () => {
    asClient('192.0.2.13');
    const file = join(directory, 'wrong.jsonl');
    writeFileSync(file, JSON.stringify({ ...eventOf('wrong', 'wrong'), event_type: 'unknown' }));
    const programs = [
      [process.execPath, 'send-events.js'],
      ...(hasPython ? [['python3', 'send_events.py']] : []),
    ];
    for (const program of programs) {
      await expect(send(program, file)).rejects.toMatchObject({
        stderr: expect.stringContaining('events.0.event_type'),
      });
    }
  });
});

describe('the program of docs/guides/building-a-site.md', () => {
  const build = async () => {
    proxy.statuses.length = 0;
    const options = { cwd: directory, env: environment() };
    await run(process.execPath, ['--no-warnings', 'build-site.ts'], options);
    return proxy.statuses;
  };
  const site = () =>
    readdirSync(join(directory, 'site'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.html'))
      .sort()
      .map((name) => [name, readFileSync(join(directory, 'site', name), 'utf8')] as const);

  it('builds a page for each listing in each language, then transfers only what has changed', async () => {
    asClient('192.0.2.6');
    const headers = { 'X-Should-Retry': 'true', 'Retry-After': '1' };
    proxy.faults.push({ status: 500, headers }, { status: 429, headers });
    expect(await build()).toEqual([500, 429, 200]);
    const first = site();
    expect(first.length).toBeGreaterThan(3 * 40);
    expect(await build()).toEqual([304]);
    expect(site()).toEqual(first);

    const stored = z
      .object({ properties: z.array(z.looseObject({ id: z.string(), slug: z.string() })) })
      .parse(JSON.parse(readFileSync('tools/samples/listings.json', 'utf8')));
    const listing = stored.properties.find(({ slug }) => slug === 'casa-ginebrera');
    const changed = {
      ...z.looseObject({ id: z.string(), slug: z.string() }).parse(listing),
      location_id: null,
      amenities: [],
      title: { es: 'Casa <nueva>' },
      description: { es: 'Uno\n\nDos' },
    };
    const file = project.write('changed.json', fileOf([changed]));
    expect(await project.run('import-listings.ts', file)).toMatchObject({ code: 0 });
    expect(await build()).toEqual([200]);
    const pages = new Map(site());
    const page = pages.get('en/casa-ginebrera.html');
    expect(page).toContain('<h2 lang="es">Casa &#60;nueva&#62;</h2>');
    expect(page).toContain('<div lang="es">Uno<br><br>Dos</div>');
    const same = first.filter(([name, text]) => pages.get(name) === text);
    // The listing's own pages and the list pages that show it.
    expect(first.length - same.length).toBe(6);
  });
});

/** Blocks of `sh` are run as they stand. Blocks of `bash` are only read. */
const scripts = DOCUMENTS.filter((path) => path !== 'README.md').flatMap((path) =>
  codeBlocksOf(path, 'sh')
    .filter((script) => script.includes('curl '))
    .map((script) => ({ path, script })),
);

describe('the curl lines of the documents', () => {
  it('are found', () => {
    expect(scripts.length).toBeGreaterThan(6);
  });

  it.each(scripts)('work as they stand in $path: $script', async ({ script }) => {
    expect(script).toContain('http://localhost:3001/');
    noteSent(script);
    const { stdout } = await run(
      'sh',
      [
        '-ec',
        script
          .replaceAll('http://localhost:3001', service.origin)
          .replaceAll('curl ', "curl -f -H 'CF-Connecting-IP: 192.0.2.7' "),
      ],
      { cwd: project.directory, timeout: 30_000 },
    );
    if (script.includes('If-None-Match')) expect(stdout).toBe('304\n');
    else expect(stdout).toMatch(/^\{"object":/);
  });
});
