/** Examples of events: what the service answers to the first of them. */

import { keyIdOf } from './event-id.ts';

export const EXAMPLE_KEY = 'bk_1001-created';
export const EXAMPLE_BODY = {
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
export const EXAMPLE_CANCELLATION = {
  event_type: 'booking.cancelled',
  aggregate_id: 'bk_1001',
  aggregate_type: 'booking',
  payload: { reason: 'Change of plans', cancelled_at: '2027-02-01T10:00:00Z' },
};
export const EXAMPLE_EVENT = {
  object: 'event',
  id: keyIdOf(EXAMPLE_KEY),
  type: 'booking.created',
  status: 'pending',
  created_at: '2027-01-15T09:30:00.000Z',
};
/** The `next_cursor` of the first page of `order=asc&limit=1`. */
export const EXAMPLE_NEXT_CURSOR = 'UX-VGx_KHlJbMSwiZXZlbnRzIiwie1wib3JkZXJcIjpcImFzY1wifSIsMV0';
export const EXAMPLE_STORED_EVENT = {
  ...EXAMPLE_EVENT,
  aggregate_id: EXAMPLE_BODY.aggregate_id,
  aggregate_type: EXAMPLE_BODY.aggregate_type,
  received_from: 'booking-system',
  erased_at: null,
  payload: EXAMPLE_BODY.payload,
};
