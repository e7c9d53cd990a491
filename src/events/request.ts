/** Parses ingest requests and their keys, and computes the identity that a request shares with its retries. */

import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { parse, v5 } from 'uuid';
import * as z from 'zod';
import type { Problem } from '../http/errors.ts';
import { addHint } from '../http/hints.ts';
import { type JsonObject, MAX_BODY_BYTES } from '../http/json-body.ts';
import { mergeRepeated } from '../http/repeated-header.ts';
import { type Parsed, parseWith, UNKNOWN_FIELD } from '../http/validation-problems.ts';
import { withMetadata } from '../schema/metadata.ts';
import { EVENT_TYPES, name } from './event-types.ts';

export const IDEMPOTENCY_KEY_HEADER = 'Idempotency-Key';

/** Namespace of the event ids. docs/reference/events.md publishes it, so it must never change. */
const KEY_NAMESPACE = parse('3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4');

type EventType = keyof typeof EVENT_TYPES;
export const eventType = z.enum(Object.keys(EVENT_TYPES) as EventType[]);

export const aggregateFields = {
  aggregate_id: name.meta({
    description: 'Identifier of the entity that the event concerns.',
    examples: ['bk_1001'],
  }),
  aggregate_type: name.meta({
    description: 'Type of the entity that the event concerns.',
    examples: ['booking'],
  }),
};

const requestSchemas = new Map<EventType, ReturnType<typeof createRequestSchema>>();

export function makeRequestSchema(type: EventType) {
  const schema = requestSchemas.get(type) ?? createRequestSchema(type);
  requestSchemas.set(type, schema);
  return schema;
}

function createRequestSchema(type: EventType) {
  const event_type = withMetadata(z.literal(type), 'Type of the event.');
  return z.strictObject({ event_type, ...aggregateFields, payload: EVENT_TYPES[type]() });
}

/** The schema of a request with an unknown event type, so that its other problems are reported too. */
const requestOfUnknownType = z.strictObject({
  event_type: eventType,
  ...aggregateFields,
  payload: z.looseObject({}),
});

export type IngestRequest = z.infer<typeof requestOfUnknownType>;

/**
 * Parses the body of an event. Returns a valid body unchanged, because the schema's output would have
 * the fields in another order.
 */
export function parseIngestRequest(body: JsonObject): Parsed<IngestRequest> {
  const type = eventType.safeParse(body.event_type);
  const parsed = parseWith<z.ZodType<IngestRequest>>(
    type.success ? makeRequestSchema(type.data) : requestOfUnknownType,
    body,
    explainUnknownField,
  );
  return parsed.ok ? { ok: true, value: body as IngestRequest } : parsed;
}

/** Builds the message for an unknown field. Adds a hint if the field may contain an idempotency key. */
export function explainUnknownField(name: string): string {
  return addHint(UNKNOWN_FIELD, /^event_id$|idempoten/i.test(name) ? KEY_HINT : undefined);
}

const KEY_HINT =
  "Send the Idempotency-Key header, or in a batch the idempotency_key of each event, which sets the event's id.";

/** Matches misspelt names of the header. If they were ignored, a retry would store the event again. */
const MISSPELT_KEY = /^(x[-_])?idempoten(cy|ce|t)[-_]?(key|token)$/i;

/**
 * Matches a header value (RFC 9110 section 5.5). U+FFFD is excluded, because it replaces every byte
 * that is not UTF-8, so that different keys could become equal.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it excludes them, as a field value does.
const HEADER_VALUE = /^(?![ \t])[^\x01-\x08\x0a-\x1f\x7f\ufffd]*(?<![ \t])$/;
const HEADER_VALUE_RULE =
  'must be UTF-8 text without control characters, and without spaces or tabs at its ends. Some clients send Latin-1, so use ASCII.';

/** The schema of an idempotency key, in the header or in a batch. */
export const idempotencyKey = z
  .string()
  .refine(
    (key) => mergeRepeated(key) === key,
    'was sent twice. Send one key, because a key is one value (RFC 9651, Item).',
  )
  .pipe(name.regex(HEADER_VALUE, HEADER_VALUE_RULE));

/** The schema of the header. It is an object, so that the path of a problem is the header's name. */
const keyHeader = z.object({ [IDEMPOTENCY_KEY_HEADER]: idempotencyKey });

/**
 * Returns the key of a single event, or every problem of its headers and query parameters. Ignores
 * parameters other than misspelt keys, because senders of webhooks append their own.
 */
export function parseHead(headers: Headers, parameters: string[]): Parsed<string | undefined> {
  const key = headers.get(IDEMPOTENCY_KEY_HEADER) ?? undefined;
  if (key !== undefined) {
    const parsed = parseWith(keyHeader, { [IDEMPOTENCY_KEY_HEADER]: key });
    return parsed.ok ? { ok: true, value: key } : parsed;
  }
  const misspeltHeaders = [...headers.keys()].filter((name) => MISSPELT_KEY.test(name));
  const misspeltParameters = parameters.filter((name) => MISSPELT_KEY.test(name));
  const problems = [
    ...misspeltParameters.map((name) => misspeltKey(name, 'query')),
    ...misspeltHeaders.map((name) => misspeltKey(capitalize(name), IDEMPOTENCY_KEY_HEADER)),
  ];
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: undefined };
}

function misspeltKey(path: string, field: string): Problem {
  return { path, field, message: addHint('is not read here', KEY_HINT) };
}

/** Capitalises a header's name, which arrives in lower case. */
function capitalize(header: string): string {
  return header.replaceAll(/(?<![a-z])[a-z]/g, (first) => first.toUpperCase());
}

/** The identity of an event with a key. */
export type Identity = {
  /** UUID version 5 of the key. The key's first event has this id. */
  keyId: string;
  /** SHA-256 of the body's canonical JSON (RFC 8785), in hexadecimal. */
  fingerprint: string;
  /** UUID version 5 of the fingerprint, in the namespace `keyId`. A later event of the key has this id. */
  reusedKeyEventId: string;
};

/** Returns the canonical JSON (RFC 8785) of a body, or a problem if it is too large. */
export function canonicalBody(body: JsonObject): Parsed<Uint8Array> {
  const value = new TextEncoder().encode(canonicalize(body));
  if (value.length <= MAX_BODY_BYTES) return { ok: true, value };
  const message = `The event must have at most ${MAX_BODY_BYTES} bytes as canonical JSON.`;
  return { ok: false, problems: [{ path: '', message }] };
}

/** Computes a request's identity from its key and its body. Callers can compute the same ids. */
export function identify(key: string, canonical: Uint8Array): Identity {
  const fingerprint = hash('sha256', canonical);
  const keyId = v5(key, KEY_NAMESPACE);
  return { keyId, fingerprint, reusedKeyEventId: v5(fingerprint, keyId) };
}
