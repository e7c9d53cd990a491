/** docs/examples/typed-client.ts: generated, compiled and run against the service as docs/guides/typed-client.md says. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type DevService, startDevService } from '../support/node/dev-service.ts';

const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'typed-client-'));
const bin = resolve('node_modules', '.bin');
const inDirectory = { cwd: directory, maxBuffer: 1e8 };

let service: DevService;

const CLIENT = readFileSync('docs/examples/typed-client.ts', 'utf8');

beforeAll(async () => {
  symlinkSync(realpathSync('node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(directory, 'client.ts'), CLIENT);
  const document = await run('npm', ['run', '-s', 'openapi'], { maxBuffer: 1e8 });
  writeFileSync(join(directory, 'openapi.json'), document.stdout);
  await run(join(bin, 'openapi-typescript'), ['openapi.json', '--output', 'api.d.ts'], inDirectory);
  service = await startDevService();
});

afterAll(async () => {
  await service?.stop();
  rmSync(directory, { recursive: true });
});

async function runClient(origin: string) {
  const env = { ...process.env, API_URL: origin, API_KEY: service.apiKey };
  const options = { ...inDirectory, env };
  const { stdout } = await run(process.execPath, ['--no-warnings', 'client.ts'], options);
  return stdout.trimEnd().split('\n');
}

describe('the typed client of the documents', () => {
  it('compiles under strict rules', async () => {
    const options = '--strict --singleThreaded --noEmit --target es2024 --module nodenext'.split(
      ' ',
    );
    const strictness = ['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
    const others = ['--allowImportingTsExtensions', '--types', 'node'];
    const compiled = await run(
      join(bin, 'tsc'),
      [...options, ...strictness, ...others, 'client.ts'],
      inDirectory,
    ).catch((error: unknown) => z.object({ stdout: z.string() }).parse(error));
    expect(compiled.stdout).toBe('');
  });

  it('does not compile with a field that the service would refuse', async () => {
    const wrong = CLIENT.replace("aggregate_type: 'booking',", "aggregate_kind: 'booking',");
    writeFileSync(join(directory, 'wrong.ts'), wrong);
    const options = '--strict --singleThreaded --noEmit --target es2024 --module nodenext'.split(
      ' ',
    );
    await expect(
      run(join(bin, 'tsc'), [...options, '--allowImportingTsExtensions', 'wrong.ts'], inDirectory),
    ).rejects.toMatchObject({ stdout: expect.stringContaining('aggregate_kind') });
  });

  it('walks all pages and has its event accepted, then repeated', async () => {
    const first = await runClient(service.origin);
    const homes = first.slice(0, -1).map((line) => line.split(' ')[1]);
    expect(new Set(homes).size).toBe(homes.length);
    expect(homes.length).toBeGreaterThan(40);
    expect(first.at(-1)).toMatch(/^pending [0-9a-f-]{36}$/);

    const second = await runClient(service.origin);
    expect(second.slice(0, -1)).toEqual(first.slice(0, -1));
    expect(second.at(-1)).toBe(first.at(-1)?.replace('pending', 'idempotent'));
  });

  it('repeats with the same key when and only when the answers say so', async () => {
    const flaky = await startFlakyProxy(service.origin);
    try {
      const startedAt = Date.now();
      const output = await runClient(flaky.origin);
      expect(output.at(-1)).toMatch(/^idempotent /);
      expect(flaky.statuses).toEqual([0, 500, 429, 200]);
      expect(Date.now() - startedAt).toBeGreaterThan(1_000);
    } finally {
      flaky.server.close();
    }
  });

  it('does not repeat what the service refuses', async () => {
    const origin = service.origin;
    const env = { ...process.env, API_URL: origin, API_KEY: 'not-a-key' };
    await expect(
      run(process.execPath, ['--no-warnings', 'client.ts'], { ...inDirectory, env }),
    ).rejects.toMatchObject({ stderr: expect.stringContaining('authentication_invalid') });
  });
});

/** Passes requests on, but loses the answers to the first events: a broken connection, a 500, a 429. */
async function startFlakyProxy(target: string) {
  const faults = [
    { status: 0, headers: {} },
    { status: 500, headers: { 'X-Should-Retry': 'true' } },
    { status: 429, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } },
  ];
  const statuses: number[] = [];
  const server: Server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const headers = { ...request.headers, host: new URL(target).host };
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'GET',
      headers: z.record(z.string(), z.string()).parse(headers),
      ...(request.method === 'POST' && { body }),
    });
    const fault = request.method === 'POST' ? faults.shift() : undefined;
    if (request.method === 'POST') statuses.push(fault?.status ?? answer.status);
    if (fault?.status === 0) return request.socket.destroy();
    const { status } = fault ?? answer;
    response.writeHead(status, { 'Content-Type': 'application/json', ...fault?.headers });
    return response.end(fault ? '{"error":{"message":"lost"}}' : await answer.text());
  }).listen(0);
  await once(server, 'listening');
  const { port } = z.object({ port: z.int() }).parse(server.address());
  return { origin: `http://localhost:${port}`, server, statuses };
}
