/**
 * Ingests a batch: many events with keys, in one transaction. The rules of a single event apply to
 * each of them, so the same batch may always be sent again. KV is neither read nor written.
 */

import * as z from 'zod';
import { withAdvice } from '../http/advice.ts';
import { formatPath, type Problem } from '../http/errors.ts';
import type { JsonObject } from '../http/json-body.ts';
import { type Parsed, parseWith } from '../schema.ts';
import { keyInUse } from './conflict.ts';
import type { IngestResult } from './event.ts';
import { type IngestContext, type IngestOutcome, resolveOutcome } from './ingest.ts';
import {
  canonicalBody,
  IDEMPOTENCY_KEY_HEADER,
  type Identity,
  type IngestRequest,
  idempotencyKey,
  identify,
  parseIngestRequest,
} from './request.ts';
import { acceptKeyed, type Decision, findHoldingBodies, lookUpKeys } from './store.ts';

export const MAX_BATCH_EVENTS = 100;
/** `maxBytes` is of the whole body. An item is two levels down. */
export const BATCH_BODY = {
  maxBytes: 1024 * 1024,
  extraDepth: 2,
  loggedFields: ['events.payload', 'events'],
};

type JsonValue = JsonObject[string];

type BatchOutcome =
  | { kind: 'done'; results: IngestResult[] }
  | { kind: 'invalid'; problems: Problem[] };

const batch = z.strictObject({ events: z.array(z.unknown()).min(1).max(MAX_BATCH_EVENTS) });
const keyedItem = z.looseObject({ idempotency_key: idempotencyKey });

/** An item with a valid key. The rest of its body may be invalid. */
type Item = {
  index: number;
  key: string;
  body: JsonObject;
  /** Size of the body's canonical JSON in UTF-8. */
  bytes: number;
  identity: Identity;
  parsedBody: Parsed<IngestRequest>;
};

type Decisions = ReadonlyMap<Item, Decision>;

/**
 * Any problem rejects the whole batch. An invalid item is a problem only if its key is free, so its
 * key is looked up first. `outside` are problems outside the body.
 */
export async function ingestBatch(
  body: JsonObject,
  outside: readonly Problem[],
  context: IngestContext,
): Promise<BatchOutcome> {
  const readResults = readItems(body.events);
  const items = readResults.filter((result) => result.ok).map(({ value }) => value);
  const decisionsOfInvalid = await lookUpKeysOfInvalid(items, context);
  const problems = findProblems(body, outside, readResults, items, decisionsOfInvalid);
  if (problems.length > 0) return { kind: 'invalid', problems };
  // Each invalid item here is a replay or a conflict: its key is held.
  const decisions = new Map([...decisionsOfInvalid, ...(await storeValid(items, context))]);
  return { kind: 'done', results: await makeResults(items, decisions, context) };
}

function readItems(events: JsonValue | undefined): Parsed<Item>[] {
  if (!Array.isArray(events) || events.length > MAX_BATCH_EVENTS) return [];
  return events.map(readItem);
}

/** Their paths begin at the item. */
function readItem(value: JsonValue, index: number): Parsed<Item> {
  const object = parseWith(z.looseObject({}), value);
  if (!object.ok) return object;
  const { idempotency_key: _, ...body } = object.value as JsonObject;
  const canonical = canonicalBody(body);
  if (!canonical.ok) return canonical;
  const parsedBody = parseIngestRequest(body);
  const keyed = parseWith(keyedItem, value);
  if (!keyed.ok) {
    return {
      ok: false,
      problems: [...keyed.problems, ...(parsedBody.ok ? [] : parsedBody.problems)],
    };
  }
  const key = keyed.value.idempotency_key;
  const identity = identify(key, canonical.value);
  const bytes = canonical.value.length;
  return { ok: true, value: { index, key, body, bytes, identity, parsedBody } };
}

async function lookUpKeysOfInvalid(
  items: readonly Item[],
  context: IngestContext,
): Promise<Decisions> {
  const invalid = items.filter(({ parsedBody }) => !parsedBody.ok);
  if (invalid.length === 0) return new Map();
  const identities = invalid.map(({ identity }) => identity);
  return pair(invalid, await lookUpKeys(context.database, identities, context));
}

