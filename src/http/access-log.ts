/** Logs one structured line per request. The line holds no credential, key, query or payload. */

import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import { VERSION } from '../version.ts';
import type { AppEnv } from './app-env.ts';
import { logInfo } from './log.ts';
import { type Notes, runForRequest } from './request-context.ts';
import { requestIdOf } from './request-id.ts';

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
