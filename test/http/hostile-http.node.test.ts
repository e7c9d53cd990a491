/**
 * Bytes that `fetch` would not send, straight to the production bundle in workerd. It refuses malformed
 * requests, requests that break off or never end hold up nobody, and the service goes on.
 */

import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { LogLine, Runtime } from '../../tools/bench/runtime.ts';
import { startWatchedProduction } from '../support/node/production-service.ts';

const API_KEY = 'hostile-http-key';
const CANARY = 'hostile-http-canary';
const FEED = '/api/v1/web/properties';
const HOST = 'Host: api.example.com\r\nConnection: close\r\n';
const CREDENTIALS = `${HOST}x-api-key: ${API_KEY}\r\n`;
const BODY = JSON.stringify({
  event_type: 'booking.created',
  aggregate_id: 'bk_1',
  aggregate_type: 'booking',
  payload: { note: CANARY },
});
const INGEST = `POST /api/public/events/ingest HTTP/1.1\r\n${CREDENTIALS}Content-Type: application/json\r\n`;
const CHUNKED = `${INGEST}Transfer-Encoding: chunked\r\n\r\n`;
const MIB = 1_024 * 1_024;
const MANY = '1000000';

type Bytes = string | Uint8Array;

let runtime: Runtime;
const log: LogLine[] = [];

beforeAll(async () => {
  const vars = { API_KEY, RATE_LIMIT_DEFAULT: MANY, RATE_LIMIT_INGEST: MANY };
  runtime = await startWatchedProduction(vars, { onLog: (line) => log.push(line) });
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

/** Sends the parts. Returns the bytes that are received until the other side closes or `milliseconds` have passed. */
function exchange(parts: readonly Bytes[], milliseconds = 5_000): Promise<string> {
  return new Promise((resolve) => {
    const socket = open();
    let answer = '';
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(end, milliseconds);
    socket.on('data', (bytes) => {
      answer += bytes.toString('utf8');
    });
    // The other side may reset the connection after its answer.
    socket.on('error', end);
    socket.on('close', end);
    for (const part of parts) socket.write(part);
  });
}

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.[01] (\d{3}) /.exec(answer)?.[1]);
}

/** Expects an answer without internal details. Some answers are workerd's own: a line of plain text. */
function expectNothingTold(answer: string) {
  expect(answer).not.toMatch(/\.(ts|js):\d|\bat \S+ \(|SQLITE|node_modules/);
  expect(answer).not.toContain(CANARY);
  expect(answer).not.toContain(API_KEY);
}

function bytes(...parts: (string | number)[]): Uint8Array {
  return Buffer.concat(
    parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))),
  );
}

describe('a request id', () => {
  const answerTo = async (...id: (string | number)[]) => {
    const head = bytes(`GET /api/health HTTP/1.1\r\n${HOST}X-Request-ID: `, ...id, '\r\n\r\n');
    return /^X-Request-ID: (.*)\r$/im.exec(await exchange([head]))?.[1];
  };

  it.each(['a\tb', 'naïve Ж \u{1f3e1}'])('in UTF-8 comes back byte by byte: %s', async (id) => {
    expect(await answerTo(id)).toBe(id);
  });

  it('in Latin-1 is replaced: its bytes could not be sent back', async () => {
    expect(await answerTo('na', 0xef, 've')).toMatch(/^req_[0-9a-f]{32}$/);
  });
});

