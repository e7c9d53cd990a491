/**
 * Who may call which route: the middlewares that routes put before their handlers, and their refusals.
 *
 * Each middleware carries its declaration, which `declaredAccess` reads. A test walks the routes of the
 * service: a route without a declaration fails it, and so does one that the document describes otherwise.
 */

import type { Context, MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../config.ts';
import { configOf } from '../config.ts';
import { ApiError } from '../http/errors.ts';
import { note } from '../http/log.ts';
import { identifyKey, type Scope, type SentKey, TOKEN_CALLER } from './api-key.ts';
import { allows, judgeBearer } from './bearer.ts';

/** The callers that a route admits: anybody, or whose key has the scope. */
type DeclaredAccess = 'open' | Scope;

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
        const bearer = await judgeBearer(authorization, configOf(c.env).jwt, {
          url: c.req.url,
          inBackground: (work) => c.executionCtx.waitUntil(work),
        });
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

/** The permission that opens the property feed to a user. */
const FEED_PERMISSION = { area: 'tool-web', level: 'viewer' } as const;

/** The scope that opens the property feed to a key. */
export const FEED_SCOPE = 'feed:read' satisfies Scope;

const API_KEY_CHALLENGE = 'ApiKey realm="api", header="x-api-key"';
const BEARER_CHALLENGE = 'Bearer realm="api"';
const FEED_CHALLENGES = `${BEARER_CHALLENGE}, ${API_KEY_CHALLENGE}`;
const FEED_PERMISSION_TEXT = `${FEED_PERMISSION.area}:${FEED_PERMISSION.level}`;

/** The refusals of routes that accept an API key only. A 401 names the credentials that are accepted (RFC 9110 section 11.6.1). */
export const API_KEY_REFUSALS = {
  required: () => required('Send an API key in the x-api-key header.', API_KEY_CHALLENGE),
  invalid: () => invalid(API_KEY_CHALLENGE),
  /** The key is valid, and opens something else. */
  denied: (scope: Scope) => keyDenied(scope, keyChallenge(scope)),
};

/** The refusals of the property feed. */
export const FEED_REFUSALS = {
  required: () =>
    required('Send an API key in the x-api-key header, or a bearer token.', FEED_CHALLENGES),
  invalid: () => invalid(FEED_CHALLENGES),
  /** RFC 6750 section 3.1 names what was wrong with the token. */
  invalidToken: () => invalid(`${BEARER_CHALLENGE}, error="invalid_token", ${API_KEY_CHALLENGE}`),
  denied: () =>
    new ApiError('permission_denied', `The token lacks the permission ${FEED_PERMISSION_TEXT}.`, {
      headers: {
        'WWW-Authenticate': `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${FEED_PERMISSION_TEXT}"`,
      },
    }),
  keyDenied: () => keyDenied(FEED_SCOPE, `${BEARER_CHALLENGE}, ${keyChallenge(FEED_SCOPE)}`),
};

function keyChallenge(scope: Scope): string {
  return `${API_KEY_CHALLENGE}, error="insufficient_scope", scope="${scope}"`;
}

function keyDenied(scope: Scope, challenges: string): ApiError {
  return new ApiError('permission_denied', `The API key lacks the scope ${scope}.`, {
    headers: { 'WWW-Authenticate': challenges },
  });
}

function required(message: string, challenges: string): ApiError {
  return new ApiError('authentication_required', message, {
    headers: { 'WWW-Authenticate': challenges },
  });
}

function invalid(challenges: string): ApiError {
  return new ApiError('authentication_invalid', 'The credentials sent are not valid here.', {
    headers: { 'WWW-Authenticate': challenges },
  });
}
