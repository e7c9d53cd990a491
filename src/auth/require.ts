/**
 * The middlewares that routes put before their handlers: who may call which route.
 *
 * Each of them carries its declaration, which `declaredAccess` reads. A test walks the routes of the
 * service: a route without a declaration fails it, and so does one that the document describes otherwise.
 */

import type { Context, MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../config.ts';
import { configOf } from '../config.ts';
import { note } from '../http/log.ts';
import { identifyKey, type SentKey } from './api-key.ts';
import { judgeBearer } from './bearer.ts';
import { type Scope, TOKEN_CALLER } from './named-keys.ts';
import { allows } from './permissions.ts';
import { API_KEY_REFUSALS, FEED_PERMISSION, FEED_REFUSALS, FEED_SCOPE } from './refusals.ts';

/** The callers that a route admits: anybody, or whose key has the scope. */
export type DeclaredAccess = 'open' | Scope;

const declarations = new WeakMap<object, DeclaredAccess>();

/** Returns what a handler declares of its route; undefined for a handler that declares nothing. */
export function declaredAccess(handler: object): DeclaredAccess | undefined {
  return declarations.get(handler);
}

/** Admits anybody. It does nothing: it is the declaration of a route that needs no credentials. */
export function openToAll() {
  return declare(
    'open',
    createMiddleware<AppEnv>(async function openToAll(_c, next) {
      await next();
    }),
  );
}

/**
 * Admits backend services: a valid `x-api-key` with the scope.
 * Throws 401 `authentication_required` or `authentication_invalid`, and 403 `permission_denied` for a
 * valid key without the scope.
 */
export function requireScope(scope: Scope) {
  return declare(
    scope,
    createMiddleware<AppEnv>(async function requireScope(c, next) {
      const key = await sentKeyOf(c);
      if (key?.outcome === 'valid') {
        admit(c, key.caller);
        if (!key.scopes.includes(scope)) throw API_KEY_REFUSALS.denied(scope);
        return next();
      }
      noteKey(key);
      const isAnySent = key !== undefined || c.req.header('Authorization') !== undefined;
      throw isAnySent ? API_KEY_REFUSALS.invalid() : API_KEY_REFUSALS.required();
    }),
  );
}

/**
 * Admits readers of the property feed: a key with the scope `feed:read`, or the token of a user who may
 * view the web area. One good credential is enough, whatever stands beside it.
 * Throws 401 as `requireScope` does, 403 `permission_denied` for a valid key without the scope or a valid
 * token without the permission, and `KeySetUnavailable`, a 500, when the keys that would verify a token
 * cannot be had.
 */
export function requireFeedAccess() {
  return declare(
    FEED_SCOPE,
    createMiddleware<AppEnv>(async function requireFeedAccess(c, next) {
      const key = await sentKeyOf(c);
      if (key?.outcome === 'valid' && key.scopes.includes(FEED_SCOPE)) {
        admit(c, key.caller);
        return next();
      }
      const authorization = c.req.header('Authorization');
      if (authorization !== undefined) {
        const bearer = await judgeBearer(authorization, configOf(c.env).jwt, c.req.url);
        if (bearer.outcome === 'invalid') note({ token_fault: bearer.fault });
        else if (allows(bearer.permissions, FEED_PERMISSION.area, FEED_PERMISSION.level)) {
          admit(c, TOKEN_CALLER);
          return next();
        } else if (key?.outcome !== 'valid') {
          admit(c, TOKEN_CALLER);
          throw FEED_REFUSALS.denied();
        }
      }
      noteKey(key);
      if (key?.outcome === 'valid') throw FEED_REFUSALS.keyDenied();
      if (authorization !== undefined) throw FEED_REFUSALS.invalidToken();
      throw key === undefined ? FEED_REFUSALS.required() : FEED_REFUSALS.invalid();
    }),
  );
}

function declare(
  access: DeclaredAccess,
  middleware: MiddlewareHandler<AppEnv>,
): MiddlewareHandler<AppEnv> {
  declarations.set(middleware, access);
  return middleware;
}

/** Returns what is known of the key that was sent; undefined when none was. */
async function sentKeyOf(c: Context<AppEnv>): Promise<SentKey | undefined> {
  const sent = c.req.header('x-api-key');
  if (sent === undefined) return undefined;
  return identifyKey(sent, configOf(c.env), Date.now());
}

/** Notes who calls: for the log, and for the event that the request may store. */
function admit(c: Context<AppEnv>, caller: string): void {
  c.set('caller', caller);
  note({ caller });
}

/** Tells the log of a key that did not open the route. */
function noteKey(key: SentKey | undefined): void {
  if (key === undefined) return;
  if (key.outcome !== 'unknown') note({ caller: key.caller });
  if (key.outcome !== 'valid') note({ key_fault: key.fault });
}
