/** `POST /api/public/events/ingest`, `GET /api/v1/events` and `GET /api/v1/events/:id`. */

import { type Context, Hono } from 'hono';
import * as z from 'zod';
import { requireApiKey } from '../auth/require.ts';
import { configOf } from '../config.ts';
import type { AppEnv } from '../http/app-env.ts';
import { decodeCursor, encodeCursor } from '../http/cursor.ts';
import { validationError } from '../http/errors.ts';
import { readJsonObject } from '../http/json-body.ts';
import { listQuery } from '../http/list-query.ts';
import { listJson, pagingParameters } from '../http/paging.ts';
import { requestIdOf } from '../http/request-id.ts';
import { isUuid, uuid } from '../http/uuid.ts';
import { ingestWithKey, ingestWithoutKey, type Outcome, type Surroundings } from './ingest.ts';
import { keyInUse, noSuchEvent, unknownAfterId } from './refusals.ts';
import { IDEMPOTENCY_KEY_HEADER, keyProblemsOf, parseIngestRequest } from './request.ts';
import { type Filters, findEvent, findEvents } from './stream.ts';
import { name } from './text.ts';
import { millisecondFrom, timestamp } from './timestamp.ts';

/** Query parameters of the list. */
export const listParameters = z.object({
  order: z.enum(['asc', 'desc']).default('desc'),
  type: name.optional(),
  aggregate_type: name.optional(),
  aggregate_id: name.optional(),
  created_after: timestamp.optional(),
  created_before: timestamp.optional(),
  after_id: uuid.optional(),
  ...pagingParameters,
});

type ListParameters = z.infer<typeof listParameters>;

const position = z.int().min(1);

/** Mounted at /api/public/events. */
export function ingestRoutes() {
  return new Hono<AppEnv>().post('/ingest', requireApiKey(), async (c) => {
    const body = await readJsonObject(c.req.raw);
    const key = c.req.header(IDEMPOTENCY_KEY_HEADER);
    const [keyProblem, ...otherKeyProblems] = key === undefined ? [] : keyProblemsOf(key);
    if (keyProblem !== undefined) {
      const parsed = parseIngestRequest(body);
      const inBody = parsed.ok ? [] : parsed.problems;
      throw validationError([keyProblem, ...otherKeyProblems, ...inBody]);
    }
    const around = surroundingsOf(c);
    const work =
      key === undefined ? ingestWithoutKey(body, around) : ingestWithKey(body, key, around);
    // A client that hangs up must not cut the commit from what follows it.
    c.executionCtx.waitUntil(work.catch(() => undefined));
    return answerTo(await work);
  });
}

/** Mounted at /api/v1/events. */
export function eventRoutes() {
  return new Hono<AppEnv>()
    .get('/', requireApiKey(), listQuery(listParameters), async (c) => {
      const parameters = c.req.valid('query');
      const filters = filtersOf(parameters);
      const scope = { list: 'events', filters: JSON.stringify(filters) };
      const after =
        parameters.cursor === undefined
          ? {}
          : { afterSeq: await decodeCursor(parameters.cursor, scope, position) };
      const page = await findEvents(c.env.DB, { ...filters, ...after, limit: parameters.limit });
      if (page === undefined) {
        throw unknownAfterId();
      }
      const next = page.next === null ? null : await encodeCursor(scope, page.next);
      return json(listJson(page.documents, next));
    })
    .get('/:id', requireApiKey(), async (c) => {
      const id = c.req.param('id');
      const document = isUuid(id) ? await findEvent(c.env.DB, id.toLowerCase()) : undefined;
      if (document === undefined) throw noSuchEvent();
      return json(document);
    });
}

function surroundingsOf(c: Context<AppEnv>): Surroundings {
  return {
    database: c.env.DB,
    cache: c.env.IDEMPOTENCY,
    retentionSeconds: configOf(c.env).idempotencyRetentionSeconds,
    now: Date.now(),
    requestId: requestIdOf(c),
    inBackground: (work) => c.executionCtx.waitUntil(work),
  };
}

function answerTo(outcome: Outcome): Response {
  switch (outcome.kind) {
    case 'accepted':
      return json(JSON.stringify(outcome.event), { status: 202 });
    case 'replay':
      return json(JSON.stringify(outcome.event), { headers: { 'Idempotent-Replayed': 'true' } });
    case 'conflict':
      throw keyInUse(outcome.differences);
    case 'invalid':
      throw validationError(outcome.problems);
  }
}

/** The filters in canonical form: timestamps of one instant are one filter. */
function filtersOf(parameters: ListParameters): Filters {
  const { order, type, aggregate_type, aggregate_id, after_id } = parameters;
  const { created_after, created_before } = parameters;
  return {
    order,
    ...(type === undefined ? {} : { type }),
    ...(aggregate_type === undefined ? {} : { aggregateType: aggregate_type }),
    ...(aggregate_id === undefined ? {} : { aggregateId: aggregate_id }),
    ...(created_after === undefined ? {} : { createdAfter: Date.parse(created_after) }),
    ...(created_before === undefined ? {} : { createdBefore: millisecondFrom(created_before) }),
    ...(after_id === undefined ? {} : { afterId: after_id }),
  };
}

/** Events are nobody's to keep but the caller's. */
function json(text: string, init: { status?: number; headers?: Record<string, string> } = {}) {
  return new Response(text, {
    status: init.status ?? 200,
    headers: {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      ...init.headers,
    },
  });
}
