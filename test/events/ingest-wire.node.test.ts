/** Ingest requests as bytes on a wire: keys beyond ASCII, and bodies of another length than declared. */

import { request } from 'node:http';
import { connect } from 'node:net';
import { v5 } from 'uuid';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Runtime } from '../../tools/bench/runtime.ts';
import { startWatchedProduction } from '../support/node/production-service.ts';

const API_KEY = 'ingest-wire-key';
const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const PATH = '/api/public/events/ingest';
const BODY = JSON.stringify({
  event_type: 'booking.created',
  aggregate_id: 'b',
  aggregate_type: 'booking',
  payload: {},
});

let service: Runtime;

beforeAll(async () => {
  service = await startWatchedProduction({ API_KEY });
});

afterAll(async () => {
  await service.stop();
});

/** Sends bytes. Returns all that comes back until the connection ends. */
function exchange(...parts: (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = service.url;
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.setTimeout(10_000, () => socket.destroy(new Error(`no end after: ${answer}`)));
    socket.on('data', (bytes) => {
      answer += bytes.toString('utf8');
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
    for (const part of parts) socket.write(part);
  });
}

function post(key: Uint8Array): Promise<string> {
  const head = `POST ${PATH} HTTP/1.1\r\nHost: api\r\nConnection: close\r\nx-api-key: ${API_KEY}\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\nIdempotency-Key: `;
  return exchange(head, key, `\r\n\r\n${BODY}`);
}

it('names an event by the UTF-8 text of its key', async () => {
  const key = 'clé-ключ-\u{1F511}';
  const answer = await post(new TextEncoder().encode(key));
  expect(answer).toMatch(/^HTTP\/1\.1 202 /);
  expect(answer).toContain(`"id":"${v5(key, NAMESPACE)}"`);
});

it('refuses keys whose bytes are not UTF-8: it could not tell them apart', async () => {
  for (const byte of [0xe8, 0xe9]) {
    const answer = await post(new Uint8Array([0x6b, byte]));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"param":"Idempotency-Key"');
  }
});

it('answers 413 to a body in chunks that exceeds 256 KiB', async () => {
  const status = await new Promise((resolve, reject) => {
    const sending = request(
      new URL(PATH, service.url).href,
      {
        method: 'POST',
        headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json' },
      },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    sending.on('error', reject);
    for (let chunk = 0; chunk < 5; chunk += 1) sending.write(' '.repeat(65_536));
    sending.end();
  });
  expect(status).toBe(413);
});

it('answers 413 to a client that sends 12 MiB in chunks before it reads', async () => {
  const head = `POST ${PATH} HTTP/1.1\r\nHost: api\r\nConnection: close\r\nx-api-key: ${API_KEY}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const chunk = `c00000\r\n${' '.repeat(0xc00000)}\r\n`;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    expect(await exchange(head, chunk, '0\r\n\r\n')).toMatch(/^HTTP\/1\.1 413 /);
  }
});

it('answers 413 to a Content-Length beyond 256 KiB', async () => {
  const answer = exchange(
    `POST ${PATH} HTTP/1.1\r\nHost: api\r\nConnection: close\r\nx-api-key: ${API_KEY}\r\nContent-Type: application/json\r\nContent-Length: 262145\r\n\r\n`,
    ' '.repeat(262_145),
  );
  expect(await answer).toMatch(/^HTTP\/1\.1 413 /);
});

it('goes on serving after a client that broke off in the middle of a body', async () => {
  const { hostname, port } = service.url;
  await new Promise<void>((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(
        `POST ${PATH} HTTP/1.1\r\nHost: api\r\nx-api-key: ${API_KEY}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"event`,
        () => socket.destroy(),
      );
    });
    socket.on('close', () => resolve());
  });
  expect(await post(new TextEncoder().encode('after the broken one'))).toMatch(/^HTTP\/1\.1 202 /);
});
