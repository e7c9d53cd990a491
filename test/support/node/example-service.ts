/**
 * Runs a service with the sample listings for the programs in docs/examples. The programs call the
 * service through a proxy that can make requests fail.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
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
/** A key that may only read the feed, for the script of a web page. */
export const SITE_KEY = 'epf_site_of-the-cards-page';

/**
 * A fault for the next response. An object replaces the response without calling the service. For
 * all other faults, the service handles the request first. Then its response is lost, ends within
 * its headers or its body, stalls within its body, or is complete but contains only half of the
 * body.
 */
export type Fault =
  | 'lost'
  | 'headers'
  | 'body'
  | 'stalls'
  | 'half'
  | { status: number; headers?: Record<string, string>; body?: string };

type Reply = { status: number; headers: Record<string, string>; body: string };
/** Maps the name of an example to replacements in its text. */
type Changes = Record<string, readonly (readonly [text: string, replacement: string])[]>;
type TestService = Awaited<ReturnType<typeof startTestService>>;

/** The firewall in front of the service. It rejects a body that looks like an attack. */
const FIREWALL = {
  rejects: '<script',
  reply: {
    status: 403,
    headers: { 'Content-Type': 'text/html', 'CF-RAY': '9e0a-MAD' },
    body: '<!DOCTYPE html>\n<title>Attention Required!</title>',
  },
};

/** Replacements that shorten the pauses of the examples, usually to a hundredth. */
const SHORT_PAUSES: Changes = {
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
 * The path of the Python executable. With a version manager, `python3` is a script that takes
 * longer to start.
 */
const PYTHON = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], {
  encoding: 'utf8',
});

/** The command that runs an example, by file extension. */
const RUNTIMES: Record<string, string[]> = {
  ts: [process.execPath, '--no-warnings'],
  py: [PYTHON.stdout?.trim() || 'python3'],
  php: ['php'],
};

/** A command that succeeds only if examples with this file extension can run. */
const REQUIREMENTS: Record<string, string[]> = {
  py: [...(RUNTIMES.py ?? []), '--version'],
  php: ['php', '-r', "curl_init(); new PDO('sqlite::memory:');"],
};

/** Skips the tests of a `describe` if the program cannot run on this computer. */
export function skipUnlessRunnable(program: string): void {
  const [command, ...args] = REQUIREMENTS[extname(program).slice(1)] ?? [];
  const isRunnable = command === undefined || spawnSync(command, args).status === 0;
  beforeEach(({ skip }) => skip(!isRunnable, `${command} with its usual extensions`));
}

/** Returns a cancelled booking in the form that batches and `send-events.ts` use. */
export const cancelBooking = (idempotency_key: string, aggregate_id: string) => ({
  idempotency_key,
  event_type: 'booking.cancelled',
  aggregate_id,
  aggregate_type: 'booking',
  payload: {},
});

let service: TestService | undefined;
let isUsed = false;

/**
 * Starts the service for the tests of a file. All modules that the file imports share it. Returns a
 * function that returns the service.
 */
export function useTestService(): () => TestService {
  const getService = () => service ?? expect.fail('the service has not started');
  if (isUsed) return getService;
  isUsed = true;
  beforeAll(async () => {
    service = await startTestService();
  });
  beforeEach(() => getService().beginTest());
  afterEach(() => getService().killPrograms());
  afterAll(() => service?.stop());
  return getService;
}

async function listen(listener: RequestListener) {
  const server = createServer(listener).listen(0);
  await once(server, 'listening');
  const { port } = z.object({ port: z.int() }).parse(server.address());
  return { origin: `http://localhost:${port}`, close: () => server.close() };
}

/** Sends a response that has the given fault. */
function damage(fault: string, reply: Reply, response: ServerResponse): void {
  const { socket } = response;
  if (fault === 'lost') socket?.destroy();
  const body = Buffer.from(reply.body);
  const half = body.subarray(0, body.length / 2);
  const head = `HTTP/1.1 ${reply.status} OK\r\nContent-Type: application/json`;
  const halfAs = (length: number) =>
    Buffer.concat([Buffer.from(`${head}\r\nContent-Length: ${length}\r\n\r\n`), half]);
  if (fault === 'headers') socket?.end(head.slice(0, -10));
  if (fault === 'body') socket?.end(halfAs(body.length));
  if (fault === 'stalls') socket?.write(halfAs(body.length));
  if (fault === 'half') socket?.end(halfAs(half.length));
}

