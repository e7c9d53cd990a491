/** The routes of events. */

import { type Context, Hono } from 'hono';
import * as z from 'zod';
import type { AppEnv } from '../app-env.ts';
import { FULL_ACCESS_CALLER } from '../auth/named-keys.ts';
import { requireScope } from '../auth/require.ts';
import { readConfig } from '../config.ts';
import { validationError } from '../http/errors.ts';
import { jsonObject } from '../http/json-body.ts';
import { setLogFields } from '../http/log.ts';
import { pollWhileEmpty } from '../http/long-poll.ts';
import { writePage } from '../http/paging.ts';
import { validQuery } from '../http/query.ts';
import { isUuid } from '../schema/uuid.ts';
import { BATCH_BODY, ingestBatch, KEY_HEADER_OF_BATCH } from './batch.ts';
import {
  type IngestContext,
  type IngestOutcome,
  ingestWithKey,
  ingestWithoutKey,
} from './ingest.ts';
import { keyInUse } from './key-in-use.ts';
import {
  decodeEventPosition,
  type EventPage,
  eventNotFound,
  findEvent,
  readEvents,
} from './list.ts';
import { listParameters } from './parameters.ts';
import {
  canonicalBody,
  IDEMPOTENCY_KEY_HEADER,
  identify,
  parseHead,
  parseIngestRequest,
} from './request.ts';

/** The name `payload` may be logged, but no name inside the payload, because callers choose those names. */
const EVENT_BODY = { loggedFields: ['payload'] };

const NO_STORE = { 'Cache-Control': 'no-store' };

/** Makes the routes under /api/public/events, to which the rate limit applies the policy `ingest`. */
export function ingestRoutes() {
  return new Hono<AppEnv>()
    .post('/ingest', requireScope('events:write'), jsonObject(EVENT_BODY), async (c) => {
      const body = c.req.valid('json');
      const canonical = canonicalBody(body);
      if (!canonical.ok) throw validationError(canonical.problems);
      const head = parseHead(c.req.raw.headers, Object.keys(c.req.query()));
      if (!head.ok) {
        const parsedBody = parseIngestRequest(body);
        throw validationError([...head.problems, ...(parsedBody.ok ? [] : parsedBody.problems)]);
      }
      const key = head.value;
      const context = makeContext(c);
      const work =
        key === undefined
          ? ingestWithoutKey(body, context)
          : ingestWithKey(body, identify(key, canonical.value), context);
      // Otherwise the work would end when the client disconnects.
      c.executionCtx.waitUntil(work.catch(() => undefined));
      return makeResponse(await work, c);
    })
    .post('/ingest/batch', requireScope('events:write'), jsonObject(BATCH_BODY), async (c) => {
      const headProblems = c.req.raw.headers.has(IDEMPOTENCY_KEY_HEADER)
        ? [KEY_HEADER_OF_BATCH]
        : [];
      const work = ingestBatch(c.req.valid('json'), headProblems, makeContext(c));
      c.executionCtx.waitUntil(work.catch(() => undefined));
      const outcome = await work;
      if (outcome.kind === 'invalid') throw validationError(outcome.problems);
      const results = outcome.results.map((result) => JSON.stringify(result));
      return json(writePage(results, null));
    });
}

/** Makes the routes under /api/v1/events. */
export function eventRoutes() {
  return new Hono<AppEnv>()
    .get('/', requireScope('events:read'), validQuery(listParameters), async (c) => {
      const { limit, cursor, wait, ...query } = c.req.valid('query');
      const start = decodeEventPosition(cursor, query);
      const readNext = (last?: EventPage) =>
        readEvents(c.env.DB, query, limit, last === undefined ? start : last.position);
      const page = await pollWhileEmpty(c, readNext, ({ isEnd }) => isEnd, wait);
      return json(page.json);
    })
    .get('/:id', requireScope('events:read'), validQuery(z.object({})), async (c) => {
      const id = c.req.param('id');
      const document = isUuid(id) ? await findEvent(c.env.DB, id.toLowerCase()) : undefined;
      if (document === undefined) throw eventNotFound();
      return json(document);
    });
}

function makeContext(c: Context<AppEnv>): IngestContext {
  const [caller, key] = [c.get('caller'), c.get('key')];
  const now = Date.now();
  return {
    database: c.env.DB,
    cache: c.env.IDEMPOTENCY,
    background: c.executionCtx,
    requestToken: crypto.randomUUID(),
    receivedFrom: caller === undefined || caller === FULL_ACCESS_CALLER ? null : caller,
    mayReadEvents: key?.outcome === 'valid' && key.scopes.includes('events:read'),
    now,
    keysValidSince: now - readConfig(c.env).idempotencyRetentionSeconds * 1_000,
  };
}

/** Makes the response to a single event. */
function makeResponse(outcome: IngestOutcome, c: Context<AppEnv>): Response {
  if (outcome.kind === 'invalid') throw validationError(outcome.problems);
  setLogFields({ outcome: outcome.kind });
  switch (outcome.kind) {
    case 'accepted':
      return c.json(outcome.event, 202, NO_STORE);
    case 'replayed':
      return c.json(outcome.event, 200, { ...NO_STORE, 'Idempotent-Replayed': 'true' });
    case 'conflict':
      throw keyInUse(c.req.header(IDEMPOTENCY_KEY_HEADER), outcome.details);
  }
}

function json(text: string): Response {
  return new Response(text, { headers: { 'Content-Type': 'application/json', ...NO_STORE } });
}
