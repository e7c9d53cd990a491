/** Sends and reads events in tests. */

import { event, makeEventList, storedEvent } from '../../src/events/openapi/event.ts';
import { expectStatus, get, send } from './http.ts';

type Body = Record<string, unknown>;

/** Returns a valid event. `fields` replace its own fields. */
export function bookingCreated(fields: Body = {}): Body {
  return {
    event_type: 'booking.created',
    aggregate_id: 'bk_1',
    aggregate_type: 'booking',
    payload: { guests: 2, currency: 'EUR' },
    ...fields,
  };
}

/** Returns an event for a batch, with a new key. */
export function batchItem(fields: Body = {}): Body {
  return bookingCreated({ idempotency_key: crypto.randomUUID(), ...fields });
}

/** Returns the options of a request that ingests a body. A string is sent unchanged. */
export function ingestInit(
  body: unknown,
  key?: string,
  headers: Record<string, string> = {},
): RequestInit {
  return {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** Posts a body to the ingest endpoint. */
export function ingest(body: unknown, key?: string): Promise<Response> {
  return send('/api/public/events/ingest', ingestInit(body, key));
}

/** Expects a status and a valid event resource, and returns the resource. */
export async function expectEvent(response: Response, status: number) {
  await expectStatus(response, status);
  return event.parse(await response.json());
}

/** Returns one page of the list. `query` has no `?`. */
export async function listEvents(query = '') {
  const response = await get(`/api/v1/events?${query}`);
  await expectStatus(response, 200);
  return makeEventList(storedEvent).parse(await response.json());
}
