/** The programs and curl lines of the documents, run as they stand against one service. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
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
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { fileOf } from '../support/node/listings-file.ts';
import { claimPort } from '../support/node/port.ts';
import type { ProjectCopy, Service } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { noteSent } from '../support/watch-service-log.ts';
import { codeBlocksOf, DOCUMENTS } from './markdown.ts';

const API_KEY = 'dev_key_4f1c09a7b25e4d8391';
const EVENTS = '/api/v1/events';
const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'documents-'));

/** The consumers that were started. */
const consumers: ChildProcess[] = [];
let project: ProjectCopy;
let service: Service;
let proxy: Proxy;

beforeAll(async () => {
  project = await copyWithStore('samples');
  project.write('.dev.vars', `API_KEY=${API_KEY}\nENVIRONMENT=development\nFEED_CACHE_SECONDS=0\n`);
  service = await project.serve(await claimPort());
  proxy = await startProxy(service.origin);
  symlinkSync(realpathSync('node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(directory, 'follow-events.ts'), programOf('docs/following-events.md'));
  writeFileSync(join(directory, 'build-site.ts'), programOf('docs/building-a-site.md'));
});

afterAll(async () => {
  for (const consumer of consumers) consumer.kill('SIGKILL');
  proxy?.server.close();
  await project.remove();
  rmSync(directory, { recursive: true });
});

function programOf(document: string): string {
  const [program, ...others] = codeBlocksOf(document, 'ts');
  expect(others).toEqual([]);
  return z.string().parse(program);
}

/** A proxy before the service. It records statuses, and answers with faults that a test asks for. */
type Proxy = {
  server: Server;
  origin: string;
  statuses: number[];
  faults: Fault[];
  client: string;
};
type Fault = { status: number; headers?: Record<string, string> };

async function startProxy(target: string): Promise<Proxy> {
  const statuses: number[] = [];
  const faults: Fault[] = [];
  const server = createServer(async (request, response) => {
    const fault = faults.shift();
    if (fault?.status === 0) return request.socket.destroy();
    const { host: _, connection: __, ...headers } = request.headers;
    const answer = fault
      ? new Response('{}', { status: fault.status, headers: fault.headers ?? {} })
      : await fetch(`${target}${request.url}`, {
          headers: z
            .record(z.string(), z.string())
            .parse({ ...headers, 'CF-Connecting-IP': proxy.client }),
        });
    statuses.push(answer.status);
    const { 'content-encoding': ___, ...sent } = Object.fromEntries(answer.headers);
    response.writeHead(answer.status, sent);
    return response.end(await answer.text());
  }).listen(0);
  await once(server, 'listening');
  const { port } = z.object({ port: z.int() }).parse(server.address());
  return { server, origin: `http://localhost:${port}`, statuses, faults, client: '192.0.2.1' };
}

/** Gives the proxy a new client address, and clears its records. */
function asClient(address: string): void {
  proxy.client = address;
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
    const options = ['--strict', '--noEmit', '--target', 'es2024', '--module', 'nodenext'];
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

async function post(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const response = await fetch(`${service.origin}/api/public/events/ingest`, {
      method: 'POST',
      headers: {
        'x-api-key': API_KEY,
        'Content-Type': 'application/json',
        'CF-Connecting-IP': '192.0.2.98',
      },
      body: JSON.stringify({
        event_type: 'booking.cancelled',
        aggregate_id: `followed-${index}`,
        aggregate_type: 'booking',
        payload: {},
      }),
    });
    expect(response.status).toBe(202);
  }
}

/** Runs the consumer in a folder of its own until it has handled so many events, then kills it. */
async function follow(
  folder: string,
  { until, program = 'follow-events.ts' }: { until: (ids: string[]) => boolean; program?: string },
): Promise<string[]> {
  const { child, ids } = startFollowing(folder, program, (handled) => {
    if (until(handled)) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return ids;
}

function startFollowing(
  folder: string,
  program: string,
  onEvent: (ids: string[]) => void,
): { child: ChildProcess; ids: string[] } {
  const cwd = join(directory, folder);
  mkdirSync(cwd, { recursive: true });
  const child = spawn(process.execPath, ['--no-warnings', join('..', program)], {
    cwd,
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  consumers.push(child);
  const ids: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    ids.push(line.split(' ')[0] ?? '');
    onEvent(ids);
  });
  return { child, ids };
}

describe('the consumer of docs/following-events.md', () => {
  beforeAll(() => post(120));

  it('loses nothing when it is killed, and repeats at most the event that it was at', async () => {
    asClient('192.0.2.2');
    const expected = await allEvents();
    const last = expected.at(-1);
    // One that takes its time over an event, so that it is killed before it has handled all.
    const slow = programOf('docs/following-events.md').replace(
      'last = event.id;',
      'last = event.id;\n    await pause(10);',
    );
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

  it('repeats the one event whose checkpoint was not written, and no other', async () => {
    asClient('192.0.2.3');
    const expected = await allEvents();
    const crashing = programOf('docs/following-events.md').replace(
      'last = event.id;',
      `if (event.id === '${expected[9]}') process.kill(process.pid, 'SIGKILL');\n    last = event.id;`,
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
    const { child, ids } = startFollowing('waiting', 'follow-events.ts', () => undefined);
    await expect.poll(() => ids.length, { timeout: 20_000 }).toBe(before.length);
    proxy.faults.push(
      { status: 0 },
      { status: 500, headers: { 'X-Should-Retry': 'true' } },
      { status: 429, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } },
    );
    await post(1);
    await expect.poll(() => ids, { timeout: 20_000 }).toEqual(await allEvents());
    await expect.poll(() => checkpointOf('waiting')).toBe(ids.at(-1));
    child.kill('SIGKILL');
    await once(child, 'close');

    const [, newest = ''] = [await post(1), (await allEvents()).at(-1)];
    expect(await follow('waiting', { until: (handled) => handled.includes(newest) })).toEqual([
      newest,
    ]);
  });

  it('ends when its checkpoint is no event', async () => {
    asClient('192.0.2.5');
    const cwd = join(directory, 'foreign');
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'checkpoint.txt'), '00000000-0000-4000-8000-000000000000');
    const program = ['--no-warnings', join('..', 'follow-events.ts')];
    await expect(run(process.execPath, program, { cwd, env: environment() })).rejects.toMatchObject(
      { stderr: expect.stringContaining('after_id') },
    );
  });

  function checkpointOf(folder: string): string {
    return readFileSync(join(directory, folder, 'checkpoint.txt'), 'utf8');
  }
});

describe('the program of docs/building-a-site.md', () => {
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