describe('the length of a body', () => {
  it.each<[string, Bytes[], number]>([
    ['that is missing', [INGEST, `\r\n${BODY}`], 400],
    ['that is too small', [INGEST, `Content-Length: 10\r\n\r\n${BODY}`], 400],
    ['that is given twice', [INGEST, `Content-Length: 5\r\nContent-Length: 6\r\n\r\n${BODY}`], 400],
    ['that is negative', [INGEST, `Content-Length: -5\r\n\r\n${BODY}`], 400],
    ['that is not a number', [INGEST, `Content-Length: many\r\n\r\n${BODY}`], 400],
    [
      'that is too large for a number',
      [INGEST, `Content-Length: ${'9'.repeat(30)}\r\n\r\n${BODY}`],
      400,
    ],
    [
      'beside chunks',
      [INGEST, `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
      400,
    ],
    ['of a chunk that is not a number', [CHUNKED, `zz\r\n${BODY}\r\n0\r\n\r\n`], 400],
    ['in an unknown coding', [INGEST, `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`], 400],
    [
      'that is over 256 KiB in chunks',
      [CHUNKED, ...Array<string>(5).fill(`10000\r\n${'x'.repeat(65_536)}\r\n`), '0\r\n\r\n'],
      413,
    ],
    [
      'that claims to be over 256 KiB',
      [INGEST, `Content-Length: 262145\r\n\r\n`, 'x'.repeat(262_145)],
      413,
    ],
    [
      'that is 12 MiB, of a client that sends all before it reads',
      [INGEST, `Content-Length: ${12 * MIB}\r\n\r\n`, 'x'.repeat(12 * MIB)],
      413,
    ],
    [
      'that is 12 MiB, of a client that waits to be asked for its body',
      [INGEST, `Expect: 100-continue\r\nContent-Length: ${12 * MIB}\r\n\r\n`],
      413,
    ],
    [
      'that claims to be 1 GiB, of a client that sends nothing more',
      [INGEST, `Content-Length: ${1_024 * MIB}\r\n\r\n`],
      413,
    ],
    ['that is right', [INGEST, `Content-Length: ${BODY.length}\r\n\r\n${BODY}`], 202],
    [
      'that is right, with Expect: 100-continue',
      [INGEST, `Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
      100,
    ],
  ])('%s', async (_name, parts, status) => {
    const answer = await exchange(parts);
    expect(statusOf(answer), answer).toBe(status);
    expectNothingTold(answer);
  });

  it('that is too small leaves no second request behind', async () => {
    const smuggled = `GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}\r\n`;
    const answer = await exchange([INGEST, `Content-Length: 2\r\n\r\n{}${smuggled}`]);
    expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
  });
});

describe('a body that', () => {
  it('comes one byte at a time is accepted', async () => {
    const answer = new Promise<string>((resolve, reject) => {
      const socket = open();
      socket.on('data', (data) => resolve(data.toString()));
      socket.on('error', reject);
      socket.write(`${INGEST}Content-Length: ${BODY.length}\r\n\r\n`);
      let sent = 0;
      const timer = setInterval(() => {
        socket.write(BODY.slice(sent, sent + 4));
        sent += 4;
        if (sent >= BODY.length) clearInterval(timer);
      }, 10);
    });
    expect(statusOf(await answer)).toBe(202);
  });

  it.each<[string, Bytes[]]>([
    ['stops before its end', [INGEST, 'Content-Length: 500\r\n\r\n{"event']],
    ['stops inside a chunk', [CHUNKED, 'ffff\r\n{"event']],
    ['announces an endless chunk', [CHUNKED, `ffffffffffffff\r\n${BODY}`]],
  ])('%s delays no other client', async (_name, parts) => {
    const sockets = Array.from({ length: 50 }, () => {
      const socket = open();
      socket.on('error', () => undefined);
      for (const part of parts) socket.write(part);
      return socket;
    });
    const startedAt = Date.now();
    const answer = await exchange([INGEST, `Content-Length: ${BODY.length}\r\n\r\n${BODY}`]);
    expect(statusOf(answer)).toBe(202);
    expect(Date.now() - startedAt).toBeLessThan(2_000);
    for (const socket of sockets) socket.destroy();
  });
});

describe('a head that', () => {
  it.each<[string, Bytes[], readonly number[]]>([
    [
      'has 2,000 headers',
      [`GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}`, 'X-Any: b\r\n'.repeat(2_000), '\r\n'],
      [200, 400, 431],
    ],
    [
      'has a header of 60 KB',
      [`GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}X-Any: ${'b'.repeat(60_000)}\r\n\r\n`],
      [200, 400, 431],
    ],
    [
      'has a request id of 60 KB',
      [`GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}X-Request-ID: ${'b'.repeat(60_000)}\r\n\r\n`],
      [200, 400, 431],
    ],
    [
      'has a credential of 60 KB',
      [`GET ${FEED} HTTP/1.1\r\n${HOST}x-api-key: ${'b'.repeat(60_000)}\r\n\r\n`],
      [400, 401, 431],
    ],
    ['has a NUL in a header', [`GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}X-Any: a\0b\r\n\r\n`], [400]],
    [
      'has a folded header',
      [`GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}X-Any: a\r\n b\r\n\r\n`],
      [400],
    ],
    [
      'has a space before a colon',
      [`GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}X-Any : a\r\n\r\n`],
      [400],
    ],
    ['has no host', [`GET ${FEED} HTTP/1.1\r\nx-api-key: ${API_KEY}\r\n\r\n`], [400]],
    [
      'has a malformed host',
      [
        `GET ${FEED} HTTP/1.1\r\nHost: a b<>\\^\r\nx-api-key: ${API_KEY}\r\nConnection: close\r\n\r\n`,
      ],
      [200, 400],
    ],
    [
      'has another host in its address',
      [`GET http://evil.example${FEED} HTTP/1.1\r\n${CREDENTIALS}\r\n`],
      [200, 400, 404],
    ],
    [
      'has the key twice',
      [`GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}x-api-key: other\r\n\r\n`],
      [401],
    ],
    [
      'has two media types',
      [INGEST, `Content-Type: text/plain\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`],
      [415],
    ],
    [
      'has bytes that are not UTF-8 in its id',
      [bytes(`GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}X-Request-ID: `, 0xff, 0xfe, '\r\n\r\n')],
      [200],
    ],
    [
      'has bytes that are not UTF-8 in its credential',
      [bytes(`GET ${FEED} HTTP/1.1\r\n${HOST}x-api-key: `, 0xff, 0xfe, '\r\n\r\n')],
      [401],
    ],
    [
      'has bytes that are not UTF-8 in its token',
      [
        bytes(
          `GET ${FEED} HTTP/1.1\r\n${HOST}Authorization: Bearer `,
          0xff,
          '.',
          0xfe,
          '.',
          0xfd,
          '\r\n\r\n',
        ),
      ],
      [401],
    ],
    [
      'has bytes that are not UTF-8 in its If-None-Match',
      [bytes(`GET ${FEED} HTTP/1.1\r\n${CREDENTIALS}If-None-Match: "`, 0xff, '"\r\n\r\n')],
      [200],
    ],
    [
      'has bytes that are not UTF-8 in its path',
      [bytes(`GET ${FEED}/`, 0xff, 0xfe, ` HTTP/1.1\r\n${CREDENTIALS}\r\n`)],
      [400, 404],
    ],
    ['has an encoded NUL in its path', [`GET ${FEED}/%00 HTTP/1.1\r\n${CREDENTIALS}\r\n`], [404]],
    [
      'has encoded bytes that are not UTF-8 in its path',
      [`GET ${FEED}/%ff%fe HTTP/1.1\r\n${CREDENTIALS}\r\n`],
      [404],
    ],
    [
      'climbs out of its path',
      [`GET /api/../../etc/passwd HTTP/1.1\r\n${CREDENTIALS}\r\n`],
      [400, 404],
    ],
    [
      'has a path with backslashes',
      [`GET /api\\v1\\web\\properties HTTP/1.1\r\n${CREDENTIALS}\r\n`],
      [400, 404],
    ],
    ['has a path without a slash', [`GET api/health HTTP/1.1\r\n${CREDENTIALS}\r\n`], [400]],
    [
      'has an address of 15 KB',
      [`GET ${FEED}/${'a'.repeat(15_000)} HTTP/1.1\r\n${CREDENTIALS}\r\n`],
      [404, 414],
    ],
    [
      'has an address of 200 KB',
      [`GET ${FEED}?${'a'.repeat(200_000)} HTTP/1.1\r\n${CREDENTIALS}\r\n`],
      [200, 400, 414],
    ],
    ['has an unknown method', [`FOO ${FEED} HTTP/1.1\r\n${CREDENTIALS}\r\n`], [405, 501]],
    ['asks for a trace', [`TRACE ${FEED} HTTP/1.1\r\n${CREDENTIALS}\r\n`], [405]],
    ['asks with OPTIONS *', [`OPTIONS * HTTP/1.1\r\n${CREDENTIALS}\r\n`], [400, 404]],
    [
      'asks for a WebSocket',
      [
        `GET ${FEED} HTTP/1.1\r\nHost: a\r\nx-api-key: ${API_KEY}\r\nConnection: close, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
      ],
      [200, 400, 426],
    ],
    ['is of HTTP/0.9', [`GET ${FEED}\r\n\r\n`], [400]],
    ['is of TLS', [new Uint8Array([0x16, 0x03, 0x01, 0x00, 0xa5, 0x01, 0x00, 0x00])], [400]],
  ])('%s', async (_name, parts, statuses) => {
    const answer = await exchange(parts, 2_000);
    expect(statuses, answer).toContain(statusOf(answer));
    expectNothingTold(answer);
  });

  it.each<[string, Bytes]>([
    ['breaks off', `GET ${FEED} HTTP/1.1\r\nHost: a`],
    ['never begins', 'A'.repeat(500)],
    ['begins as HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ])('%s is given no resource', async (_name, sent) => {
    expect(await exchange([sent], 300)).not.toMatch(/"object"/);
  });
});

it('answers each of many requests on one connection, in their order', async () => {
  const ids = Array.from({ length: 100 }, (_, index) => `pipelined-${index}`);
  const requests = ids.map((id, index) => {
    const connection = index === ids.length - 1 ? 'Connection: close\r\n' : '';
    return `GET /api/health HTTP/1.1\r\nHost: a\r\n${connection}X-Request-ID: ${id}\r\n\r\n`;
  });
  const answer = await exchange([requests.join('')]);
  const answered = [...answer.matchAll(/^x-request-id: (.+)\r$/gim)].map((match) => match[1]);
  expect(answered).toEqual(ids);
});

it('logs a line for each request that reached it, and no value that was sent', () => {
  expect(log.length).toBeGreaterThan(100);
  const lines = log.map(({ message }) => message);
  expect(lines.filter((line) => line.includes(API_KEY) || line.includes(CANARY))).toEqual([]);
  expect(log.filter(({ level }) => level === 'error')).toEqual([]);
});
