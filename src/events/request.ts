/**
 * An ingest request: its schema, and the identity by which the service recognizes a retry. A fingerprint identifies the
 * body, and a UUID the key. Pure.
 */

import canonicalize from 'canonicalize';
import { parse, v5 } from 'uuid';
import * as z from 'zod';
import { described } from '../http/described.ts';
import type { Problem } from '../http/errors.ts';
import type { JsonObject } from '../http/json-body.ts';
import { type Parsed, parseWith } from '../http/validate.ts';
import { CATALOGUE, type EventType, name } from './catalogue.ts';

/** The request header that carries the key. */
export const IDEMPOTENCY_KEY_HEADER = 'Idempotency-Key';

/** The namespace of the ids, published in docs/reference/events.md. With another one, every key would have another id. */
const KEY_NAMESPACE = parse('3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4');

/** The kinds of the catalogue. */
export const eventType = z.object(CATALOGUE).keyof();

/** The fields that name the entity of an event. */
export const aggregateFields = {
  aggregate_id: name.meta({
    description: 'Identifier of the entity that the event concerns.',
    examples: ['bk_1001'],
  }),
  aggregate_type: name.meta({
    description: 'Kind of the entity that the event concerns.',
    examples: ['booking'],
  }),
};

/** Makes the schema of the requests of one kind. */
export function requestOf(type: EventType) {
  const event_type = described(z.literal(type), 'Kind of the event.');
  return z.strictObject({ event_type, ...aggregateFields, payload: CATALOGUE[type] });
}

/** Kind of event → schema of its requests. */
const requests = new Map<unknown, z.ZodType<IngestRequest>>(
  eventType.options.map((type) => [type, requestOf(type)]),
);

/** Refuses a kind that the catalogue does not have, and finds the other problems of its request. */
const requestOfUnknownKind = z.strictObject({
  event_type: eventType,
  ...aggregateFields,
  payload: z.looseObject({}),
});

/** A request that fits the schema of its kind. */
export type IngestRequest = z.infer<typeof requestOfUnknownKind>;

/** Parses a body by the schema of its own `event_type`. */
export function parseIngestRequest(body: JsonObject): Parsed<IngestRequest> {
  const parsed = parseWith(requests.get(body.event_type) ?? requestOfUnknownKind, body);
  if (parsed.ok) return parsed;
  const [first, ...rest] = parsed.problems;
  return { ok: false, problems: [withAdvice(first), ...rest.map(withAdvice)] };
}

/** Tells the senders of `event_id`, which was a field once, what to send instead. */
function withAdvice(problem: Problem): Problem {
  if (problem.path !== 'event_id') return problem;
  return {
    ...problem,
    message: `is no longer a field: send the ${IDEMPOTENCY_KEY_HEADER} header, which sets the event's id`,
  };
}

/**
 * A key has 1 to 255 characters in UTF-8. The runtime replaces bytes that are not UTF-8 by U+FFFD, so two such keys
 * could not be told apart.
 */
export const idempotencyKey = name.refine((key) => !key.includes('\ufffd'), 'must be UTF-8 text');
const headers = z.object({ [IDEMPOTENCY_KEY_HEADER]: idempotencyKey.optional() });

/** Parses the key. Its problems have the header's name as their path. */
export function parseKey(key: string | undefined): Parsed<unknown> {
  return parseWith(headers, { [IDEMPOTENCY_KEY_HEADER]: key });
}

/** The identity of a request with a key. */
export type Identity = {
  /** UUID version 5 (RFC 9562 section 5.5) of the key: the id of its first event. Stored in place of the key. */
  keyId: string;
  /**
   * SHA-256 of the body's canonical JSON (RFC 8785), in lower-case hexadecimal: bodies are equal if their canonical
   * JSON is.
   */
  fingerprint: string;
  /** UUID version 5 of the fingerprint under `keyId`: the id of a later event of the key. */
  laterId: string;
  /** The size of the body's canonical JSON in UTF-8. */
  bytes: number;
};

/** Identifies a request. A caller can compute the same ids. */
export async function identityOf(key: string, body: JsonObject): Promise<Identity> {
  const canonical = canonicalize(body);
  if (canonical === undefined) throw new Error('A JSON object must have a canonical form.');
  const bytes = new TextEncoder().encode(canonical);
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  const fingerprint = new Uint8Array(digest).toHex();
  const keyId = v5(key, KEY_NAMESPACE);
  return { keyId, fingerprint, laterId: v5(fingerprint, keyId), bytes: bytes.length };
}
