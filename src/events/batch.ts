/**
 * Ingests a batch: many events with keys, in one transaction. The rules of a single event hold for each item, so the
 * same batch may always be sent again. KV is neither read nor written.
 */

import * as z from 'zod';
import { type Problem, pathOf } from '../http/errors.ts';
import {
  type JsonObject,
  type JsonValue,
  MAX_BODY_BYTES,
  MAX_BODY_DEPTH,
} from '../http/json-body.ts';
import { isNonEmpty, type Parsed, parseWith } from '../http/validate.ts';
import { keyInUse } from './conflict.ts';
import { type IngestContext, outcomeOf, receivingIn } from './ingest.ts';
import type { ingestResult } from './openapi/resource.ts';
import {
  IDEMPOTENCY_KEY_HEADER,
  type Identity,
  type IngestRequest,
  idempotencyKey,
  identityOf,
  parseIngestRequest,
} from './request.ts';
import { acceptKeyed, type Decision, lookUpKeys } from './store.ts';

export const MAX_BATCH_EVENTS = 100;
/** The bounds of the whole body. The nesting of an item is counted from the item. */
export const BATCH_BOUNDS = { maxBytes: 1024 * 1024, maxDepth: MAX_BODY_DEPTH + 2 };

/** The result of one event of a batch. */
export type IngestResult = z.output<typeof ingestResult>;

/** The results in the order of the items, or every problem of the batch. */
type BatchOutcome =
  | { kind: 'done'; results: IngestResult[] }
  | { kind: 'invalid'; problems: [Problem, ...Problem[]] };

const batch = z.strictObject({ events: z.array(z.unknown()).min(1).max(MAX_BATCH_EVENTS) });
const keyedItem = z.looseObject({ idempotency_key: idempotencyKey });

/** An item whose key can be read. */
type Item = { key: string; body: JsonObject; identity: Identity; parsed: Parsed<IngestRequest> };

/**
 * Stores the events of a batch, or finds the events that their keys have stored: in one round trip, and in one more
 * before it when an item does not fit its schema. Stores nothing when such an item has a free key, or when the batch
 * has another problem. `header` is the `Idempotency-Key` of the request, which only a single event may have.
 */
export async function ingestBatch(
  body: JsonObject,
  header: string | undefined,
  context: IngestContext,
): Promise<BatchOutcome> {
  const problems = header === undefined ? [] : [HEADER_PROBLEM];
  const frame = parseWith(batch, body);
  if (!frame.ok) problems.unshift(...frame.problems);
  const { events } = body;
  const isReadable = Array.isArray(events) && events.length <= MAX_BATCH_EVENTS;
  const read = isReadable ? await Promise.all(events.map(readItem)) : [];

  const items = read.flatMap((each) => each.item ?? []);
  const fitting = items.flatMap(({ identity, parsed }) =>
    parsed.ok ? [{ ...identity, ...parsed.value }] : [],
  );
  const others = items.flatMap(({ identity, parsed }) => (parsed.ok ? [] : [identity]));
  const request = receivingIn(context);
  const { database } = context;
  const lookedUp = others.length === 0 ? [] : await lookUpKeys(database, others, request);
  const free = new Set(others.filter((_, index) => lookedUp[index]?.kind === 'free'));

  const keys = read.map(({ item }) => item?.key);
  problems.push(
    ...read.flatMap(({ item, problems }, index) => {
      const own = item?.parsed.ok === false && free.has(item.identity) ? item.parsed.problems : [];
      const all = [...problems, ...repeatedKey(keys, index), ...own];
      return all.map((problem) => within(`events.${index}`, problem));
    }),
  );
  if (isNonEmpty(problems)) return { kind: 'invalid', problems };

  const accepted = fitting.length === 0 ? [] : await acceptKeyed(database, fitting, request);
  const results = items.map((item) => {
    const decision = (item.parsed.ok ? accepted : lookedUp).shift();
    if (decision === undefined) throw new Error('D1 decides for each item');
    return resultOf(item, decision);
  });
  return { kind: 'done', results };
}

const HEADER_PROBLEM: Problem = {
  path: IDEMPOTENCY_KEY_HEADER,
  field: IDEMPOTENCY_KEY_HEADER,
  message: 'belongs to a single event: each event of a batch has its own idempotency_key',
};

/**
 * Reads an item. The paths of problems begin at the item. Problems of a body that its key may hold are in
 * `item.parsed`.
 */
async function readItem(value: JsonValue): Promise<{ item?: Item; problems: Problem[] }> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problems: [{ path: '', message: 'must be of type object' }] };
  }
  const { idempotency_key: _, ...body } = value;
  const parsed = parseIngestRequest(body);
  const keyed = parseWith(keyedItem, value);
  if (!keyed.ok) return { problems: [...keyed.problems, ...(parsed.ok ? [] : parsed.problems)] };
  const key = keyed.value.idempotency_key;
  const identity = await identityOf(key, body);
  if (identity.bytes > MAX_BODY_BYTES) {
    return { problems: [{ path: '', message: `must have at most ${MAX_BODY_BYTES} bytes` }] };
  }
  return { item: { key, body, identity, parsed }, problems: [] };
}

/** Returns the problem of a key that an earlier item has too. */
function repeatedKey(keys: readonly (string | undefined)[], index: number): Problem[] {
  const first = keys.indexOf(keys[index]);
  if (keys[index] === undefined || first === index) return [];
  const field = 'idempotency_key';
  return [{ path: field, field, message: `is the key of events.${first} too` }];
}

function within(place: string, { path, message, field }: Problem): Problem {
  return {
    path: pathOf(path === '' ? [place] : [place, path]),
    message,
    field: field === undefined ? 'events' : `events.${field}`,
  };
}

function resultOf({ key, body, parsed }: Item, decision: Decision): IngestResult {
  const outcome = outcomeOf(decision, body, parsed);
  const head = { object: 'ingest_result', idempotency_key: key } as const;
  switch (outcome.kind) {
    case 'accepted':
      return { ...head, outcome: 'accepted', event: outcome.event, error: null };
    case 'replay':
      return { ...head, outcome: 'replayed', event: outcome.event, error: null };
    case 'conflict': {
      const { message, details } = keyInUse(outcome.details);
      const code = 'idempotency_key_in_use' as const;
      const error = { code, message, ...(details && { details: [...details] }) };
      return { ...head, outcome: 'conflict', event: null, error };
    }
    case 'invalid':
      throw new Error('An invalid item is a problem of its batch.');
  }
}
