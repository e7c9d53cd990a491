/**
 * Puts load on a Worker over several connections, each with a request under way. Requests are text:
 * Node's own HTTP client takes as much processor time as the Worker.
 */

import { connect, type Socket } from 'node:net';

export type Call = {
  method: 'GET' | 'POST';
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Whether each request has its own `Idempotency-Key`. */
  hasFreshKeys?: boolean;
};

/** A call, and for how long and over how many connections it is sent. */
type Load = { call: Call; connections: number; seconds: number };

/** The client's address changes after this many requests. */
const REQUESTS_PER_CLIENT = 10;

let requests = 0;

/** Returns the requests per second of the Worker at `url`. Throws unless all succeed. */
export async function rateOf(url: URL, { call, connections, seconds }: Load): Promise<number> {
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  const all = Array.from({ length: connections }, () => sendUntil(endsAt, url, call));
  const responses = (await Promise.all(all)).reduce((sum, count) => sum + count, 0);
  return (responses * 1_000) / (performance.now() - startedAt);
}

/** Sends, reads the response and sends again. Returns the number of responses. */
function sendUntil(endsAt: number, { hostname, port }: URL, call: Call): Promise<number> {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const head = headOf(call, hostname);
  return new Promise((resolve, reject) => {
    let responses = 0;
    let bytesMissing = 0;
    socket.on('connect', () => send(socket, call, head));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the Worker closed a connection')));
    socket.on('data', (chunk) => {
      if (bytesMissing === 0) bytesMissing = lengthOf(chunk);
      if (Number.isNaN(bytesMissing)) return socket.destroy(new Error(`not a success: ${chunk}`));
      bytesMissing -= chunk.length;
      if (bytesMissing > 0) return;
      responses += 1;
      if (performance.now() < endsAt) return send(socket, call, head);
      resolve(responses);
      socket.destroy();
    });
  });
}

function send(socket: Socket, { body = '', hasFreshKeys }: Call, head: string): void {
  const client = Math.floor(requests++ / REQUESTS_PER_CLIENT);
  const key = hasFreshKeys ? `Idempotency-Key: ${crypto.randomUUID()}\r\n` : '';
  socket.write(`${head}CF-Connecting-IP: ${addressOf(client)}\r\n${key}\r\n${body}`);
}

/** Returns the address of a client, e.g. `10.0.1.4` for 260. */
export function addressOf(client: number): string {
  return `10.${(client >> 16) & 255}.${(client >> 8) & 255}.${client & 255}`;
}

function headOf({ method, path, headers, body }: Call, host: string): string {
  const length = body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) };
  const all = { Host: host, ...headers, ...length };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}`;
}

/** Returns the length of a response with its head; NaN unless it is a success. */
function lengthOf(chunk: Buffer): number {
  const end = chunk.indexOf('\r\n\r\n');
  const head = chunk.toString('latin1', 0, end);
  const isSuccess = end !== -1 && /^HTTP\/1\.1 2/.test(head);
  return isSuccess ? end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]) : Number.NaN;
}
