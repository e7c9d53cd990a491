/** Sends the requests of the benchmark over connections that stay open. */

import { Agent, request } from 'node:http';
import type { Call } from './scenarios.ts';

const CONNECTIONS = 16;
/** The client's address changes after this many requests. */
const REQUESTS_PER_CLIENT = 10;

const agent = new Agent({ keepAlive: true });
let clients = 0;

/** Returns an address that no request has had, e.g. `10.0.1.4` for client 260. */
export function nextAddress(): string {
  clients += 1;
  return `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
}

/** Returns the requests per second of the Worker at `url`. Throws unless all succeed. */
export async function measureRate(url: URL, call: Call, seconds: number): Promise<number> {
  const startedAt = performance.now();
  let responses = 0;
  const sendInTurn = async () => {
    while (performance.now() < startedAt + seconds * 1_000) {
      const address = nextAddress();
      for (let sent = 0; sent < REQUESTS_PER_CLIENT; sent += 1) {
        const { status } = await send(url, call, address);
        if (status >= 300) throw new Error(`${call.method} ${call.path}: ${status}`);
        responses += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendInTurn));
  return (responses * 1_000) / (performance.now() - startedAt);
}

/** `timings` is the header `Server-Timing`. */
type Reply = { status: number; milliseconds: number; timings: string };

/** Sends one request of a client, and reads the response to its end. */
export function send(
  url: URL,
  { method, path, body, hasFreshKeys, ...call }: Call,
  address: string,
) {
  const key = hasFreshKeys && { 'Idempotency-Key': crypto.randomUUID() };
  const headers = { ...call.headers, ...key, 'CF-Connecting-IP': address };
  const startedAt = performance.now();
  return new Promise<Reply>((resolve, reject) => {
    const sent = request(`${url.origin}${path}`, { agent, method, headers }, (response) => {
      const { statusCode: status = 0, headers } = response.resume();
      const timings = String(headers['server-timing']);
      const end = () => ({ status, milliseconds: performance.now() - startedAt, timings });
      response.on('end', () => resolve(end()));
    });
    sent.on('error', reject).end(body);
  });
}
