/** A service with the sample listings, behind a proxy with faults, for the programs of docs/examples. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import * as z from 'zod';
import { command as importCommand } from '../../../tools/commands/import-listings.ts';
import { runImportOn } from './in-process.ts';
import { copyWithStore } from './stores.ts';

export const API_KEY = 'dev_key_4f1c09a7b25e4d8391';

/**
 * The words are faults of a response: the service has handled the request, and its response is
 * `lost`, ends within its `headers` or its `body`, `stalls` within its body, or has arrived as a
 * whole message with `half` of the body.
 */
export type Fault =
  | 'lost'
  | 'headers'
  | 'body'
  | 'stalls'
  | 'half'
  | { status: number; headers?: Record<string, string>; body?: string };

type Reply = { status: number; headers: Record<string, string>; body: string };
/** By the name of the example: texts, and what takes their place. */
type Changes = Record<string, readonly (readonly [string, string])[]>;
type Rig = Awaited<ReturnType<typeof startRig>>;

/** What a firewall in front of the service does with a body that looks like an attack. */
const FIREWALL = {
  rejects: '<script',
  reply: {
    status: 403,
    headers: { 'Content-Type': 'text/html', 'CF-RAY': '9e0a-MAD' },
    body: '<!DOCTYPE html>\n<title>Attention Required!</title>',
  },
};

/** Copies of the examples pause for hundredths of the seconds that they name. */
const HURRIED: Changes = {
  'call.ts': [['SECOND_MS = 1_000', 'SECOND_MS = 10']],
  'outbox.ts': [['await pause(1_000)', 'await pause(50)']],
  'outbox.py': [
    ['time.sleep(wait)', 'time.sleep(wait / 100)'],
    ['time.sleep(1)', 'time.sleep(0.05)'],
  ],
  'follow-events.py': [
    ['time.sleep(wait)', 'time.sleep(wait / 100)'],
    ['time.sleep(asked or 0)', 'time.sleep((asked or 0) / 100)'],
  ],
  'outbox.php': [
    [' sleep($wait)', ' usleep($wait * 10_000)'],
    [' sleep(1)', ' usleep(50_000)'],
  ],
  'cards.html': [['1_000 * seconds', '10 * seconds']],
};

/**
 * The program that `python3` starts: a version manager puts a script in its place, which takes
 * longer than Python itself.
 */
const PYTHON = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
});

/** What runs an example, by the end of its name. */
const RUNTIMES: Record<string, string[]> = {
  ts: [process.execPath, '--no-warnings'],
  py: [PYTHON.stdout?.trim() || 'python3'],
  php: ['php'],
};

/** What programs need, by the end of their names. */
const NEEDS: Record<string, string[]> = {
  py: [...(RUNTIMES.py ?? []), '--version'],
  php: ['php', '-r', "curl_init(); new PDO('sqlite::memory:');"],
};

/** Skips the tests of a `describe` where their program cannot run. */
export function skipUnlessRunnable(program: string): void {
  const [command, ...args] = NEEDS[extname(program).slice(1)] ?? [];
  const isRunnable = command === undefined || spawnSync(command, args).status === 0;
  beforeEach(({ skip }) => skip(!isRunnable, `${command} with its usual extensions`));
}

/** Returns the cancellation of a booking, as a batch and `send-events.ts` take it. */
export const eventOf = (idempotency_key: string, aggregate_id: string) => ({
  idempotency_key,
  event_type: 'booking.cancelled',
  aggregate_id,
  aggregate_type: 'booking',
  payload: {},
});

/** Starts the rig for the tests of a file. `varsFor` adds lines to the service's vars. */
export function useRig(varsFor: () => Promise<string[]> = async () => []): () => Rig {
  let rig: Rig | undefined;
  const started = () => rig ?? expect.fail('the rig has not started');
  beforeAll(async () => {
    rig = await startRig(await varsFor());
  });
  beforeEach(() => started().beginTest());
  afterEach(() => started().killPrograms());
  afterAll(() => rig?.stop());
  return started;
}

const servers: Server[] = [];

/** Serves requests on a port of its own until the rig stops. Returns the origin. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0);
  servers.push(server);
  await once(server, 'listening');
  return `http://localhost:${z.object({ port: z.int() }).parse(server.address()).port}`;
}

/** Sends a response with a fault. */
function damage(fault: string, reply: Reply, response: ServerResponse): void {
  const { socket } = response;
  if (fault === 'lost') socket?.destroy();
  const body = Buffer.from(reply.body);
  const half = body.subarray(0, body.length / 2);
  const type = `HTTP/1.1 ${reply.status} OK\r\nContent-Type: application/json`;
  const halfOf = (length: number) =>
    Buffer.concat([Buffer.from(`${type}\r\nContent-Length: ${length}\r\n\r\n`), half]);
  if (fault === 'headers') socket?.end(type.slice(0, -10));
  if (fault === 'body') socket?.end(halfOf(body.length));
  if (fault === 'stalls') socket?.write(halfOf(body.length));
  if (fault === 'half') socket?.end(halfOf(half.length));
}

