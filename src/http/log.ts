/**
 * The service's log: one JSON object per line, as Workers Logs indexes it, and one line per request.
 *
 * The log holds a request's id, its method and the pattern of its route, and no credential, key, query or payload.
 * AsyncLocalStorage carries the request across every await and into `waitUntil`: a store logs a fault under the id of
 * its request, and any code may add a field to the request's line.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { AppEnv } from '../config.ts';
import { VERSION } from '../version.ts';
import type { ErrorCode } from './errors.ts';
import { requestIdOf } from './response-headers.ts';

/** The fields of a request's line that `note` and `noteMore` add. */
type Notes = {
  error_code?: ErrorCode;
  /** The first field at fault, by its name in a schema. */
  error_param?: string;
  /** Why a bearer token was refused: jose's code, and the claim at fault. */
  token_fault?: string;
  /** Why an API key was refused. */
  key_fault?: string;
  /** The caller: the key's name, `api-key` for a key that opens everything, `bearer`. */
  caller?: string;
  /** The source of an answer of the feed. */
  cache?: 'memory' | 'edge' | 'database' | 'stale';
  /** The outcome of posting an event. */
  outcome?: 'accepted' | 'replayed' | 'conflict';
  /** Milliseconds that the request waited for the rate counter. */
  counter_ms?: number;
  /** Sum of the milliseconds of all calls of D1. Parallel calls may add up to more than the request took. */
  database_ms?: number;
  /** Attempts at calls of D1. A call that is repeated after a passing fault counts again. */
  database_attempts?: number;
};

const requests = new AsyncLocalStorage<{ id: string; notes: Notes }>();

/**
 * Logs each request once it is answered; `duration_ms` is the time until then. Sets `Server-Timing` on each response of
 * a counted request.
 */
export function accessLog() {
  let origin: Origin | undefined;
  return createMiddleware<AppEnv>(async function accessLog(c, next) {
    const startedAt = Date.now();
    const id = requestIdOf(c);
    const notes: Notes = {};
    await requests.run({ id, notes }, next);
    const duration = Date.now() - startedAt;
    const { headers } = c.res;
    if (headers.has('X-RateLimit-Limit') || notes.counter_ms !== undefined) {
      headers.set('Server-Timing', serverTiming(notes, duration));
    }
    // Read once per isolate, which stays in its data centre: reading `cf` costs more than the rest of the line.
    origin ??= originOf(c);
    logInfo('request', {
      request_id: id,
      method: c.req.method,
      route: routePath(c, -1),
      status: c.res.status,
      duration_ms: duration,
      ...notes,
      ...origin,
    });
  });
}

/** Adds fields to the current request's line. A later value of a field replaces an earlier one. */
export function note(notes: Notes): void {
  const request = requests.getStore();
  if (request !== undefined) Object.assign(request.notes, notes);
}

/** Adds `more` to a sum in the current request's line. */
export function noteMore(
  sum: 'counter_ms' | 'database_ms' | 'database_attempts',
  more: number,
): void {
  const request = requests.getStore();
  if (request !== undefined) request.notes[sum] = (request.notes[sum] ?? 0) + more;
}

/** Does the work, and adds its milliseconds to a sum. Worker clocks advance on I/O only. */
export async function timed<T>(
  sum: 'counter_ms' | 'database_ms',
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = Date.now();
  try {
    return await work();
  } finally {
    noteMore(sum, Date.now() - startedAt);
  }
}

/** Logs a line that reports no fault. A field without a value is left out. */
function logInfo(
  message: string,
  fields: Readonly<Record<string, string | number | boolean | undefined>>,
): void {
  console.log(JSON.stringify({ level: 'info', message, ...fields }));
}

/** Logs a fault for an operator to look at, under the id of the request that met it. */
export function logFault(message: string, cause: unknown): void {
  const request_id = requests.getStore()?.id;
  console.error(JSON.stringify({ level: 'error', message, request_id, cause: stackOf(cause) }));
}

/** Returns the stacks of an error and of its causes. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const own = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? own : `${own}\ncaused by ${stackOf(error.cause)}`;
}

/** Writes the times as W3C Server Timing does, in milliseconds. A call that was not made has no entry. */
function serverTiming({ counter_ms, database_ms }: Notes, total: number): string {
  const counter = counter_ms === undefined ? '' : `counter;dur=${counter_ms}, `;
  const database = database_ms === undefined ? '' : `database;dur=${database_ms}, `;
  return `${counter}${database}total;dur=${total}`;
}

/** The data centre that serves a request, undefined outside of production, and the version that answers. */
type Origin = { colo: string | undefined; version: string };

/** Names the version by the id of its deployment, or else by the version of the service. */
function originOf({ req, env }: Context<AppEnv>): Origin {
  const colo = req.raw.cf?.colo;
  const metadata: Partial<Env>['CF_VERSION_METADATA'] = env.CF_VERSION_METADATA;
  return {
    colo: typeof colo === 'string' ? colo : undefined,
    version: metadata?.id || VERSION,
  };
}
