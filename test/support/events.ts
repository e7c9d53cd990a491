/** Events for tests, and the two calls that post and read them. */

import { event, storedEvent } from '../../src/events/resource.ts';
import { listOf } from '../../src/http/paging.ts';
import { expectStatus, get, send } from './http.ts';

export type Body = Record<string, unknown>;

/** A valid event; `fields` replace or add top-level ones. */
export function bookingCreated(fields: Body = {}): Body {
  return {
    event_type: 'booking.created',
    aggregate_id: 'bk_1',
    aggregate_type: 'booking',
    payload: { guests: 2, currency: 'EUR' },
    ...fields,
  };
}

/** The request that ingests a body, given as an object or as its text. */
export function ingestInit(body: unknown, key?: string): RequestInit {
  return {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** Posts a body to the ingest endpoint. */
export function ingest(body: unknown, key?: string): Promise<Response> {
  return send('/api/public/events/ingest', ingestInit(body, key));
}

/** Expects `status`, and the body to be an event resource of the documented shape. */
export async function expectEvent(response: Response, status: number) {
  await expectStatus(response, status);
  return event.parse(await response.json());
}

/** One page of the list. `query` as it stands in the address, without `?`. */
export async function listEvents(query = '') {
  const response = await get(`/api/v1/events?${query}`);
  await expectStatus(response, 200);
  return listOf(storedEvent).parse(await response.json());
}
