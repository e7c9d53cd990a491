/**
 * Puts load on a Worker by a thread. Each of its connections always has a request under way.
 *
 * The thread writes requests as text and reads only the status and the length of a response: Node's own HTTP client
 * takes as much processor time for a request as the Worker.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { parentPort, Worker, workerData } from 'node:worker_threads';

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
type Order = { host: string; port: number; call: Call; connections: number; seconds: number };
type Measurement = { rate: number } | { failure: string };

const LOAD_THREAD = 'load thread';
/** The client's address changes after this many requests. */
const REQUESTS_PER_CLIENT = 10;

let requests = 0;

if (workerData === LOAD_THREAD) {
  parentPort?.on('message', async (order: Order) => {
    parentPort?.postMessage(await measure(order));
  });
}

/** Starts the thread, which measures one order at a time. */
export function startLoad() {
  const thread = new Worker(import.meta.filename, { workerData: LOAD_THREAD });
  return {
    /** Returns the requests per second of the Worker at `url`. Throws if a response is not a success. */
    async rateOf({ hostname, port }: URL, order: Omit<Order, 'host' | 'port'>): Promise<number> {
      thread.postMessage({ ...order, host: hostname, port: Number(port) } satisfies Order);
      const [measurement = { failure: 'no result' }]: Measurement[] = await once(thread, 'message');
      if ('failure' in measurement) throw new Error(measurement.failure);
      return measurement.rate;
    },
    stop: () => thread.terminate(),
  };
}

async function measure(order: Order): Promise<Measurement> {
  const startedAt = performance.now();
  const endsAt = startedAt + order.seconds * 1_000;
  try {
    const counts = await Promise.all(
      Array.from({ length: order.connections }, () => sendUntil(order, endsAt)),
    );
    const seconds = (performance.now() - startedAt) / 1_000;
    return { rate: counts.reduce((sum, count) => sum + count, 0) / seconds };
  } catch (error) {
    return { failure: String(error) };
  }
}

/** Sends, reads the response to its end and sends again, on one connection. Returns the number of responses. */
function sendUntil({ host, port, call }: Order, endsAt: number): Promise<number> {
  const socket = connect({ host, port, noDelay: true });
  const head = headOf(call, host);
  return new Promise((resolve, reject) => {
    let responses = 0;
    let bytesMissing = 0;
    socket.on('connect', () => send(socket, call, head));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the Worker closed a connection')));
    socket.on('data', (chunk) => {
      if (bytesMissing === 0) {
        const bytes = lengthOf(chunk);
        if (bytes === undefined)
          return reject(new Error(`not a success: ${chunk.toString('utf8')}`));
        bytesMissing = bytes;
      }
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
  const address = `10.${(client >> 16) & 255}.${(client >> 8) & 255}.${client & 255}`;
  const key = hasFreshKeys ? `Idempotency-Key: ${crypto.randomUUID()}\r\n` : '';
  socket.write(`${head}CF-Connecting-IP: ${address}\r\n${key}\r\n${body}`);
}

function headOf({ method, path, headers, body }: Call, host: string): string {
  const all = {
    Host: host,
    ...headers,
    ...(body !== undefined && { 'Content-Length': String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}`;
}

/** Returns the length of a response and its head from its first bytes; undefined unless it is a success. */
function lengthOf(chunk: Buffer): number | undefined {
  const end = chunk.indexOf('\r\n\r\n');
  const head = chunk.toString('latin1', 0, end);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  const isSuccess = end !== -1 && /^HTTP\/1\.1 2/.test(head);
  return isSuccess && length !== undefined ? end + 4 + Number(length) : undefined;
}
