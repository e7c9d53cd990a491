/** The requests of the benchmark. */

export const API_KEY = 'benchmark-key-of-the-day';

export type Call = {
  method: 'GET' | 'POST';
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Whether each request has its own `Idempotency-Key`. */
  hasFreshKeys?: boolean;
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

export function readCall(path: string): Call {
  return { method: 'GET', path, headers: { 'x-api-key': API_KEY } };
}

/** Returns a read of the feed. `path` follows the list's path: a query or an item. */
export function feedCall(path: string): Call {
  return readCall(`/api/v1/web/properties${path}`);
}

export function ingestCall(headers: Record<string, string> = {}): Call {
  const sent = { 'Content-Type': 'application/json', 'x-api-key': API_KEY, ...headers };
  return { method: 'POST', path: '/api/public/events/ingest', headers: sent, body: BODY };
}

export const FRESH_INGEST: Call = { ...ingestCall(), hasFreshKeys: true };