async function storeValid(items: readonly Item[], context: IngestContext): Promise<Decisions> {
  const requests = new Map<Item, Identity & IngestRequest>();
  for (const item of items) {
    const { identity, parsedBody } = item;
    if (parsedBody.ok) requests.set(item, { ...identity, ...parsedBody.value });
  }
  if (requests.size === 0) return new Map();
  const decisions = await acceptKeyed(context.database, [...requests.values()], context);
  return pair([...requests.keys()], decisions);
}

function pair(items: readonly Item[], decisions: readonly Decision[]): Decisions {
  return new Map(items.map((item, index) => [item, decisionAt(decisions, index)]));
}

function decisionAt(decisions: readonly Decision[], index: number): Decision {
  const decision = decisions[index];
  if (decision === undefined) throw new Error('D1 decides for each item');
  return decision;
}

/** An invalid frame does not hide the problems of its items. */
function findProblems(
  body: JsonObject,
  outside: readonly Problem[],
  readResults: readonly Parsed<Item>[],
  items: readonly Item[],
  decisionsOfInvalid: Decisions,
): Problem[] {
  const frame = parseWith(batch, body);
  const ofItems = readResults.flatMap((result, index) => {
    const problems = result.ok
      ? [...repeatedKey(result.value, items), ...bodyProblems(result.value, decisionsOfInvalid)]
      : result.problems;
    return problems.map((problem) => prefixPath(`events.${index}`, problem));
  });
  return [...(frame.ok ? [] : frame.problems), ...outside, ...sizeProblems(items), ...ofItems];
}

/** The sum of the canonical sizes has the same bound as the body. */
function sizeProblems(items: readonly Item[]): Problem[] {
  if (items.reduce((sum, { bytes }) => sum + bytes, 0) <= BATCH_BODY.maxBytes) return [];
  const message = `must have at most ${BATCH_BODY.maxBytes} bytes as canonical JSON`;
  return [{ path: 'events', field: 'events', message }];
}

/** The problem of an `Idempotency-Key` header. */
export const KEY_OF_BATCH: Problem = {
  path: IDEMPOTENCY_KEY_HEADER,
  field: IDEMPOTENCY_KEY_HEADER,
  message: 'belongs to a single event: each event of a batch has its own idempotency_key',
};

function repeatedKey(item: Item, items: readonly Item[]): Problem[] {
  const first = items.find(({ key }) => key === item.key);
  if (first === undefined || first === item) return [];
  const field = 'idempotency_key';
  const message = `is the key of events.${first.index} too`;
  return [{ path: field, field, message, issue: { input: item.key } }];
}

function bodyProblems(item: Item, decisionsOfInvalid: Decisions): Problem[] {
  if (item.parsedBody.ok || decisionsOfInvalid.get(item)?.kind !== 'free') return [];
  return item.parsedBody.problems;
}

function prefixPath(prefix: string, { path, field, ...problem }: Problem): Problem {
  return {
    ...problem,
    path: formatPath(path === '' ? [prefix] : [prefix, path]),
    field: field === undefined ? 'events' : `events.${field}`,
  };
}

async function makeResults(
  items: readonly Item[],
  decisions: Decisions,
  context: IngestContext,
): Promise<IngestResult[]> {
  const inOrder = items.flatMap((item) => decisions.get(item) ?? []);
  const stored = await findHoldingBodies(context.database, inOrder, context);
  return items.map(({ key, body, parsedBody }, index) => {
    const outcome = resolveOutcome(decisionAt(inOrder, index), body, parsedBody, stored);
    return makeResult(key, outcome);
  });
}

function makeResult(key: string, outcome: IngestOutcome): IngestResult {
  const head = { object: 'ingest_result', idempotency_key: key } as const;
  switch (outcome.kind) {
    case 'accepted':
    case 'replayed':
      return { ...head, outcome: outcome.kind, event: outcome.event, error: null };
    case 'conflict': {
      const { message, details } = withAdvice(keyInUse(key, outcome.details));
      const error = {
        code: 'idempotency_key_in_use' as const,
        message,
        ...(details && { details: [...details] }),
      };
      return { ...head, outcome: 'conflict', event: null, error };
    }
    case 'invalid':
      throw new Error('An invalid item is a problem of its batch.');
  }
}
