/** The requests of the benchmark, and the settings of the service that they need. */

import type { Call } from './load.ts';
import type { Runtime } from './runtime.ts';

export const API_KEY = 'benchmark-key-of-the-day';
export const PUBLIC_SITE_URL = 'https://www.example.com';
const FEED = '/api/v1/web/properties';
const INGEST = '/api/public/events/ingest';

export const EVENT = {
  event_type: 'booking.created' as const,
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

export function readCall(path: string): Call {
  return { method: 'GET', path, headers: { 'x-api-key': API_KEY } };
}

/** Returns a read of the feed. `path` follows the list's path: a query or an item. */
export function feedCall(path: string): Call {
  return readCall(`${FEED}${path}`);
}

export function ingestCall(headers: Record<string, string>): Call {
  const sent = { 'Content-Type': 'application/json', 'x-api-key': API_KEY, ...headers };
  return { method: 'POST', path: INGEST, headers: sent, body: BODY };
}

export const FRESH_INGEST: Call = { ...ingestCall({}), hasFreshKeys: true };

/** Sends one request, and reads the response to its end. `added` are further headers. */
export async function send({ url }: Runtime, call: Call, added: Record<string, string> = {}) {
  const { method, path, body, hasFreshKeys } = call;
  const key = hasFreshKeys && { 'Idempotency-Key': crypto.randomUUID() };
  const init = { method, headers: { ...call.headers, ...key, ...added } };
  const startedAt = performance.now();
  const response = await fetch(new URL(path, url), body === undefined ? init : { ...init, body });
  const text = await response.text();
  return { status: response.status, text, milliseconds: performance.now() - startedAt };
}

/** Sends one request and returns the JSON of the response. Throws unless it is a success. */
export async function sendOnce(runtime: Runtime, call: Call) {
  const { status, text } = await send(runtime, call);
  if (status >= 300) throw new Error(`${call.method} ${call.path}: ${status} ${text}`);
  return JSON.parse(text);
}

/** Returns a read of the page after `pages` pages of 25, or of the last page. */
export async function deepCall(runtime: Runtime, pages: number): Promise<Call> {
  let call = feedCall('');
  for (let page = 0; page < pages; page += 1) {
    const { next_cursor } = await sendOnce(runtime, call);
    if (next_cursor === null) break;
    call = feedCall(`?cursor=${next_cursor}`);
  }
  return call;
}
