/** Describes the event types for documents, with the fields of each payload and a sample. */

import * as z from 'zod';
import { EVENT_TYPES } from '../event-types.ts';
import { aggregateFields } from '../request.ts';

type EventTypeSample = {
  /** e.g. `booking.created` */
  type: string;
  fields: { name: string; description: string }[];
  /** A valid body of `POST /api/public/events/ingest`, with every field of the payload. */
  sample: Record<string, unknown>;
};

const getExample = (schema: z.ZodType) => z.globalRegistry.get(schema)?.examples?.[0];

/** Describes each event type, in the order of `EVENT_TYPES`. */
export function describeEventTypes(): EventTypeSample[] {
  return Object.entries(EVENT_TYPES).map(([type, makePayload]) => {
    const entries = Object.entries(makePayload().shape);
    const { aggregate_id, aggregate_type } = aggregateFields;
    return {
      type,
      fields: entries.map(([name, schema]) => ({ name, description: schema.description ?? '' })),
      sample: {
        event_type: type,
        aggregate_id: getExample(aggregate_id),
        aggregate_type: getExample(aggregate_type),
        payload: Object.fromEntries(entries.map(([name, schema]) => [name, getExample(schema)])),
      },
    };
  });
}
