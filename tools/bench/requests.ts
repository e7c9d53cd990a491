/** The requests of the benchmark, and how they are sent: over connections that stay open. */

import { Agent, request } from 'node:http';

export const API_KEY = 'benchmark-key-of-the-day';

export type Call = {
  method: 'GET' | 'POST';
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
};

export const EVENT = {
  event_type: 'booking.created',
  aggregate_id: 'booking-4711',
  aggregate_type: 'booking',
  payload: {
    property_id: '5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42',
    check_in: '2027-06-01',
    check_out: '2027-06-08',
    guests: 4,
    currency: 'EUR',
    total_amount: 3200.5,
  },
};
const BODY = JSON.stringify(EVENT);

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

const agent = new Agent({ keepAlive: true });
let clients = 0;

function readCall(path: string): Call {
  return { method: 'GET', path: `/api/v1${path}`, headers: { 'x-api-key': API_KEY } };
}

function ingestCall(headers: Record<string, string> = {}): Call {
  const sent = { 'Content-Type': 'application/json', 'x-api-key': API_KEY, ...headers };
  return { method: 'POST', path: '/api/public/events/ingest', headers: sent, body: BODY };
}

/** Returns the milliseconds of each request, which are sent in a row, or all at once. */
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

/** Reads the response to its end. Throws unless it succeeds or is over the client's limit. */
function send(url: URL, { method, path, body, ...call }: Call, address: string): Promise<number> {
  const headers = { ...call.headers, 'CF-Connecting-IP': address };
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(`${url.origin}${path}`, { agent, method, headers }, (response) => {
      const { statusCode = 0 } = response.resume();
      if (statusCode >= 300 && statusCode !== 429) {
        reject(new Error(`${method} ${path}: ${statusCode}`));
      }
      response.on('end', () => resolve(performance.now() - startedAt));
    });
    sent.on('error', reject).end(body);
  });
}
