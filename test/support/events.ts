import { event, makeEventList, storedEvent } from '../../src/events/openapi/event.ts';
import { expectStatus, get, send } from './http.ts';

type Body = Record<string, unknown>;

/** Returns a valid event. `fields` replace or add fields. */
export function bookingCreated(fields: Body = {}): Body {
  return {
    event_type: 'booking.created',
    aggregate_id: 'bk_1',
    aggregate_type: 'booking',
    payload: { guests: 2, currency: 'EUR' },
    ...fields,
  };
}

/** Returns an event for a batch, with a new idempotency key. */
export function batchItem(fields: Body = {}): Body {
  return bookingCreated({ idempotency_key: crypto.randomUUID(), ...fields });
}

/**
 * Returns the request options for ingesting a body. A string is sent unchanged; any other value is
 * sent as JSON.
 */
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

export function ingest(body: unknown, key?: string): Promise<Response> {
  return send('/api/public/events/ingest', ingestInit(body, key));
}

/** Checks the status and the schema of an event response. Returns the event. */
export async function expectEvent(response: Response, status: number) {
  await expectStatus(response, status);
  return event.parse(await response.json());
}

/** Returns one page of the event list. `query` does not begin with `?`. */
export async function listEvents(query = '') {
  const response = await get(`/api/v1/events?${query}`);
  await expectStatus(response, 200);
  return makeEventList(storedEvent).parse(await response.json());
}
