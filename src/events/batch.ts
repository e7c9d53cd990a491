/**
 * Ingests a batch: many events with keys, in one transaction. The rules of a single event apply to
 * each of them, so the same batch may always be sent again. KV is neither read nor written.
 */

import * as z from 'zod';
import { formatPath, type Problem } from '../http/errors.ts';
import type { JsonObject } from '../http/json-body.ts';
import { isNonEmpty, type Parsed, parseWith } from '../http/validate.ts';
import { keyInUse } from './conflict.ts';
import { type IngestContext, resolveOutcome } from './ingest.ts';
import type { IngestResult } from './openapi/resource.ts';
import {
  canonicalBody,
  IDEMPOTENCY_KEY_HEADER,
  type Identity,
  type IngestRequest,
  idempotencyKey,
  identify,
  parseIngestRequest,
} from './request.ts';
import { acceptKeyed, type Decision, lookUpKeys } from './store.ts';

export const MAX_BATCH_EVENTS = 100;
/** The whole body: an item is two levels down. */
export const BATCH_BODY = {
  maxBytes: 1024 * 1024,
  extraDepth: 2,
  fields: ['events.payload', 'events'],
};

/** Results are in the order of the items. */
type BatchOutcome =
  | { kind: 'done'; results: IngestResult[] }
  | { kind: 'invalid'; problems: [Problem, ...Problem[]] };

const batch = z.strictObject({ events: z.array(z.unknown()).min(1).max(MAX_BATCH_EVENTS) });
const keyedItem = z.looseObject({ idempotency_key: idempotencyKey });

/** An item whose key is valid. The rest of its body may be invalid. */
type Item = {
  key: string;
  body: JsonObject;
  /** Size of the body's canonical JSON in UTF-8. */
  bytes: number;
  identity: Identity;
  parsed: Parsed<IngestRequest>;
};

/**
 * Stores the events, or finds the events that their keys have stored. Any problem rejects the whole
 * batch. An invalid item is a problem only if its key is free, so its key is looked up first.
 * `header` is an `Idempotency-Key`, which a batch must not have.
 */
export async function ingestBatch(
  body: JsonObject,
  header: string | undefined,
  context: IngestContext,
): Promise<BatchOutcome> {
  const { database } = context;
  const frame = parseWith(batch, body);
  const problems: Problem[] = frame.ok ? [] : frame.problems;
  if (header !== undefined) problems.push(HEADER_PROBLEM);
  const { events } = body;
  const isReadable = Array.isArray(events) && events.length <= MAX_BATCH_EVENTS;
  const read = isReadable ? await Promise.all(events.map(readItem)) : [];

  const items = read.flatMap(({ item }) => item ?? []);
  problems.push(...sizeProblems(items));
  const valid = items.filter(({ parsed }) => parsed.ok);
  const requests = valid.flatMap(({ identity, parsed }) =>
    parsed.ok ? [{ ...identity, ...parsed.value }] : [],
  );
  const invalid = items.filter(({ parsed }) => !parsed.ok);
  const identities = invalid.map(({ identity }) => identity);
  const decisionsOnInvalid =
    invalid.length === 0 ? [] : await lookUpKeys(database, identities, context);

  const keys = read.map(({ item }) => item?.key);
  for (const [index, { item, problems: ofItem }] of read.entries()) {
    const isFree = item !== undefined && decisionsOnInvalid[invalid.indexOf(item)]?.kind === 'free';
    const ofBody = isFree && !item.parsed.ok ? item.parsed.problems : [];
    const all = [...ofItem, ...repeatedKey(keys, index), ...ofBody];
    problems.push(...all.map((problem) => within(`events.${index}`, problem)));
  }
  if (isNonEmpty(problems)) return { kind: 'invalid', problems };

  const decisionsOnValid =
    requests.length === 0
      ? []
      : await acceptKeyed(database, requests, context, sumComparedBytes(decisionsOnInvalid));
  const results = items.map((item) => {
    const decision =
      decisionsOnValid[valid.indexOf(item)] ?? decisionsOnInvalid[invalid.indexOf(item)];
    if (decision === undefined) throw new Error('D1 decides for each item');
    return makeResult(item, decision);
  });
  return { kind: 'done', results };
}

/** A batch has the bound of its body in canonical form too. */
function sizeProblems(items: readonly Item[]): Problem[] {
  if (items.reduce((sum, { bytes }) => sum + bytes, 0) <= BATCH_BODY.maxBytes) return [];
  const message = `must have at most ${BATCH_BODY.maxBytes} bytes as canonical JSON`;
  return [{ path: 'events', field: 'events', message }];
}

const HEADER_PROBLEM: Problem = {
  path: IDEMPOTENCY_KEY_HEADER,
  field: IDEMPOTENCY_KEY_HEADER,
  message: 'belongs to a single event: each event of a batch has its own idempotency_key',
};

/** The paths of the problems begin at the item. */
async function readItem(value: JsonObject[string]): Promise<{ item?: Item; problems: Problem[] }> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { problems: [{ path: '', message: 'must be of type object' }] };
  }
  const { idempotency_key: _, ...body } = value;
  const canonical = canonicalBody(body);
  if (!canonical.ok) return { problems: canonical.problems };
  const parsed = parseIngestRequest(body);
  const keyed = parseWith(keyedItem, value);
  if (!keyed.ok) return { problems: [...keyed.problems, ...(parsed.ok ? [] : parsed.problems)] };
  const key = keyed.value.idempotency_key;
  const identity = await identify(key, canonical.value);
  return { item: { key, body, bytes: canonical.value.length, identity, parsed }, problems: [] };
}

function repeatedKey(keys: readonly (string | undefined)[], index: number): Problem[] {
  const first = keys.indexOf(keys[index]);
  if (keys[index] === undefined || first === index) return [];
  const field = 'idempotency_key';
  return [{ path: field, field, message: `is the key of events.${first} too` }];
}

function within(place: string, { path, message, field }: Problem): Problem {
  return {
    path: formatPath(path === '' ? [place] : [place, path]),
    message,
    field: field === undefined ? 'events' : `events.${field}`,
  };
}

function sumComparedBytes(decisions: readonly Decision[]): number {
  const holders = decisions.flatMap((each) => (each.kind === 'conflict' ? each.holder : []));
  const read = holders.filter(({ payload }) => payload !== null);
  return read.reduce((sum, { compared }) => sum + (compared ?? 0), 0);
}

function makeResult({ key, body, parsed }: Item, decision: Decision): IngestResult {
  const outcome = resolveOutcome(decision, body, parsed);
  const head = { object: 'ingest_result', idempotency_key: key } as const;
  switch (outcome.kind) {
    case 'accepted':
    case 'replayed':
      return { ...head, outcome: outcome.kind, event: outcome.event, error: null };
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
