/**
 * Bytes that `fetch` would not send, straight to the production bundle in workerd: no response to
 * them is a 500, repeats what was sent, or delays another client.
 */

import { connect, type Socket } from 'node:net';
import { v5 } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LogLine, Runtime } from '../../tools/bench/runtime.ts';
import { startProductionService } from '../support/node/production-service.ts';

const API_KEY = 'hostile-http-key';
const CANARY = 'hostile-http-canary';
const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const FEED = '/api/v1/web/properties';
const HOST = 'Host: api.example.com\r\nConnection: close\r\n';
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

/** Text or bytes, sent one after the other. */
type Parts = (string | Uint8Array)[];

let runtime: Runtime;
const log: LogLine[] = [];

beforeAll(async () => {
  runtime = await startProductionService({ API_KEY }, { onLog: (line) => log.push(line) });
});
afterAll(async () => {
  await runtime.stop();
});

function send(parts: Parts): Socket {
  const socket = connect(Number(runtime.url.port), runtime.url.hostname);
  // The other side may reset the connection after its response.
  socket.on('error', () => undefined);
  for (const part of parts) socket.write(part);
  return socket;
}

/** Sends the parts. Returns what is received until the other side closes. */
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

function statusOf(response: string): number {
  return Number(/^HTTP\/1\.[01] (\d{3}) /.exec(response)?.[1]);
}

describe('a header in bytes', () => {
  it.each<[string, string | Uint8Array, RegExp]>([
    ['UTF-8 and a tab', 'a\tnaïve Ж \u{1f3e1}', /^a\tnaïve Ж \u{1f3e1}$/u],
    ['Latin-1', Buffer.from('naïve', 'latin1'), /^req_[0-9a-f]{32}$/],
  ])('X-Request-ID in %s is repeated, or replaced', async (_, id, echo) => {
    const parts = [`GET /api/health HTTP/1.1\r\n${HOST}X-Request-ID: `, id, '\r\n\r\n'];
    expect(/^X-Request-ID: (.*)\r$/im.exec(await exchange(parts))?.[1]).toMatch(echo);
  });

  it('Idempotency-Key names an event by its UTF-8 text, and is rejected if it is not UTF-8', async () => {
    const key = 'clé-ключ-\u{1F511}';
    const stored = await exchange([`${INGEST}Idempotency-Key: ${key}\r\n${WHOLE}`]);
    expect(stored).toContain(`"id":"${v5(key, NAMESPACE)}"`);
    const parts = [`${INGEST}Idempotency-Key: k`, Buffer.of(0xe8), `\r\n${WHOLE}`];
    const rejected = await exchange(parts);
    expect(statusOf(rejected)).toBe(400);
    expect(rejected).toContain('"param":"Idempotency-Key"');
  });
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
  ['has a key of 15 KB', [ANONYMOUS, `x-api-key: ${'b'.repeat(15_000)}\r\n\r\n`], 401],
  ['has two keys', [GET, 'x-api-key: other\r\n\r\n'], 401],
  ['has two media types', [INGEST, `Content-Type: text/plain\r\n${WHOLE}`], 415],
  ['has an id that is not UTF-8', [GET, 'X-Request-ID: ', NOT_UTF8, '\r\n\r\n'], 200],
  ['has a key that is not UTF-8', [ANONYMOUS, 'x-api-key: ', NOT_UTF8, '\r\n\r\n'], 401],
  ['has an ETag that is not UTF-8', [GET, 'If-None-Match: "', NOT_UTF8, '"\r\n\r\n'], 200],
  ['climbs out of its path', [GET.replace(FEED, '/api/../../etc/passwd'), '\r\n'], 404],
  ['is a TRACE', [GET.replace('GET', 'TRACE'), '\r\n'], 405],
])('a client that %s gets a response without internal details', async (_, parts, status) => {
  const response = await exchange(parts);
  expect(statusOf(response), response).toBe(status);
  expect(response).not.toMatch(/\.(ts|js):\d|\bat \S+ \(|SQLITE|node_modules/);
  expect(response).not.toContain(CANARY);
  expect(response).not.toContain(API_KEY);
});

it('bodies that stop before their end delay no other client', async () => {
  const stopped = [INGEST, 'Content-Length: 500\r\n\r\n{"event'];
  const sockets = Array.from({ length: 50 }, () => send(stopped));
  const startedAt = Date.now();
  expect(statusOf(await exchange([INGEST, WHOLE]))).toBe(202);
  expect(Date.now() - startedAt).toBeLessThan(2_000);
  for (const socket of sockets) socket.destroy();
});

it('logs a line for each request that reached it, and no value that was sent', () => {
  expect(log.length).toBeGreaterThan(15);
  const lines = log.map(({ message }) => message);
  expect(lines.filter((line) => line.includes(API_KEY) || line.includes(CANARY))).toEqual([]);
  expect(log.filter(({ level }) => level === 'error')).toEqual([]);
});
