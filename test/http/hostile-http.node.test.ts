/**
 * Bytes that `fetch` would not send, straight to the production bundle in workerd. It rejects
 * malformed requests, requests that break off or never end delay no other client, and the service
 * keeps serving.
 */

import { connect } from 'node:net';
import { v5 } from 'uuid';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
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
const MANY = '1000000';
const NOT_UTF8 = Buffer.of(0xff, 0xfe);

/** Text or bytes, sent one after the other. */
type Parts = (string | Uint8Array)[];

let runtime: Runtime;
const log: LogLine[] = [];

beforeAll(async () => {
  const vars = { API_KEY, RATE_LIMIT_DEFAULT: MANY, RATE_LIMIT_INGEST: MANY };
  runtime = await startProductionService(vars, { onLog: (line) => log.push(line) });
});

afterAll(async () => {
  await runtime.stop();
});

afterEach(async () => {
  const response = await fetch(new URL('/api/health', runtime.url));
  expect(response.status).toBe(200);
  await response.body?.cancel();
});

function open() {
  return connect(Number(runtime.url.port), runtime.url.hostname);
}

/**
 * Sends the parts. Returns the bytes that are received until the other side closes or
 * `milliseconds` have passed.
 */
function exchange(parts: Parts, milliseconds = 5_000): Promise<string> {
  return new Promise((resolve) => {
    const socket = open();
    let response = '';
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(response);
    };
    const timer = setTimeout(end, milliseconds);
    socket.on('data', (bytes) => {
      response += bytes.toString('utf8');
    });
    // The other side may reset the connection after its response.
    socket.on('error', end);
    socket.on('close', end);
    for (const part of parts) socket.write(part);
  });
}

function statusOf(response: string): number {
  return Number(/^HTTP\/1\.[01] (\d{3}) /.exec(response)?.[1]);
}

/**
 * Expects a response without internal details. Some responses are workerd's own: a line of plain
 * text.
 */