async function startRig(vars: readonly string[]) {
  const directory = mkdtempSync(join(tmpdir(), 'examples-'));
  const project = await copyWithStore('samples');
  const limits = ['RATE_LIMIT_DEFAULT=10000', 'RATE_LIMIT_INGEST=10000'];
  const lines = ['ENVIRONMENT=development', `API_KEY=${API_KEY}`, ...limits, ...vars];
  project.write('.dev.vars', lines.join('\n'));
  const service = await project.serve();
  const programs: { child: ChildProcess; ended: Promise<unknown> }[] = [];
  /**
   * Of the current test: requests, their statuses, and faults of the next requests. A promise holds
   * its request back.
   */
  const requests: string[] = [];
  const statuses: number[] = [];
  const agents = new Set<string | undefined>();
  const faults: (Fault | Promise<undefined> | undefined)[] = [];

  /** Sends a request on, and returns its response whole. Rejects when its sender hangs up. */
  async function passOn(request: IncomingMessage, signal: AbortSignal): Promise<Reply> {
    const {
      host: _,
      connection: __,
      upgrade: ___,
      'content-length': ____,
      ...rest
    } = request.headers;
    const headers = z.record(z.string(), z.string()).parse(rest);
    const { method = 'GET' } = request;
    const body = Buffer.concat(await request.toArray());
    if (body.includes(FIREWALL.rejects)) return FIREWALL.reply;
    const reply = await fetch(`${service.origin}${request.url}`, {
      method,
      headers,
      ...(method === 'POST' && { body }),
      signal,
    });
    const { 'content-encoding': _____, ...kept } = Object.fromEntries(reply.headers);
    return { status: reply.status, headers: kept, body: await reply.text() };
  }

  const origin = await listen(async (request, response) => {
    if (request.method !== 'OPTIONS') requests.push(`${request.method} ${request.url}`);
    agents.add(request.headers['user-agent']);
    const client = new AbortController();
    response.on('close', () => client.abort());
    const fault = await faults.shift();
    const reply =
      typeof fault === 'object'
        ? { headers: {}, body: '{}', ...fault }
        : await passOn(request, client.signal).catch(() => undefined);
    if (!reply) return request.socket.destroy();
    if (typeof fault === 'string') return damage(fault, reply, response);
    statuses.push(reply.status);
    return response.writeHead(reply.status, reply.headers).end(reply.body);
  });
  const env = { ...process.env, API_URL: origin, API_KEY };

  function folderOf(name: string): string {
    const cwd = join(directory, name);
    mkdirSync(cwd, { recursive: true });
    return cwd;
  }

  /** Copies the hurried examples into a folder, with more changes of their text. */
  function copyExamples(folder: string, changes: Changes = {}): string {
    cpSync('docs/examples', folder, { recursive: true });
    for (const [name, replacements] of [...Object.entries(HURRIED), ...Object.entries(changes)]) {
      for (const [from, to] of replacements) {
        const text = readFileSync(join(folder, name), 'utf8');
        expect(text).toContain(from);
        writeFileSync(join(folder, name), text.replaceAll(from, to));
      }
    }
    return folder;
  }

  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  const examples = copyExamples(folderOf('examples'));

  return {
    project,
    service,
    origin,
    requests,
    statuses,
    agents,
    faults,
    folderOf,

    beginTest() {
      for (const list of [requests, statuses, faults]) list.length = 0;
      agents.clear();
    },
    /** No request of an ended program may meet the faults of the next test. */
    async killPrograms() {
      for (const { child, ended } of programs.splice(0)) {
        child.kill('SIGKILL');
        await ended;
      }
    },
    async stop() {
      for (const server of servers.splice(0)) server.close();
      await project.remove();
      rmSync(directory, { recursive: true });
    },

    /** The folder of the hurried examples. */
    examples,
    /** Copies the hurried examples with more changes. Returns the folder. */
    variantOf: (changes: Changes) =>
      copyExamples(mkdtempSync(join(directory, 'variant-')), changes),
    /**
     * Starts a hurried example, or a program by its whole path. Returns it with the lines that it writes.
     */
    start(program: string, folder: string, args: string[] = [], more: Record<string, string> = {}) {
      const path = resolve(examples, program);
      const runtime = [...(RUNTIMES[extname(program).slice(1)] ?? []), path];
      const [command = '', ...flags] = runtime;
      const child = spawn(command, [...flags, ...args], {
        cwd: folderOf(folder),
        env: { ...env, ...more },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [lines, errors]: [string[], string[]] = [[], []];
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
      createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
      const ended = once(child, 'close');
      programs.push({ child, ended });
      return { child, lines, errors, ended };
    },

    /** Changes the listings, as an editor does. */
    async change(record: object, ...options: string[]): Promise<void> {
      const file = project.write('patch.json', { properties: [record] });
      const done = await runImportOn(service.database, importCommand, file, '--patch', ...options);
      expect(done).toMatchObject({ code: 0 });
    },
    /** Undoes changes as a rewind does, after which the database has a new generation. */
    async rewind(undo: string): Promise<void> {
      const { database } = service;
      const renew = database.prepare('UPDATE database_identity SET generation = ?');
      await database.batch([database.prepare(undo), renew.bind(crypto.randomUUID())]);
    },
  };
}
