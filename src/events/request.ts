/** Validates an ingest request: its body and its key. */

import * as z from 'zod';
import type { Problem } from '../http/errors.ts';
import type { JsonObject } from '../http/json-body.ts';
import { type Parsed, parseWith } from '../http/validate.ts';
import { CATALOGUE, type EventType } from './catalogue.ts';
import { nameOfKind, unionByKind } from './kinds.ts';
import { name } from './text.ts';

/** The request header that carries the key. */
export const IDEMPOTENCY_KEY_HEADER = 'Idempotency-Key';

const eventType = z.object(CATALOGUE).keyof();

const aggregateFields = {
  aggregate_id: name.meta({
    description: 'Identifier of the entity that the event concerns.',
    examples: ['bk_1001'],
  }),
  aggregate_type: name.meta({ description: 'Kind of that entity.', examples: ['booking'] }),
};

/** The body of a request of any kind, as a sender writes it. */
export type IngestBody = {
  [Kind in EventType]: {
    event_type: Kind;
    aggregate_id: string;
    aggregate_type: string;
    payload: z.input<(typeof CATALOGUE)[Kind]>;
  };
}[EventType];

/** Kind of event → schema of its request. */
const schemas = new Map(eventType.options.map((type) => [type, schemaOf(type)]));

/** A request of any kind: the union has a member for each entry of the catalogue. */
export const ingestRequest = unionByKind('event_type', [...schemas.values()]).meta({
  id: 'IngestRequest',
  description: 'A domain event.',
});

/** Refuses a kind that the catalogue does not have, and finds the other problems of its request. */
const schemaOfUnknownKind = z.strictObject({
  event_type: eventType,
  ...aggregateFields,
  payload: z.looseObject({}),
});

export type IngestRequest = z.infer<typeof schemaOfUnknownKind>;

/** Parses a body by the schema of its own `event_type`. */
export function parseIngestRequest(body: JsonObject): Parsed<IngestRequest> {
  const type = eventType.safeParse(body.event_type);
  const schema = (type.success ? schemas.get(type.data) : undefined) ?? schemaOfUnknownKind;
  const parsed: Parsed<IngestRequest> = parseWith(schema, body);
  if (parsed.ok) return parsed;
  const [first, ...rest] = parsed.problems;
  return { ok: false, problems: [withAdvice(first), ...rest.map(withAdvice)] };
}

/**
 * A key has 1 to 255 characters in UTF-8. The runtime replaces bytes that are not UTF-8 by U+FFFD, so
 * two such keys could not be told apart.
 */
const idempotencyKey = name.refine((key) => !key.includes('\ufffd'), 'must be UTF-8 text');
const headers = z.object({ [IDEMPOTENCY_KEY_HEADER]: idempotencyKey.optional() });

/** Parses the headers of a request. Its problems have the header's name as their path. */
export function parseKey(key: string | undefined): Parsed<z.infer<typeof headers>> {
  return parseWith(headers, { [IDEMPOTENCY_KEY_HEADER]: key });
}

function schemaOf(type: EventType) {
  const kind = nameOfKind(type);
  return z
    .strictObject({
      event_type: z.literal(type),
      ...aggregateFields,
      payload: CATALOGUE[type].meta({
        id: `${kind}Payload`,
        description: 'The event data. Every field is optional; unknown ones are stored as sent.',
      }),
    })
    .meta({ id: `${kind}Request`, description: `An event of the kind \`${type}\`.` });
}

/** Tells the senders of `event_id`, which was a field once, what to send instead. */
function withAdvice(problem: Problem): Problem {
  if (problem.path !== 'event_id') return problem;
  return {
    path: 'event_id',
    message: `is no longer a field: send the ${IDEMPOTENCY_KEY_HEADER} header, which sets the event's id`,
  };
}
