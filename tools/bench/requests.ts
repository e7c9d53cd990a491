/** The requests of the benchmark, and how they are sent: over connections that stay open. */

import { once } from 'node:events';
import { request } from 'node:http';
import { EXAMPLES } from '../../src/events/openapi/examples.ts';

export const API_KEY = 'benchmark-key-of-the-day';

export type Call = { path: string; headers?: Readonly<Record<string, string>>; body?: string };

const REPLAY_KEY = crypto.randomUUID();

/** `fresh=true` bypasses the caches. */
export const OPERATIONS = {
  'page of 25, hot': () => readCall('/web/properties'),
  'page of 25, cold': () => readCall('/web/properties?fresh=true'),
  'listing, hot': () => readCall('/web/properties/home-150'),
  'listing, cold': () => readCall('/web/properties/home-150?fresh=true'),
  'two statuses and a type, cold': () =>
    readCall('/web/properties?fresh=true&status=listed,sold_out&type=ski'),
  'ingest, no key': () => ingestCall(),
  'ingest, fresh keys': () => ingestCall({ 'Idempotency-Key': crypto.randomUUID() }),
  replay: () => ingestCall({ 'Idempotency-Key': REPLAY_KEY }),
  'page of events': () => readCall('/events'),
} satisfies Record<string, () => Call>;

let clients = 0;

function readCall(path: string): Call {
  return { path: `/api/v1${path}` };
}

function ingestCall(keys: Record<string, string> = {}): Call {
  const headers = { 'Content-Type': 'application/json', ...keys };
  return { path: '/api/public/events/ingest', headers, body: JSON.stringify(EXAMPLES.body) };
}

/** Returns the milliseconds of each request. */
export async function sendFromNewClient(
  url: URL,
  call: () => Call,
  requests: number,
  isAtOnce = false,
): Promise<number[]> {
  clients += 1;
  const address = `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
  const sendOne = () => send(url, call(), address);
  if (isAtOnce) return Promise.all(Array.from({ length: requests }, sendOne));
  const times: number[] = [];
  while (times.length < requests) times.push(await sendOne());
  return times;
}

/** Throws unless the response succeeds or is over the client's limit. */
async function send(url: URL, { path, body, ...call }: Call, address: string): Promise<number> {
  const method = body === undefined ? 'GET' : 'POST';
  const headers = { ...call.headers, 'x-api-key': API_KEY, 'CF-Connecting-IP': address };
  const startedAt = performance.now();
  const sent = request(url.origin + path, { method, headers }).end(body);
  const [response] = await once(sent, 'response');
  await once(response.resume(), 'end');
  const { statusCode } = response;
  if (statusCode >= 300 && statusCode !== 429) throw new Error(`${method} ${path}: ${statusCode}`);
  return performance.now() - startedAt;
}
