/** What an ingest request may say: its body and its key (specification: Ingest request body). */

import * as z from 'zod';
import type { Problem } from '../http/errors.ts';
import type { JsonObject } from '../http/json-limits.ts';
import { type Parsed, parseWith } from '../http/validate.ts';
import { CATALOGUE, type EventType } from './catalogue.ts';
import { name } from './text.ts';

/** Where a request carries its key. */
export const IDEMPOTENCY_KEY_HEADER = 'Idempotency-Key';

const eventType = z.object(CATALOGUE).keyof();

const aggregateFields = {
  aggregate_id: name.meta({
    description: 'Identifier of the entity that the event concerns.',
    examples: ['bk_1001'],
  }),
  aggregate_type: name.meta({ description: 'Kind of that entity.', examples: ['booking'] }),
};

const requests = new Map(eventType.options.map((type) => [type, requestOf(type)]));

/** The request of any kind: one member for each entry of the catalogue. */
export const ingestRequest = z
  .union([...requests.values()])
  .meta({ id: 'IngestRequest', description: 'A domain event.' });

/** Finds what else is wrong with a request whose kind is none of the catalogue's. */
const requestOfUnknownKind = z.strictObject({
  event_type: eventType,
  ...aggregateFields,
  payload: z.looseObject({}),
});

export type IngestRequest = z.infer<typeof requestOfUnknownKind>;

/** The request, or every problem of it. The schema is the one of the body's own `event_type`. */
export function parseIngestRequest(body: JsonObject): Parsed<IngestRequest> {
  const type = eventType.safeParse(body.event_type);
  const schema = (type.success ? requests.get(type.data) : undefined) ?? requestOfUnknownKind;
  const parsed: Parsed<IngestRequest> = parseWith(schema, body);
  if (parsed.ok) return parsed;
  const [first, ...rest] = parsed.problems;
  return { ok: false, problems: [explained(first), ...rest.map(explained)] };
}

/**
 * What is wrong with a key: it has 1 to 255 characters, and its bytes are UTF-8. The runtime puts
 * U+FFFD in the place of bytes that are not, so that two such keys could not be told apart.
 */
export function keyProblemsOf(key: string): Problem[] {
  const parsed = parseWith(name, key);
  const problems = parsed.ok ? [] : parsed.problems;
  const messages = problems.map(({ message }) => message);
  if (key.includes('\ufffd')) messages.push('must be UTF-8 text');
  return messages.map((message) => ({ path: IDEMPOTENCY_KEY_HEADER, message }));
}

function requestOf(type: EventType) {
  return z.strictObject({
    event_type: z.literal(type),
    ...aggregateFields,
    payload: CATALOGUE[type],
  });
}

/** The removed field gets the advice that its senders need. */
function explained(problem: Problem): Problem {
  if (problem.path !== 'event_id') return problem;
  return {
    path: 'event_id',
    message: `is no longer a field: send the ${IDEMPOTENCY_KEY_HEADER} header, which sets the event's id`,
  };
}
