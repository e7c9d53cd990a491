/**
 * The service's log: one JSON object per line, as Workers Logs indexes it, and one line per request.
 *
 * Of all that a caller sends, the log holds the request id, the method and the route's pattern, and
 * no credential, key, query or payload. The platform carries the request's context across every await
 * and into `waitUntil`, so that a fault deep in a store is logged under the id of its request, and each
 * floor adds notes to the request's one line.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { AppEnv } from '../config.ts';
import { VERSION } from '../version.ts';
import type { ErrorCode } from './errors.ts';
import { requestIdOf } from './response-headers.ts';

/** Stand beside the message; a field without a value is left out. */
type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Logs an event that is as it should be. */
export function logInfo(message: string, fields: Fields): void {
  console.log(JSON.stringify({ level: 'info', message, ...fields }));
}

/** Logs a fault that somebody should look at, under the id of the request that met it. */
export function logFault(message: string, cause: unknown): void {
  const line = {
    level: 'error',
    message,
    request_id: currentRequestId(),
    cause: describe(cause),
  };
  console.error(JSON.stringify(line));
}

/** Returns the stack of an error, and those of its causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const own = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? own : `${own}\ncaused by ${describe(error.cause)}`;
}

/** The parts of a request's line in the log that its answer is not enough to tell. */
export type Notes = {
  error_code?: ErrorCode;
  /** Why a bearer token was refused: jose's code, and the claim at fault. */
  token_fault?: string;
  /** The source of an answer of the feed. */
  cache?: 'memory' | 'edge' | 'database' | 'stale';
  /** Why an API key was refused. */
  key_fault?: string;
  /** The caller: the key's name, `api-key` for a key that opens everything, `bearer`. */
  caller?: string;
  /** The outcome of posting an event. */
  outcome?: 'accepted' | 'replayed' | 'conflict';
  /** Time that calls of the rate counter took. */
  counter_ms?: number;
  /** Time that calls of D1 took, all of them together: calls side by side may take more than the request. */
  database_ms?: number;
  /** Attempts at calls of D1: more than there are calls when passing faults were repeated. */
  database_attempts?: number;
};

const contexts = new AsyncLocalStorage<{ requestId: string; notes: Notes }>();

/** Runs the work for a request, with the notes that the work will add to. */
export function runForRequest<T>(requestId: string, notes: Notes, work: () => T): T {
  return contexts.run({ requestId, notes }, work);
}

/** Returns the id of the present request; `undefined` outside of any. */
export function currentRequestId(): string | undefined {
  return contexts.getStore()?.requestId;
}

/** Adds to the present request's line in the log. A later note replaces an earlier one of its name. */
export function note(notes: Notes): void {
  const context = contexts.getStore();
  if (context !== undefined) Object.assign(context.notes, notes);
}

/** The notes that are sums. */
type Sum = 'counter_ms' | 'database_ms' | 'database_attempts';

/** Adds to a sum of the present request's line. */
export function noteMore(sum: Sum, more: number): void {
  const context = contexts.getStore();
  if (context !== undefined) context.notes[sum] = (context.notes[sum] ?? 0) + more;
}

/** Does the work, and adds the time that it took. Worker clocks advance on I/O only, so that is what is measured. */
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

/** The binding that names the deployed version, where wrangler.toml has it. */
const VERSION_BINDING = 'CF_VERSION_METADATA';

/**
 * Logs each request once it is answered; `duration_ms` is the time until then. Everything that runs
 * for the request runs in its context. A counted response says in `Server-Timing` what took how long.
 */
export function accessLog() {
  const coloOf = rememberedColo();
  return createMiddleware<AppEnv>(async function accessLog(c, next) {
    const startedAt = Date.now();
    const requestId = requestIdOf(c);
    const notes: Notes = {};
    await runForRequest(requestId, notes, next);
    const duration = Date.now() - startedAt;
    const { headers } = c.res;
    if (headers.has('X-RateLimit-Limit') || notes.counter_ms !== undefined) {
      headers.set('Server-Timing', serverTiming(notes, duration));
    }
    logInfo('request', {
      request_id: requestId,
      method: c.req.method,
      route: routePath(c, -1),
      status: c.res.status,
      duration_ms: duration,
      ...notes,
      colo: coloOf(c),
      version: versionOf(c.env),
    });
  });
}

/** Writes the times as W3C Server Timing does, in milliseconds. What was not asked has no entry. */
function serverTiming({ counter_ms, database_ms }: Notes, total: number): string {
  const counter = counter_ms === undefined ? '' : `counter;dur=${counter_ms}, `;
  const database = database_ms === undefined ? '' : `database;dur=${database_ms}, `;
  return `${counter}${database}total;dur=${total}`;
}

/**
 * Returns a function that tells the data centre that serves a request; undefined outside of production.
 * An isolate stays in its data centre, and reading `cf` costs more than all else of a line: once is enough.
 */
function rememberedColo(): (c: Context) => string | undefined {
  let known: { colo: string | undefined } | undefined;
  return (c) => {
    if (known === undefined) {
      const colo = c.req.raw.cf?.colo;
      known = { colo: typeof colo === 'string' ? colo : undefined };
    }
    return known.colo;
  };
}

/** Returns the id of the deployed version, or else the version of the service. */
function versionOf(env: object): string {
  const metadata: unknown = Reflect.get(env, VERSION_BINDING);
  const id: unknown =
    typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, 'id') : undefined;
  return typeof id === 'string' && id !== '' ? id : VERSION;
}
