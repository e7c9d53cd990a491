/**
 * Ingests a batch of events with keys, in one transaction. Each event follows the rules of a single
 * event, so a batch can always be sent again. KV is neither read nor written.
 */

import * as z from 'zod';
import { formatPath, type Problem } from '../http/errors.ts';
import { addHint } from '../http/hints.ts';
import type { JsonObject } from '../http/json-body.ts';
import { type Parsed, parseWith } from '../http/validation-problems.ts';
import { type IngestContext, type IngestOutcome, resolveOutcome } from './ingest.ts';
import { DISTINCT_KEYS, findKeyHint, keyInUse } from './key-in-use.ts';
import type { IngestResult } from './openapi/event.ts';
import {
  canonicalBody,
  explainUnknownField,
  IDEMPOTENCY_KEY_HEADER,
  type Identity,
  type IngestRequest,
  idempotencyKey,
  identify,
  parseIngestRequest,
} from './request.ts';
import { type Decision, findStoredBodies, lookUpKeys, storeWithKeys } from './store.ts';

export const MAX_BATCH_EVENTS = 100;
/** Limits of a batch's body. `extraDepth` counts the list of events and the object around it. */
export const BATCH_BODY = {
  maxBytes: 1024 * 1024,
  extraDepth: 2,
  loggedFields: ['events.payload', 'events'],
};

type BatchOutcome =
  | { kind: 'done'; results: IngestResult[] }
  | { kind: 'invalid'; problems: Problem[] };

const batch = z.strictObject({ events: z.array(z.unknown()).min(1).max(MAX_BATCH_EVENTS) });
const keyedItem = z.looseObject({ idempotency_key: idempotencyKey });

/** An event of the batch with a valid key. The rest of its body may be invalid. */
type BatchItem = {
  index: number;
  key: string;
  body: JsonObject;
  /** Size of the body's canonical JSON in UTF-8. */
  bytes: number;
  identity: Identity;
  parsedBody: Parsed<IngestRequest>;
  decision?: Decision | undefined;
};

/** Ingests all events, or none if there is a problem. `headProblems` contains the problems of the headers. */
export async function ingestBatch(
  body: JsonObject,
  headProblems: readonly Problem[],
  context: IngestContext,
): Promise<BatchOutcome> {
  const parsedBatch = parseWith(batch, body, explainUnknownField);
  const { events } = body;
  const isReadable = Array.isArray(events) && events.length <= MAX_BATCH_EVENTS;
  const results = isReadable ? events.map(readItem) : [];
  const items = results.flatMap((result) => (result.ok ? [result.value] : []));

  // An invalid body is a problem only if its key is unused. Otherwise it is a replay or a conflict.
  const invalidItems = items.filter(({ parsedBody }) => !parsedBody.ok);
  await addDecisions(invalidItems, (identities) =>
    lookUpKeys(context.database, identities, context),
  );
  const problems = [
    ...(parsedBatch.ok ? [] : parsedBatch.problems),
    ...headProblems,
    ...findSizeProblems(items),
    ...results.flatMap((result) =>
      result.ok ? findItemProblems(result.value, items) : result.problems,
    ),
  ];
  if (problems.length > 0) return { kind: 'invalid', problems };

  const requests = items.flatMap(({ identity, parsedBody }) =>
    parsedBody.ok ? [{ ...identity, ...parsedBody.value }] : [],
  );
  const validItems = items.filter(({ parsedBody }) => parsedBody.ok);
  await addDecisions(validItems, () => storeWithKeys(context.database, requests, context));
  const decidedItems = items.flatMap(({ decision, ...item }) =>
    decision ? [{ ...item, decision }] : [],
  );
  const decisions = decidedItems.map(({ decision }) => decision);
  const stored = await findStoredBodies(context.database, decisions, context);
  const outcomes = decidedItems.map(({ key, body, parsedBody, decision }) =>
    makeResult(key, resolveOutcome(decision, body, parsedBody, stored)),
  );
  return { kind: 'done', results: outcomes };
}

/** Adds D1's decision to each item. */
async function addDecisions(
  items: readonly BatchItem[],
  callD1: (identities: Identity[]) => Promise<Decision[]>,
): Promise<void> {
  if (items.length === 0) return;
  const decisions = await callD1(items.map(({ identity }) => identity));
  for (const [index, item] of items.entries()) item.decision = decisions[index];
}

function readItem(value: JsonObject[string], index: number): Parsed<BatchItem> {
  const reject = (...problems: Problem[]) => ({
    ok: false as const,
    problems: problems.map((problem) => prefixPath(index, problem)),
  });
  const object = parseWith(z.looseObject({}), value);
  if (!object.ok) return reject(...object.problems);
  const { idempotency_key: _, ...body } = object.value as JsonObject;
  const canonical = canonicalBody(body);
  if (!canonical.ok) return reject(...canonical.problems);
  const parsedBody = parseIngestRequest(body);
  const keyed = parseWith(keyedItem, value);
  if (!keyed.ok) return reject(...keyed.problems, ...(parsedBody.ok ? [] : parsedBody.problems));
  const key = keyed.value.idempotency_key;
  const identity = identify(key, canonical.value);
  const bytes = canonical.value.length;
  return { ok: true, value: { index, key, body, bytes, identity, parsedBody } };
}

/** Returns a problem if the events, as canonical JSON, exceed the body's size limit in total. */
function findSizeProblems(items: readonly BatchItem[]): Problem[] {
  if (items.reduce((sum, { bytes }) => sum + bytes, 0) <= BATCH_BODY.maxBytes) return [];
  const message = `must have at most ${BATCH_BODY.maxBytes} bytes as canonical JSON`;
  return [{ path: 'events', field: 'events', message }];
}

/** The problem of a batch with an `Idempotency-Key` header. */
export const KEY_HEADER_OF_BATCH: Problem = {
  path: IDEMPOTENCY_KEY_HEADER,
  field: IDEMPOTENCY_KEY_HEADER,
  message: 'belongs to a single event. In a batch, send the idempotency_key of each event.',
};

function findItemProblems(item: BatchItem, items: readonly BatchItem[]): Problem[] {
  const { index, key, parsedBody, decision } = item;
  const first = items.find((other) => other.key === key);
  const field = 'idempotency_key';
  const message = addHint(
    `is also the key of events.${first?.index}`,
    findKeyHint(key) ?? DISTINCT_KEYS,
  );
  const repeated = first === item ? [] : [{ path: field, field, message }];
  const isInvalid = !parsedBody.ok && decision?.kind === 'unused';
  const problems = [...repeated, ...(isInvalid ? parsedBody.problems : [])];
  return problems.map((problem) => prefixPath(index, problem));
}

function prefixPath(index: number, { path, field, ...problem }: Problem): Problem {
  const prefix = `events.${index}`;
  return {
    ...problem,
    path: formatPath(path === '' ? [prefix] : [prefix, path]),
    field: field === undefined ? 'events' : `events.${field}`,
  };
}

function makeResult(key: string, outcome: IngestOutcome): IngestResult {
  const head = { object: 'ingest_result', idempotency_key: key } as const;
  switch (outcome.kind) {
    case 'accepted':
    case 'replayed':
      return { ...head, outcome: outcome.kind, event: outcome.event, error: null };
    case 'conflict': {
      const { message, details } = keyInUse(key, outcome.details);
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