async function startTestService() {
  const directory = mkdtempSync(join(tmpdir(), 'examples-'));
  /** Responds to requests for the site's pages. */
  let respondAsSite: RequestListener = (_, response) => response.writeHead(404).end();
  const site = await listen((request, response) => respondAsSite(request, response));

  const project = await copyWithStore('samples');
  const sha256 = createHash('sha256').update(SITE_KEY).digest('hex');
  const siteKey = { name: 'site', scopes: ['feed:read'], sha256 };
  const vars = [
    'ENVIRONMENT=development',
    `API_KEY=${API_KEY}`,
    `API_KEYS='${JSON.stringify([siteKey])}'`,
    `CORS_ORIGINS=${site.origin}`,
    'RATE_LIMIT_DEFAULT=10000',
    'RATE_LIMIT_INGEST=10000',
  ];
  project.write('.dev.vars', vars.join('\n'));
  const { origin, database } = await project.serve();

  // What the proxy has received in the current test, and the faults of the next requests. A promise
  // delays its request until it resolves.
  const requests: string[] = [];
  const statuses: number[] = [];
  const agents = new Set<string | undefined>();
  const faults: (Fault | Promise<undefined> | undefined)[] = [];

  /** Returns the service's complete response. Rejects if the client hangs up. */
  async function forward(request: IncomingMessage, signal: AbortSignal): Promise<Reply> {
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
    const reply = await fetch(`${origin}${request.url}`, {
      method,
      headers,
      ...(method === 'POST' && { body }),
      signal,
    });
    const { 'content-encoding': _____, ...replyHeaders } = Object.fromEntries(reply.headers);
    return { status: reply.status, headers: replyHeaders, body: await reply.text() };
  }

  const proxy = await listen(async (request, response) => {
    if (request.method !== 'OPTIONS') requests.push(`${request.method} ${request.url}`);
    agents.add(request.headers['user-agent']);
    const client = new AbortController();
    response.on('close', () => client.abort());
    const fault = await faults.shift();
    const reply =
      typeof fault === 'object'
        ? { headers: {}, body: '{}', ...fault }
        : await forward(request, client.signal).catch(() => undefined);
    if (!reply) return request.socket.destroy();
    if (typeof fault === 'string') return damage(fault, reply, response);
    statuses.push(reply.status);
    return response.writeHead(reply.status, reply.headers).end(reply.body);
  });
  const environment = { ...process.env, API_URL: proxy.origin, API_KEY };

  function makeFolder(name: string): string {
    const folder = join(directory, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** Copies the examples into a folder. Shortens their pauses and applies other changes. */
  function copyExamples(folder: string, changes: Changes = {}): string {
    cpSync('docs/examples', folder, { recursive: true });
    for (const [name, replacements] of [SHORT_PAUSES, changes].flatMap(
      Object.entries<Changes[string]>,
    )) {
      for (const [text, replacement] of replacements) {
        const program = readFileSync(join(folder, name), 'utf8');
        expect(program).toContain(text);
        writeFileSync(join(folder, name), program.replaceAll(text, replacement));
      }
    }
    return folder;
  }

  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  const examples = copyExamples(makeFolder('examples'));
  const programs: { child: ChildProcess; ended: Promise<unknown> }[] = [];

  return {
    /** The folder in which the service's commands run. */
    projectDirectory: project.directory,
    origin,
    proxyOrigin: proxy.origin,
    requests,
    statuses,
    agents,
    faults,
    rows: (statement: string) => project.rows(statement),

    /** The origin of a site whose pages may call the service from a browser. */
    siteOrigin: site.origin,
    serveSite(listener: RequestListener): void {
      respondAsSite = listener;
    },

    beginTest() {
      for (const list of [requests, statuses, faults]) list.length = 0;
      agents.clear();
    },
    /** Kills all programs, so that none of them sends a request during the next test. */
    async killPrograms() {
      for (const { child, ended } of programs.splice(0)) {
        child.kill('SIGKILL');
        await ended;
      }
    },
    async stop() {
      proxy.close();
      site.close();
      await project.remove();
      rmSync(directory, { recursive: true });
    },

    /** The folder with the examples, whose pauses are short. */
    examples,
    /** Copies the examples with short pauses and other changes. Returns the new folder. */
    changeExamples: (changes: Changes) =>
      copyExamples(mkdtempSync(join(directory, 'changed-')), changes),
    /** Creates a folder for running programs. Returns its path. */
    makeFolder,
    /**
     * Starts an example, given by its name, or another program, given by its path. Collects the
     * lines that it prints.
     */
    start(
      program: string,
      folder: string,
      args: string[] = [],
      variables: Record<string, string> = {},
    ) {
      const path = resolve(examples, program);
      const runtime = [...(RUNTIMES[extname(program).slice(1)] ?? []), path];
      const [command = '', ...flags] = runtime;
      const child = spawn(command, [...flags, ...args], {
        cwd: makeFolder(folder),
        env: { ...environment, ...variables },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const [lines, errors]: [string[], string[]] = [[], []];
      createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
      createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
      const ended = once(child, 'close');
      programs.push({ child, ended });
      return { child, lines, errors, ended };
    },

    /** Imports changed fields of a listing. */
    async change(record: object, ...options: string[]): Promise<void> {
      const file = project.write('patch.json', { properties: [record] });
      const finished = await runImportOn(database, importCommand, file, '--patch', ...options);
      expect(finished).toMatchObject({ code: 0 });
    },
    /**
     * Runs a statement that undoes changes. Gives the database a new generation, as a restore does.
     */
    async rewind(undo: string): Promise<void> {
      const renew = database.prepare('UPDATE database_identity SET generation = ?');
      await database.batch([database.prepare(undo), renew.bind(crypto.randomUUID())]);
    },
  };
}
