/** The watch over the log of services over real HTTP: ../support/watch-service-log.ts. */

import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noteSent, takeFindings, watchService } from '../support/watch-service-log.ts';

const INGEST = '/api/public/events/ingest';
const ACCESS =
  '{"level":"info","message":"request","request_id":"req_1","method":"GET","status":200}';

const secrets = {
  'a configured API key': 'configured-key',
  'an API key that fetch sends': 'fetched-api-key',
  'a bearer token that fetch sends': 'fetched.bearer.token',
  'an Idempotency-Key that node:http sends': 'requested-idempotency-key',
  'a value of a body': 'requested "value"',
  'a value of a query': 'fetched query value',
  'a value of a body that breaks off': 'broken-off-value',
  'a key in a script': 'scripted-api-key',
  'a value in a script': 'scripted-value',
};

const stub = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
let port: number;
let origin: string;
const log = watchService();

beforeAll(async () => {
  if (!stub.listening) await once(stub, 'listening');
  const address = stub.address();
  if (address === null || typeof address === 'string') throw new Error('the stub has no port');
  port = address.port;
  origin = `http://127.0.0.1:${port}`;
});

afterAll(() => {
  stub.closeAllConnections();
  stub.close();
});

async function sendByFetch(): Promise<void> {
  const query = new URLSearchParams({ q: secrets['a value of a query'] });
  const response = await fetch(`${origin}${INGEST}?${query}`, {
    headers: {
      'x-api-key': secrets['an API key that fetch sends'],
      Authorization: `Bearer ${secrets['a bearer token that fetch sends']}`,
    },
  });
  await response.text();
}

async function sendByHttp(): Promise<void> {
  const sending = request(`${origin}${INGEST}`, {
    method: 'POST',
    headers: { 'Idempotency-Key': secrets['an Idempotency-Key that node:http sends'] },
  });
  sending.end(JSON.stringify({ payload: { list: [{ note: secrets['a value of a body'] }] } }));
  const [response] = await once(sending, 'response');
  response.resume();
}

async function sendBytes(): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const value = secrets['a value of a body that breaks off'];
  const body = `{"payload":{"note":"${value}"`;
  await new Promise((resolve) =>
    socket.write(
      `POST ${INGEST} HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n${body}`,
      resolve,
    ),
  );
  socket.destroy();
}

describe('a request to a service', () => {
  it('whose log no test reads is found', async () => {
    await sendByFetch();
    expect(takeFindings()).toEqual([
      `the log of the service on port ${port} is not read: see watchService`,
    ]);
    log.at(origin, '');
    await sendByFetch();
    expect(takeFindings()).toHaveLength(1);
    log.hear(ACCESS);
    await sendByFetch();
    expect(takeFindings()).toEqual([]);
  });
});

describe('the watch over the log of services', () => {
  it.each(Object.entries(secrets))('finds %s', async (_name, secret) => {
    log.at(origin, `other-key,${secrets['a configured API key']}`);
    await Promise.all([sendByFetch(), sendByHttp(), sendBytes()]);
    noteSent(
      `curl -H 'x-api-key: ${secrets['a key in a script']}' -d '{"a": "${secrets['a value in a script']}"}'`,
    );
    const line = JSON.stringify({ level: 'error', message: 'failed', cause: `it was ${secret}` });
    log.hear(line);
    expect(takeFindings()).toEqual([
      expect.stringContaining(`${JSON.stringify(secret)} stands in the log line`),
    ]);
    expect(takeFindings()).toEqual([]);
  });

  it('leaves a client its request id, and nothing else', async () => {
    await sendByFetch();
    log.hear(`{"request_id":"${secrets['an API key that fetch sends']}","status":200}`);
    log.hear('{"request_id":"1","route":"/api/v1/web/properties"}');
    expect(takeFindings()).toEqual([]);
  });
});
