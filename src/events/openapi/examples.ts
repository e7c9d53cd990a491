/** The examples of events in the OpenAPI document. */

import { EXAMPLE_TIME } from '../../openapi/chapter.ts';
import type { EventResource, IngestResult } from '../event.ts';

const KEY = 'bk_1001-created';
const BODY = {
  event_type: 'booking.created',
  aggregate_id: 'bk_1001',
  aggregate_type: 'booking',
  payload: {
    check_in: '2027-06-01',
    check_out: '2027-06-08',
    guests: 2,
    currency: 'EUR',
    total_amount: 1450,
  },
};
const CANCELLATION = {
  event_type: 'booking.cancelled',
  aggregate_id: 'bk_1001',
  aggregate_type: 'booking',
  payload: { reason: 'Change of plans', cancelled_at: '2027-02-01T10:00:00Z' },
};
const OTHER_BODY = { ...BODY, payload: { ...BODY.payload, guests: 3 } };
const EVENT: EventResource = {
  object: 'event',
  id: 'd4a5f609-9495-587f-a981-0999a35626d6',
  type: BODY.event_type,
  status: 'pending',
  created_at: EXAMPLE_TIME,
};
const REPLAY: EventResource = { ...EVENT, status: 'idempotent' };
const { event_type: _, ...FIELDS } = BODY;
const STORED_EVENT = {
  ...EVENT,
  ...FIELDS,
  received_from: 'booking-system',
  erased_at: null,
};
/** The `resume_cursor` of the last page of `aggregate_id=bk_1001&order=asc`. */
const LAST_CURSOR =
  '8_TbOUZ3miJbMiwiZXZlbnRzIiwiY2JjMjcxOTczZDNiZWI1MyIsWyIwZjRjMWQ5YTZiN2U0YzJmOGEzNWQxZTA3YjkyYzY0OCIsMl1d';
/** The `next_cursor` of the first page of `limit=1`. */
const NEXT_CURSOR =
  'vQG-YZXYETxbMiwiZXZlbnRzIiwiMDNhZmEwMjUxZmUyYTg2OCIsWyIwZjRjMWQ5YTZiN2U0YzJmOGEzNWQxZTA3YjkyYzY0OCIsMl1d';

const CANCELLATION_KEY = 'bk_1001-cancelled';
const BATCH = [
  { idempotency_key: KEY, ...BODY },
  { idempotency_key: CANCELLATION_KEY, ...CANCELLATION },
];
const RESULTS: IngestResult[] = [
  {
    object: 'ingest_result',
    idempotency_key: KEY,
    outcome: 'replayed',
    event: REPLAY,
    error: null,
  },
  {
    object: 'ingest_result',
    idempotency_key: CANCELLATION_KEY,
    outcome: 'accepted',
    event: {
      ...EVENT,
      id: '8297629a-82f5-5eb4-978c-f38305436113',
      type: CANCELLATION.event_type,
    },
    error: null,
  },
];

export const EXAMPLES = {
  key: KEY,
  body: BODY,
  cancellation: CANCELLATION,
  otherBody: OTHER_BODY,
  event: EVENT,
  replay: REPLAY,
  storedEvent: STORED_EVENT,
  lastCursor: LAST_CURSOR,
  nextCursor: NEXT_CURSOR,
  batch: BATCH,
  results: RESULTS,
};