function expectNothingRevealed(response: string) {
  expect(response).not.toMatch(/\.(ts|js):\d|\bat \S+ \(|SQLITE|node_modules/);
  expect(response).not.toContain(CANARY);
  expect(response).not.toContain(API_KEY);
}

describe('a request id', () => {
  const echoOf = async (id: string | Uint8Array) => {
    const parts = [`GET /api/health HTTP/1.1\r\n${HOST}X-Request-ID: `, id, '\r\n\r\n'];
    return /^X-Request-ID: (.*)\r$/im.exec(await exchange(parts))?.[1];
  };

  it.each(['a\tb', 'naïve Ж \u{1f3e1}'])('in UTF-8 comes back byte by byte: %s', async (id) => {
    expect(await echoOf(id)).toBe(id);
  });

  it('in Latin-1 is replaced: its bytes could not be sent back', async () => {
    expect(await echoOf(Buffer.from('naïve', 'latin1'))).toMatch(/^req_[0-9a-f]{32}$/);
  });
});

describe('an Idempotency-Key', () => {
  it('names an event by its UTF-8 text', async () => {
    const key = 'clé-ключ-\u{1F511}';
    const response = await exchange([`${INGEST}Idempotency-Key: ${key}\r\n${WHOLE}`]);
    expect(statusOf(response)).toBe(202);
    expect(response).toContain(`"id":"${v5(key, NAMESPACE)}"`);
  });

  it('is rejected when its bytes are not UTF-8: the service could not tell such keys apart', async () => {
    for (const byte of [0xe8, 0xe9]) {
      const key = Buffer.of(0x6b, byte);
      const response = await exchange([`${INGEST}Idempotency-Key: `, key, `\r\n${WHOLE}`]);
      expect(statusOf(response)).toBe(400);
      expect(response).toContain('"param":"Idempotency-Key"');
    }
  });
});

describe('the length of a body', () => {
  it.each<[string, Parts, number]>([
    ['that is missing', [INGEST, `\r\n${BODY}`], 400],
    ['that is too small', [INGEST, `Content-Length: 10\r\n\r\n${BODY}`], 400],
    ['that is too large', [INGEST, `Content-Length: ${'9'.repeat(30)}\r\n\r\n${BODY}`], 400],
    [
      'that is 12 MiB, of a client that sends all before it reads',
      [CHUNKED, `c00000\r\n${'x'.repeat(12 * MIB)}\r\n`, '0\r\n\r\n'],
      413,
    ],
    [
      'that is 12 MiB, of a client that waits for permission',
      [INGEST, `Expect: 100-continue\r\nContent-Length: ${12 * MIB}\r\n\r\n`],
      413,
    ],
    [
      'that claims to be 1 GiB, of a client that sends nothing more',
      [INGEST, `Content-Length: ${1_024 * MIB}\r\n\r\n`],
      413,
    ],
    ['that is right, with Expect', [INGEST, `Expect: 100-continue\r\n${WHOLE}`], 100],
  ])('%s', async (_name, parts, status) => {
    const response = await exchange(parts);
    expect(statusOf(response), response).toBe(status);
    expectNothingRevealed(response);
  });

  it('that is too small leaves no second request behind', async () => {
    const response = await exchange([INGEST, `Content-Length: 2\r\n\r\n{}${GET}\r\n`]);
    expect(response.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
  });
});

it.each<[string, Parts]>([
  ['stops before its end', [INGEST, 'Content-Length: 500\r\n\r\n{"event']],
  ['stops inside a chunk', [CHUNKED, 'ffff\r\n{"event']],
  ['announces an endless chunk', [CHUNKED, `ffffffffffffff\r\n${BODY}`]],
])('a body that %s delays no other client', async (_name, parts) => {
  const sockets = Array.from({ length: 50 }, () => {
    const socket = open();
    socket.on('error', () => undefined);
    for (const part of parts) socket.write(part);
    return socket;
  });
  const startedAt = Date.now();
  expect(statusOf(await exchange([INGEST, WHOLE]))).toBe(202);
  expect(Date.now() - startedAt).toBeLessThan(2_000);
  for (const socket of sockets) socket.destroy();
});

it.each<[string, Parts, readonly number[]]>([
  ['has 2,000 headers', [GET, 'X-Any: b\r\n'.repeat(2_000), '\r\n'], [200, 400, 431]],
  ['has a request id of 60 KB', [GET, `X-Request-ID: ${'b'.repeat(60_000)}\r\n\r\n`], [200, 431]],
  ['has a key of 60 KB', [ANONYMOUS, `x-api-key: ${'b'.repeat(60_000)}\r\n\r\n`], [401, 431]],
  ['has a NUL in a header', [GET, 'X-Any: a\0b\r\n\r\n'], [400]],
  ['has a malformed host', [`GET ${FEED} HTTP/1.1\r\nHost: a b<>\\^\r\n\r\n`], [400, 401]],
  ['has the key twice', [GET, 'x-api-key: other\r\n\r\n'], [401]],
  ['has two media types', [INGEST, `Content-Type: text/plain\r\n${WHOLE}`], [415]],
  ['has an id that is not UTF-8', [GET, 'X-Request-ID: ', NOT_UTF8, '\r\n\r\n'], [200]],
  ['has a key that is not UTF-8', [ANONYMOUS, 'x-api-key: ', NOT_UTF8, '\r\n\r\n'], [401]],
  ['has an ETag that is not UTF-8', [GET, 'If-None-Match: "', NOT_UTF8, '"\r\n\r\n'], [200]],
  [
    'has a path that is not UTF-8',
    [`GET ${FEED}/`, NOT_UTF8, ` HTTP/1.1\r\n${CREDENTIALS}\r\n`],
    [400, 404],
  ],
  ['climbs out of its path', [GET.replace(FEED, '/api/../../etc/passwd'), '\r\n'], [400, 404]],
  ['has a path of 15 KB', [GET.replace(FEED, `${FEED}/${'a'.repeat(15_000)}`), '\r\n'], [404, 414]],
  [
    'has a query of 200 KB',
    [GET.replace(FEED, `${FEED}?${'a'.repeat(200_000)}`), '\r\n'],
    [400, 414],
  ],
  ['is a TRACE', [GET.replace('GET', 'TRACE'), '\r\n'], [405]],
  ['is OPTIONS *', [`OPTIONS * HTTP/1.1\r\n${CREDENTIALS}\r\n`], [400, 404]],
])('a head that %s is harmless', async (_name, parts, statuses) => {
  const response = await exchange(parts, 2_000);
  expect(statuses, response).toContain(statusOf(response));
  expectNothingRevealed(response);
});

it('logs a line for each request that reached it, and no value that was sent', () => {
  expect(log.length).toBeGreaterThan(50);
  const lines = log.map(({ message }) => message);
  expect(lines.filter((line) => line.includes(API_KEY) || line.includes(CANARY))).toEqual([]);
  expect(log.filter(({ level }) => level === 'error')).toEqual([]);
});
