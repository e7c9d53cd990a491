/**
 * Writes the service's log: one JSON object per line, without credentials, keys, queries or payloads.
 * Any code can log an error with the id of its request, or add a field to the request's line, because
 * AsyncLocalStorage tracks the current request, even in `waitUntil`.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { AppEnv } from '../app-env.ts';
import { getDeploymentId } from '../release.ts';
import type { ErrorCode } from './errors.ts';
import { resolveRequestId } from './request-id.ts';

type LogFields = {
  error_code?: ErrorCode;
  error_param?: string;
  /** Reason why a token was rejected: jose's code and the claim, or the missing permission. */
  token_fault?: string;
  key_fault?: string;
  client_fault?: 'no address' | 'malformed address';
  cache?: 'memory' | 'edge' | 'database' | 'stale';
  outcome?: 'accepted' | 'replayed' | 'conflict';
  /** Milliseconds for which the request waited for its rate counter. */
  counter_ms?: number;
  /** Total milliseconds of all calls to D1, including parallel calls. */
  database_ms?: number;
  database_attempts?: number;
};

/** Fields to which `addToLogField` can add. */
type SumField = 'counter_ms' | 'database_ms' | 'database_attempts';

const requests = new AsyncLocalStorage<{ id: string; fields: LogFields }>();

/**
 * Logs each request, and sets `Server-Timing` (W3C). With `showsPaths`, the line contains the path and
 * the query.
 */
export function accessLog({ showsPaths = false } = {}) {
  let isolate: ReturnType<typeof describeIsolate> | undefined;
  return createMiddleware<AppEnv>(async function accessLog(c, next) {
    const startedAt = Date.now();
    const id = resolveRequestId(c);
    const fields: LogFields = {};
    await requests.run({ id, fields }, next);
    const duration = Date.now() - startedAt;
    const { headers } = c.res;
    // Only responses of /api have this header.
    if (headers.has('X-RateLimit-Limit')) {
      const { counter_ms, database_ms } = fields;
      const timings = [
        counter_ms !== undefined && `counter;dur=${counter_ms}`,
        database_ms !== undefined && `database;dur=${database_ms}`,
        `total;dur=${duration}`,
      ];
      headers.set('Server-Timing', timings.filter(Boolean).join(', '));
    }
    // Read once, because an isolate stays in its data centre, and reading `cf` is slow.
    isolate ??= describeIsolate(c);
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
      ...fields,
      ...isolate,
    };
    console.log(JSON.stringify(line).replace(CONTROLS, escapeControl));
  });
}

/** Adds fields to the current request's line. */
export function setLogFields(fields: LogFields): void {
  const request = requests.getStore();
  if (request !== undefined) Object.assign(request.fields, fields);
}

/** Adds an amount to a field in the current request's line. */
export function addToLogField(field: SumField, amount: number): void {
  const request = requests.getStore();
  if (request !== undefined) request.fields[field] = (request.fields[field] ?? 0) + amount;
}

/** Logs an error with the id of the current request. */
export function logError(message: string, cause: unknown): void {
  const request_id = requests.getStore()?.id;
  const line = { level: 'error', message, request_id, cause: formatStack(cause) };
  console.error(JSON.stringify(line).replace(CONTROLS, escapeControl));
}

/**
 * Matches control characters that JSON leaves unescaped but a terminal interprets. A request id may
 * contain them.
 */
const CONTROLS = /[\x7f-\x9f\u2028\u2029]/g;

function escapeControl(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function formatStack(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const stack = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? stack : `${stack}\ncaused by ${formatStack(error.cause)}`;
}

/** Returns the data centre (`colo`) and the version of the isolate. */
function describeIsolate({ req, env }: Context<AppEnv>) {
  return { colo: req.raw.cf?.colo, version: getDeploymentId(env) };
}
