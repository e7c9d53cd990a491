/**
 * The thread that makes the load.
 *
 * It writes requests as text and reads only the status and the length of an answer: Node's own HTTP client takes as
 * much processor time for a request as the Worker that answers it.
 */

import { connect, type Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** A request that is sent again and again. */
export type Call = {
  method: 'GET' | 'POST';
  /** The path with its query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Whether each request has its own `Idempotency-Key`. */
  hasFreshKeys?: boolean;
};

/** A measurement to make. */
export type Order = {
  host: string;
  port: number;
  call: Call;
  connections: number;
  seconds: number;
};

export type Measured = { answers: number; seconds: number; failure?: string };

/** The client's address changes after this many requests. */
const REQUESTS_PER_CLIENT = 10;

let requests = 0;

parentPort?.on('message', async (order: Order) => {
  parentPort?.postMessage(await measure(order));
});

async function measure(order: Order): Promise<Measured> {
  const startedAt = performance.now();
  const endsAt = startedAt + order.seconds * 1_000;
  try {
    const counts = await Promise.all(
      Array.from({ length: order.connections }, () => keepAsking(order, endsAt)),
    );
    const answers = counts.reduce((sum, count) => sum + count, 0);
    return { answers, seconds: (performance.now() - startedAt) / 1_000 };
  } catch (error) {
    return { answers: 0, seconds: 0, failure: String(error) };
  }
}

/** Sends, reads the answer to its end and sends again, on one connection. Returns the number of answers. */
function keepAsking({ host, port, call }: Order, endsAt: number): Promise<number> {
  const socket = connect({ host, port, noDelay: true });
  const head = headOf(call, host);
  return new Promise((resolve, reject) => {
    let answers = 0;
    let bytesMissing = 0;
    socket.on('connect', () => ask(socket, call, head));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the Worker closed a connection')));
    socket.on('data', (chunk) => {
      const answer = bytesMissing === 0 ? readHead(chunk) : undefined;
      if (answer?.failure !== undefined) return reject(new Error(answer.failure));
      bytesMissing = (answer?.bytes ?? bytesMissing) - chunk.length;
      if (bytesMissing > 0) return;
      answers += 1;
      if (performance.now() < endsAt) return ask(socket, call, head);
      resolve(answers);
      socket.destroy();
    });
  });
}

function ask(socket: Socket, { body = '', hasFreshKeys }: Call, head: string): void {
  const client = Math.floor(requests++ / REQUESTS_PER_CLIENT);
  const address = `10.${(client >> 16) & 255}.${(client >> 8) & 255}.${client & 255}`;
  const key = hasFreshKeys ? `Idempotency-Key: ${crypto.randomUUID()}\r\n` : '';
  socket.write(`${head}CF-Connecting-IP: ${address}\r\n${key}\r\n${body}`);
}

function headOf({ method, path, headers, body }: Call, host: string): string {
  const all = {
    Host: host,
    ...headers,
    ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}`;
}

/** Reads the first bytes of an answer. Returns its length with the head, or why the answer is no success. */
function readHead(chunk: Buffer): { bytes: number; failure?: string } {
  const end = chunk.indexOf('\r\n\r\n');
  const head = chunk.toString('latin1', 0, end);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (end === -1 || length === undefined || !/^HTTP\/1\.1 2/.test(head)) {
    return { bytes: 0, failure: `an answer that is no success: ${chunk.toString('utf8')}` };
  }
  return { bytes: end + 4 + Number(length) };
}
