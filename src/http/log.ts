/**
 * The service's log: one JSON object per line, without any credential, key, query or payload. All
 * code may log a fault under the id of its request, or add a field to the request's line:
 * AsyncLocalStorage carries the request into `waitUntil` too.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { AppEnv } from '../app-env.ts';
import { deploymentId } from '../release.ts';
import type { ErrorCode } from './errors.ts';
import { resolveRequestId } from './request-id.ts';

type Notes = {
  error_code?: ErrorCode;
  error_param?: string;
  /** Why a bearer token was rejected: jose's code and the bad claim, or the lacking permission. */
  token_fault?: string;
  key_fault?: string;
  client_fault?: 'no address' | 'malformed address';
  cache?: 'memory' | 'edge' | 'database' | 'stale';
  outcome?: 'accepted' | 'replayed' | 'conflict';
  counter_ms?: number;
  /** Of all calls of D1 together, parallel ones too. */
  database_ms?: number;
  database_attempts?: number;
};

type Sum = 'counter_ms' | 'database_ms' | 'database_attempts';

const requests = new AsyncLocalStorage<{ id: string; notes: Notes }>();

/** Logs each request, and sets `Server-Timing` (W3C). `npm run dev` shows the path with its query. */
export function accessLog({ showsPaths = false } = {}) {
  let origin: ReturnType<typeof readOrigin> | undefined;
  return createMiddleware<AppEnv>(async function accessLog(c, next) {
    const startedAt = Date.now();
    const id = resolveRequestId(c);
    const notes: Notes = {};
    await requests.run({ id, notes }, next);
    const duration = Date.now() - startedAt;
    const { headers } = c.res;
    // Only /api has this header.
    if (headers.has('X-RateLimit-Limit')) {
      const { counter_ms, database_ms } = notes;
      const timings = [
        counter_ms !== undefined && `counter;dur=${counter_ms}`,
        database_ms !== undefined && `database;dur=${database_ms}`,
        `total;dur=${duration}`,
      ];
      headers.set('Server-Timing', timings.filter(Boolean).join(', '));
    }
    // Once per isolate: an isolate stays in its data centre, and reading `cf` is slow.
    origin ??= readOrigin(c);
    const line = {
      level: 'info',
      message: 'request',
      request_id: id,
      method: c.req.method,
      route: routePath(c, -1),
      ...(showsPaths && { path: c.req.url.replace(/^https?:\/\/[^/]*/, '') }),
      status: c.res.status,
      duration_ms: duration,
      caller: c.get('caller'),
      rejected_origin: c.get('rejectedOrigin'),
      ...notes,
      ...origin,
    };
    console.log(JSON.stringify(line).replace(CONTROLS, escapeControl));
  });
}

/** Adds fields to the current request's line. */
export function setLogFields(notes: Notes): void {
  const request = requests.getStore();
  if (request !== undefined) Object.assign(request.notes, notes);
}

/** Adds `more` to a sum in the current request's line. Worker clocks advance on I/O only. */
export function addToLogField(sum: Sum, more: number): void {
  const request = requests.getStore();
  if (request !== undefined) request.notes[sum] = (request.notes[sum] ?? 0) + more;
}

/** Under the id of the current request. */
export function logError(message: string, cause: unknown): void {
  const request_id = requests.getStore()?.id;
  const line = { level: 'error', message, request_id, cause: formatStack(cause) };
  console.error(JSON.stringify(line).replace(CONTROLS, escapeControl));
}

/** What JSON leaves as it is, and a terminal obeys: a request id may have it. */
const CONTROLS = /[\x7f-\x9f\u2028\u2029]/g;

function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function formatStack(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const own = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? own : `${own}\ncaused by ${formatStack(error.cause)}`;
}

/** `colo` is the data centre. */
function readOrigin({ req, env }: Context<AppEnv>) {
  return { colo: req.raw.cf?.colo, version: deploymentId(env) };
}
