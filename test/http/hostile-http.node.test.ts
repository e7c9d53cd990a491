/**
 * Tests the production bundle in workerd with raw requests that `fetch` cannot send. No response may be
 * a 500 or repeat what was sent, and no request may delay another client.
 */

import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { migrate } from '../../tools/database/migrations.ts';
import { type Runtime, startRuntime } from '../../tools/workerd/runtime.ts';
import { deriveEventId } from '../support/keys.ts';
import { getBundle } from '../support/node/bundles.ts';
import { TEST_VARS } from '../support/vars.ts';

const API_KEY = 'hostile-http-key';
const CANARY = 'hostile-http-canary';
const FEED = '/api/v1/web/properties';
const HOST = 'Host: localhost\r\nConnection: close\r\n';
const CREDENTIALS = `${HOST}x-api-key: ${API_KEY}\r\n`;
const GET = `GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}`;
const ANONYMOUS = `GET ${FEED} HTTP/1.1\r\n${HOST}`;
const BODY = JSON.stringify({
  event_type: 'booking.created',
  aggregate_id: 'bk_1',
  aggregate_type: 'booking',
  payload: { note: CANARY },
});
const INGEST = `POST /api/public/events/ingest HTTP/1.1\r\n${CREDENTIALS}Content-Type: application/json\r\n`;
const WHOLE = `Content-Length: ${BODY.length}\r\n\r\n${BODY}`;
const CHUNKED = `${INGEST}Transfer-Encoding: chunked\r\n\r\n`;
const MIB = 1_024 * 1_024;
const NOT_UTF8 = Buffer.of(0xff, 0xfe);

/** Parts of a request that are sent one after the other. */
type Parts = (string | Uint8Array)[];

let runtime: Runtime;
const log: { level: string; message: string }[] = [];

beforeAll(async () => {
  const vars = { ...TEST_VARS, API_KEY };
  runtime = await startRuntime(await getBundle('src/index.ts'), vars, {
    handleStructuredLogs: (line) => log.push(line),
  });
  await migrate(runtime.database);
});
afterAll(async () => {
  await runtime.stop();
});

function send(parts: Parts): Socket {
  const socket = connect(Number(runtime.url.port), runtime.url.hostname);
  // The server may reset the connection after its response.
  socket.on('error', () => undefined);
  for (const part of parts) socket.write(part);
  return socket;
}

/** Sends a request. Returns everything that the server sends before it closes the connection. */
function exchange(parts: Parts): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = send(parts).setTimeout(5_000, () => socket.destroy());
  let response = '';
  socket.on('data', (bytes) => {
    response += bytes.toString('utf8');
  });
  socket.on('close', () => resolve(response));
  return promise;
}

function getStatus(response: string): number {
  return Number(/^HTTP\/1\.[01] (\d{3}) /.exec(response)?.[1]);
}

it('echoes an X-Request-ID only if it is UTF-8', async () => {
  const getEchoedId = async (id: string | Uint8Array) => {
    const parts = [`GET /api/health HTTP/1.1\r\n${HOST}X-Request-ID: `, id, '\r\n\r\n'];
    return /^X-Request-ID: (.*)\r$/im.exec(await exchange(parts))?.[1];
  };
  expect(await getEchoedId('a\tnaïve Ж \u{1f3e1}')).toBe('a\tnaïve Ж \u{1f3e1}');
  expect(await getEchoedId(Buffer.from('naïve', 'latin1'))).toMatch(/^req_[0-9a-f]{32}$/);
});

it('accepts an Idempotency-Key only if it is UTF-8', async () => {
  const key = 'clé-ключ-\u{1F511}';
  const stored = await exchange([`${INGEST}Idempotency-Key: ${key}\r\n${WHOLE}`]);
  expect(stored).toContain(`"id":"${deriveEventId(key)}"`);
  const rejected = await exchange([`${INGEST}Idempotency-Key: k`, NOT_UTF8, `\r\n${WHOLE}`]);
  expect(getStatus(rejected)).toBe(400);
  expect(rejected).toContain('"param":"Idempotency-Key"');
});

it.each<[string, Parts, number]>([
  [
    'sends 12 MiB before it reads',
    [CHUNKED, `c00000\r\n${'x'.repeat(12 * MIB)}\r\n0\r\n\r\n`],
    413,
  ],
  [
    'waits for permission to send 12 MiB',
    [INGEST, `Expect: 100-continue\r\nContent-Length: ${12 * MIB}\r\n\r\n`],
    413,
  ],
  ['announces 1 GiB and sends nothing', [INGEST, `Content-Length: ${1_024 * MIB}\r\n\r\n`], 413],
  ['sends two keys', [GET, 'x-api-key: other\r\n\r\n'], 401],
  ['sends a key that is not UTF-8', [ANONYMOUS, 'x-api-key: ', NOT_UTF8, '\r\n\r\n'], 401],
  ['sends an ETag that is not UTF-8', [GET, 'If-None-Match: "', NOT_UTF8, '"\r\n\r\n'], 200],
  ['sends a path that contains ..', [GET.replace(FEED, '/api/../../etc/passwd'), '\r\n'], 404],
])('reveals no internal details to a client that %s', async (_, parts, status) => {
  const response = await exchange(parts);
  expect(getStatus(response), response).toBe(status);
  expect(response).not.toMatch(/\.(ts|js):\d|\bat \S+ \(|SQLITE|node_modules/);
  expect(response).not.toContain(CANARY);
  expect(response).not.toContain(API_KEY);
});

it.each([
  ['evil.example', 403],
  ['evil.example#localhost', 403],
  ['localhost#evil.example', 403],
  ['localhost?evil.example', 403],
  ['localhost@evil.example', 403],
  ['evil.example@localhost', 403],
  ['user:word@127.0.0.1', 403],
  ['evil.example\\@localhost', 403],
  ['localhost\\evil.example', 403],
  ['localhost.evil.example', 403],
  ['127.0.0.1.evil.example', 403],
  ['localhost.', 403],
  ['[::2]', 403],
  ['LOCALHOST:3001', 200],
  ['127.1.2.3', 200],
  ['[::1]:3001', 200],
])('responds to plain HTTP for the host %s with %i', async (host, status) => {
  const response = await exchange([GET.replace('Host: localhost', () => `Host: ${host}`), '\r\n']);
  expect(getStatus(response), response).toBe(status);
  if (status === 403) expect(response).toContain(`"path":"${FEED}"`);
});

it('does not delay a client while other clients send incomplete bodies', async () => {
  const stopped = [INGEST, 'Content-Length: 500\r\n\r\n{"event'];
  const sockets = Array.from({ length: 50 }, () => send(stopped));
  expect(getStatus(await exchange([INGEST, WHOLE]))).toBe(202);
  for (const socket of sockets) socket.destroy();
});

it('keeps the values that clients send out of the log', () => {
  expect(log.length).toBeGreaterThan(10);
  const lines = log.map(({ message }) => message);
  expect(lines.filter((line) => line.includes(API_KEY) || line.includes(CANARY))).toEqual([]);
  expect(log.filter(({ level }) => level === 'error')).toEqual([]);
});
