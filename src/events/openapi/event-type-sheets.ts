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

/** A field in JSON Schema. The first member of `anyOf` has its form, the second one is null. */
const fieldSchema = z.object({
  description: z.string(),
  examples: z.tuple([z.unknown()]),
  anyOf: z.tuple([
    z.object({
      type: z.string(),
      format: z.string().optional(),
      minimum: z.number().optional(),
      minLength: z.number().default(0),
      maxLength: z.number().optional(),
    }),
    z.unknown(),
  ]),
});

const exampleOf = (schema: z.ZodType) => z.globalRegistry.get(schema)?.examples?.[0];

/** One sheet per event type, in the order of `EVENT_TYPES`. */
export function describeEventTypes(): EventTypeSheet[] {
  return Object.entries(EVENT_TYPES).map(([type, makePayload]) => {
    const { properties = {} } = z.toJSONSchema(makePayload(), { io: 'input' });
    const fields = Object.entries(properties).map(([name, schema]) => ({
      name,
      ...fieldSchema.parse(schema),
    }));
    const payload = Object.fromEntries(fields.map(({ name, examples: [value] }) => [name, value]));
    const { aggregate_id, aggregate_type } = aggregateFields;
    return {
      type,
      fields: fields.map(({ name, description, anyOf: [form] }) => ({
        name,
        form: describeForm(form),
        description,
      })),
      sample: {
        event_type: type,
        aggregate_id: exampleOf(aggregate_id),
        aggregate_type: exampleOf(aggregate_type),
        payload,
      },
    };
  });
}

function describeForm(form: z.infer<typeof fieldSchema>['anyOf'][0]): string {
  const { type, format, minimum, minLength, maxLength } = form;
  if (format !== undefined) return `${type}, ${format}`;
  if (minimum !== undefined) return `${type}, from ${minimum}`;
  if (maxLength === undefined) return type;
  const least = minLength === 0 ? 'up' : minLength;
  return `${type}, ${least} to ${maxLength} characters`;
}
