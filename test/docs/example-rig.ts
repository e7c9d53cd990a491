/** A service with the sample listings, behind a proxy with faults, for the programs of docs/examples. */

import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, extname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import * as z from 'zod';
import { command as importCommand } from '../../tools/import-listings.ts';
import { runImportOn } from '../support/node/in-process.ts';
import { copyWithStore } from '../support/node/stores.ts';

export const API_KEY = 'dev_key_4f1c09a7b25e4d8391';
/** For what a program does while it runs. */
export const SOON = { timeout: 20_000 };

/** `lost`: the service handles the request, and its response is lost. */
type Fault = 'lost' | { status: number; headers?: Record<string, string>; body?: string };

type Rig = Awaited<ReturnType<typeof startRig>>;
const run = promisify(execFile);

/** Of Debian's package libxerial-sqlite-jdbc-java. */
export const JDBC_DRIVER = '/usr/share/java/sqlite-jdbc.jar';

/** What runs an example, by the end of its name. */
const RUNTIMES: Record<string, string[]> = {
  ts: [process.execPath, '--no-warnings'],
  py: ['python3'],
  php: ['php'],
};

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

/** Serves requests on a port of its own until the rig stops. Returns the origin. */
export async function listen(servers: Server[], listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0);
  servers.push(server);
  await once(server, 'listening');
  return `http://localhost:${z.object({ port: z.int() }).parse(server.address()).port}`;
}

async function startRig(vars: readonly string[]) {
  const directory = mkdtempSync(join(tmpdir(), 'examples-'));
  const project = await copyWithStore('samples');
  const limits = ['RATE_LIMIT_DEFAULT=10000', 'RATE_LIMIT_INGEST=10000'];
  const lines = ['ENVIRONMENT=development', `API_KEY=${API_KEY}`, ...limits, ...vars];
  project.write('.dev.vars', lines.join('\n'));
  const service = await project.serve();
  const servers: Server[] = [];
  const programs: { child: ChildProcess; ended: Promise<unknown> }[] = [];
  /** Of the current test: requests, their statuses, and faults of the next requests. */
  const requests: string[] = [];
  const statuses: number[] = [];
  const agents = new Set<string | undefined>();
  const faults: (Fault | undefined)[] = [];

  /** Sends a request on. Rejects when its sender hangs up. */
  async function passOn(request: IncomingMessage, signal: AbortSignal): Promise<Response> {
    const {
      host: _,
      connection: __,
      upgrade: ___,
      'content-length': ____,
      ...rest
    } = request.headers;
    const headers = z.record(z.string(), z.string()).parse(rest);
    const { method = 'GET' } = request;
    return fetch(`${service.origin}${request.url}`, {
      method,
      headers,
      ...(method === 'POST' && { body: Buffer.concat(await request.toArray()) }),
      signal,
    });
  }

  const origin = await listen(servers, async (request, response) => {
    if (request.method !== 'OPTIONS') requests.push(`${request.method} ${request.url}`);
    agents.add(request.headers['user-agent']);
    const fault = faults.shift();
    const client = new AbortController();
    response.on('close', () => client.abort());
    const reply =
      typeof fault === 'object'
        ? new Response(fault.body ?? '{}', fault)
        : await passOn(request, client.signal).catch(() => undefined);
    if (!reply || fault === 'lost') return request.socket.destroy();
    statuses.push(reply.status);
    const { 'content-encoding': _, ...headers } = Object.fromEntries(reply.headers);
    response.writeHead(reply.status, headers);
    return response.end(await reply.text());
  });
  const env = { ...process.env, API_URL: origin, API_KEY };

  function folderOf(name: string): string {
    const cwd = join(directory, name);
    mkdirSync(cwd, { recursive: true });
    return cwd;
  }

  /** Compiles a class once: that takes seconds. Returns the command that runs it. */
  function compiled(program: string): string[] {
    const classes = folderOf('classes');
    const name = basename(program, '.java');
    if (!existsSync(join(classes, `${name}.class`))) {
      execFileSync('javac', ['-Xlint:all', '-Werror', '-d', classes, program]);
    }
    return ['java', '-XX:TieredStopAtLevel=1', '-cp', `${classes}:${JDBC_DRIVER}`, name];
  }

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
      for (const server of servers) server.close();
      await project.remove();
      rmSync(directory, { recursive: true });
    },

    /** Writes a changed example into its own folder. Returns the path of the program. */
    variantOf(name: string, from: string, to: string): string {
      const folder = mkdtempSync(join(directory, 'variant-'));
      const source = readFileSync(exampleOf(name), 'utf8');
      expect(source).toContain(from);
      writeFileSync(join(folder, name), source.replace(from, to));
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
      copyFileSync(exampleOf('call.ts'), join(folder, 'call.ts'));
      return join(folder, name);
    },
    /** Starts a program that runs until it is killed. Returns it with the lines that it writes. */
    start(program: string, folder: string, args: string[] = [], more: Record<string, string> = {}) {
      const runtime = program.endsWith('.java')
        ? compiled(program)
        : [...(RUNTIMES[extname(program).slice(1)] ?? []), program];
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
    /** Runs a program to its end. */
    runOnce: (program: string, folder: string, ...args: string[]) =>
      run(process.execPath, ['--no-warnings', program, ...args], { cwd: folderOf(folder), env }),

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

/** The path of an example. */
export const exampleOf = (name: string) => resolve('docs/examples', name);
