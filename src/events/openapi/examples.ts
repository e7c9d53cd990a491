/** Examples of events for the OpenAPI document. */

import { EXAMPLE_TIME } from '../../openapi/chapter.ts';

const key = 'bk_1001-created';
const body = {
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
const cancellation = {
  event_type: 'booking.cancelled',
  aggregate_id: 'bk_1001',
  aggregate_type: 'booking',
  payload: { reason: 'Change of plans', cancelled_at: '2027-02-01T10:00:00Z' },
};
const event = {
  object: 'event',
  id: 'd4a5f609-9495-587f-a981-0999a35626d6',
  type: body.event_type,
  status: 'pending',
  created_at: EXAMPLE_TIME,
};
const replay = { ...event, status: 'idempotent' };
const { event_type: _, ...fields } = body;
const storedEvent = {
  ...event,
  ...fields,
  received_from: 'booking-system',
  erased_at: null,
};
/** The `resume_cursor` of the last page of `aggregate_id=bk_1001&order=asc`. */
const lastCursor =
  '8_TbOUZ3miJbMiwiZXZlbnRzIiwiY2JjMjcxOTczZDNiZWI1MyIsWyIwZjRjMWQ5YTZiN2U0YzJmOGEzNWQxZTA3YjkyYzY0OCIsMl1d';
/** The `next_cursor` of the first page of `limit=1`. */
const nextCursor =
  'vQG-YZXYETxbMiwiZXZlbnRzIiwiMDNhZmEwMjUxZmUyYTg2OCIsWyIwZjRjMWQ5YTZiN2U0YzJmOGEzNWQxZTA3YjkyYzY0OCIsMl1d';

const cancellationKey = 'bk_1001-cancelled';
const batch = [
  { idempotency_key: key, ...body },
  { idempotency_key: cancellationKey, ...cancellation },
];
const results = [
  {
    object: 'ingest_result',
    idempotency_key: key,
    outcome: 'replayed',
    event: replay,
    error: null,
  },
  {
    object: 'ingest_result',
    idempotency_key: cancellationKey,
    outcome: 'accepted',
    event: {
      ...event,
      id: '8297629a-82f5-5eb4-978c-f38305436113',
      type: cancellation.event_type,
    },
    error: null,
  },
];

export const EXAMPLES = {
  key,
  body,
  cancellation,
  event,
  replay,
  storedEvent,
  lastCursor,
  nextCursor,
  batch,
  results,
};
