/**
 * The middleware that admits a route's callers, and its errors. A test compares the access that it
 * declares with the OpenAPI document.
 */

import type { MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../app-env.ts';
import { readConfig } from '../config.ts';
import { ApiError, type ErrorCode } from '../http/errors.ts';
import { setLogFields } from '../http/log.ts';
import { sentOnce } from '../http/repeated-header.ts';
import { type Bearer, judgeBearer } from './bearer.ts';
import { type Scope, type SentKey, TOKEN_CALLER } from './named-keys.ts';

/** Open to all, or the scope that a key needs. */
type DeclaredAccess = 'open' | Scope;

const declarations = new WeakMap<object, DeclaredAccess>();

export function declaredAccess(handler: object): DeclaredAccess | undefined {
  return declarations.get(handler);
}

/** Declares that a route needs no credentials. */
export function openToAll() {
  return declare('open', async function openToAll(_c, next) {
    await next();
  });
}

/**
 * Admits backend services: a valid `x-api-key` with the scope. Throws 401 `authentication_required`
 * or `authentication_invalid`, and 403 `permission_denied` for a valid key without the scope.
 */
export function requireScope(scope: Scope) {
  return admit({ scope, takesTokens: false });
}

/**
 * Admits a key with the scope `feed:read`, or a token with the permission `tool-web:viewer`, also
 * beside an invalid credential. Throws as `requireScope` does, and `KeySetUnavailable`, a 500.
 */
export function requireFeedAccess() {
  return admit({ scope: 'feed:read', takesTokens: true });
}

/** What a route accepts: a key with the scope, and perhaps a token with `FEED_PERMISSION`. */
type Accepted = { scope: Scope; takesTokens: boolean };

const FEED_PERMISSION = { area: 'tool-web', level: 'viewer' } as const;

function admit(accepted: Accepted) {
  const { scope, takesTokens } = accepted;
  const middleware = createMiddleware<AppEnv>(async function admit(c, next) {
    const key = c.get('key');
    if (key?.outcome === 'valid' && key.scopes.includes(scope)) return next();
    const authorization = c.req.header('Authorization');
    const token =
      authorization !== undefined && takesTokens
        ? await judgeBearer(sentOnce(authorization), readConfig(c.env).jwt, FEED_PERMISSION)
        : undefined;
    if (token !== undefined && 'fault' in token) setLogFields({ token_fault: token.fault });
    const isOfToken = token?.outcome === 'denied' && key?.outcome !== 'valid';
    if (token?.outcome === 'valid' || isOfToken) c.set('caller', TOKEN_CALLER);
    else if (key !== undefined && 'fault' in key) setLogFields({ key_fault: key.fault });
    if (token?.outcome === 'valid') return next();
    const isAnonymous = key === undefined && authorization === undefined;
    throw rejection(accepted, key, token, isAnonymous);
  });
  return declare(scope, middleware);
}

function declare(
  access: DeclaredAccess,
  middleware: MiddlewareHandler<AppEnv>,
): MiddlewareHandler<AppEnv> {
  declarations.set(middleware, access);
  return middleware;
}

const API_KEY_CHALLENGE = 'ApiKey realm="api", header="x-api-key"';
const BEARER_CHALLENGE = 'Bearer realm="api"';
const INVALID_TOKEN = 'error="invalid_token"';
const INSUFFICIENT = 'error="insufficient_scope"';
const EXPIRED = 'The token has expired.';
const EMPTY = 'The header X-API-Key is empty.';
const INVALID = 'The credentials sent are not valid here.';

/**
 * The error of a request without access. A 401 names the accepted credentials (RFC 9110 section
 * 11.6.1), with the error codes of RFC 6750 section 3.1.
 */
function rejection(
  { scope, takesTokens }: Accepted,
  key: SentKey | undefined,
  token: Bearer | undefined,
  isAnonymous: boolean,
): ApiError {
  const either = takesTokens ? `${BEARER_CHALLENGE}, ${API_KEY_CHALLENGE}` : API_KEY_CHALLENGE;
  const reject = (code: ErrorCode, message: string, ...challenge: string[]) =>
    new ApiError(code, message, { headers: { 'WWW-Authenticate': challenge.join(', ') } });

  if (key?.outcome === 'valid') {
    const message = `The API key lacks the scope ${scope}.`;
    return reject('permission_denied', message, either, INSUFFICIENT, `scope="${scope}"`);
  }
  switch (token?.outcome) {
    case 'denied': {
      const permission = `${FEED_PERMISSION.area}:${FEED_PERMISSION.level}`;
      const message = `The token lacks the permission ${permission}.`;
      const needed = `scope="${permission}"`;
      return reject('permission_denied', message, BEARER_CHALLENGE, INSUFFICIENT, needed);
    }
    case 'expired': {
      const challenge = `${BEARER_CHALLENGE}, ${INVALID_TOKEN}, error_description="${EXPIRED}"`;
      return reject('authentication_invalid', EXPIRED, challenge, API_KEY_CHALLENGE);
    }
    case 'invalid': {
      const challenge = `${BEARER_CHALLENGE}, ${INVALID_TOKEN}`;
      return reject('authentication_invalid', INVALID, challenge, API_KEY_CHALLENGE);
    }
  }
  if (isAnonymous) {
    const orToken = takesTokens ? ', or a bearer token' : '';
    const message = `Send an API key in the x-api-key header${orToken}.`;
    return reject('authentication_required', message, either);
  }
  const isEmpty = key?.outcome === 'unknown' && key.fault === 'empty';
  return reject('authentication_invalid', isEmpty ? EMPTY : INVALID, either);
}
