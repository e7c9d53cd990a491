/** The event types as people read them: the fields of each payload, and a sample. Pure. */

import * as z from 'zod';
import { EVENT_TYPES } from '../event-types.ts';
import { aggregateFields } from '../request.ts';

type PayloadField = {
  name: string;
  /** e.g. `string, 1 to 255 characters`, `integer, from 1`, `string, date` */
  form: string;
  description: string;
};

type EventTypeSheet = {
  /** e.g. `booking.created` */
  type: string;
  fields: PayloadField[];
  /** A valid body of `POST /api/public/events/ingest`, with every field of the payload. */
  sample: Record<string, unknown>;
};

const exampleOf = (schema: z.ZodType) => z.globalRegistry.get(schema)?.examples?.[0];

/** One sheet per event type, in the order of `EVENT_TYPES`. */
export function describeEventTypes(): EventTypeSheet[] {
  return Object.entries(EVENT_TYPES).map(([type, makePayload]) => {
    const { properties = {} } = z.toJSONSchema(makePayload(), { io: 'input' });
    const payload: Record<string, unknown> = {};
    const fields: PayloadField[] = [];
    for (const [name, field] of Object.entries(properties)) {
      if (typeof field === 'boolean') continue;
      const { description = '', examples = [], anyOf = [] } = field;
      payload[name] = examples[0];
      // The second member is null.
      fields.push({ name, form: describeForm(anyOf[0]), description });
    }
    const { aggregate_id, aggregate_type } = aggregateFields;
    return {
      type,
      fields,
      sample: {
        event_type: type,
        aggregate_id: exampleOf(aggregate_id),
        aggregate_type: exampleOf(aggregate_type),
        payload,
      },
    };
  });
}

function describeForm(schema: z.core.JSONSchema.BaseSchema = {}): string {
  const { type, format, minimum, minLength = 'up', maxLength } = schema;
  if (format !== undefined) return `${type}, ${format}`;
  if (minimum !== undefined) return `${type}, from ${minimum}`;
  if (maxLength === undefined) return `${type}`;
  return `${type}, ${minLength} to ${maxLength} characters`;
}
