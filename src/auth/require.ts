/**
 * Checks the credentials of requests. A test compares the access that each route declares with the
 * OpenAPI document.
 */

import type { MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../app-env.ts';
import { type Config, readConfig } from '../config.ts';
import { ApiError, type ErrorCode } from '../http/errors.ts';
import { setLogFields } from '../http/log.ts';
import { mergeRepeated } from '../http/repeated-header.ts';
import { PERMISSIONS_CLAIM, verifyBearer } from './bearer.ts';
import { type PresentedKey, type Scope, TOKEN_CALLER } from './named-keys.ts';

/** The scope that a route requires, or `open` if it requires no credentials. */
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
 * Requires a valid `x-api-key` with the scope. Throws 401 `authentication_required` or
 * `authentication_invalid`, and 403 `permission_denied` if a valid key does not have the scope.
 */
export function requireScope(scope: Scope) {
  return admit({ scope, acceptsTokens: false });
}

/**
 * Requires a key with the scope `feed:read`, or a token with the permission `tool-web:viewer`. One
 * valid credential is enough, even if the request also has an invalid one. Throws the same errors as
 * `requireScope`, and `KeySetUnavailable`, which results in a 500.
 */
export function requireFeedAccess() {
  return admit({ scope: 'feed:read', acceptsTokens: true });
}

/** The credentials that a route accepts: a key with the scope and, on some routes, a token. */
type Accepted = { scope: Scope; acceptsTokens: boolean };

const FEED_PERMISSION = { area: 'tool-web', level: 'viewer' } as const;

function admit(accepted: Accepted) {
  const middleware = createMiddleware<AppEnv>(async function admit(c, next) {
    const key = c.get('key');
    if (key?.outcome === 'valid' && key.scopes.includes(accepted.scope)) return next();
    const authorization = c.req.header('Authorization');
    const tokenResult =
      authorization === undefined
        ? undefined
        : await verifyToken(authorization, accepted, readConfig(c.env).jwt);
    if (tokenResult === 'admitted') {
      c.set('caller', TOKEN_CALLER);
      return next();
    }
    const keyRejection = rejectKey(key, accepted, findHeaderHint(authorization));
    const { error, caller } =
      tokenResult !== undefined && tokenResult.rank > keyRejection.rank
        ? tokenResult
        : keyRejection;
    if (caller !== undefined) c.set('caller', caller);
    else if (key !== undefined && 'reason' in key) setLogFields({ key_fault: key.reason });
    throw error;
  });
  return declare(accepted.scope, middleware);
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
const INVALID_TOKEN = `${BEARER_CHALLENGE}, error="invalid_token"`;
const INSUFFICIENT = 'error="insufficient_scope"';
const EXPIRED = 'The token has expired.';
const EMPTY = 'The header X-API-Key is empty.';
const KEY_ONLY = 'This operation takes an API key, in the x-api-key header.';
const INVALID = 'The credentials sent are not valid here.';

/**
 * Matches an `Authorization` header with a token, which has three parts (RFC 7519). A repeated header
 * contains the token twice.
 */
const HAS_TOKEN = /^bearer +[^.\s]+\.[^.\s]+\.[^.\s,]*(,|$)/i;

/** Returns a hint if the `Authorization` header may contain an API key, because many clients send it there. */
function findHeaderHint(authorization = ''): string {
  const isToken = authorization === '' || HAS_TOKEN.test(authorization);
  return isToken ? '' : ' An API key belongs in the x-api-key header.';
}

/**
 * A rejected credential. If both the key and the token are rejected, the rejection with the higher rank
 * is thrown. `caller` is set if a valid token does not have the permission.
 *
 *     rank   rejected credential
 *     0      a missing key
 *     1      a token at a route that accepts only keys
 *     2      an invalid key
 *     3      an invalid or expired token
 *     4      a token without the permission
 *     5      a key without the scope
 */
type Rejection = { rank: number; error: ApiError; caller?: string };

/** Builds a rejection whose `WWW-Authenticate` names the accepted credentials (RFC 9110 section 11.6.1). */
function reject(rank: number, code: ErrorCode, message: string, ...challenge: string[]): Rejection {
  const headers = { 'WWW-Authenticate': challenge.join(', ') };
  return { rank, error: new ApiError(code, message, { headers }) };
}

/** Builds the rejection of a missing, invalid or under-scoped key. */
function rejectKey(
  key: PresentedKey | undefined,
  { scope, acceptsTokens }: Accepted,
  hint: string,
): Rejection {
  const challenge = acceptsTokens ? `${BEARER_CHALLENGE}, ${API_KEY_CHALLENGE}` : API_KEY_CHALLENGE;
  if (key === undefined) {
    const message = `Send an API key in the x-api-key header${acceptsTokens ? ', or a bearer token' : ''}.`;
    return reject(0, 'authentication_required', message, challenge);
  }
  if (key.outcome !== 'valid') {
    const message = key.reason === 'empty' ? EMPTY : INVALID;
    return reject(2, 'authentication_invalid', message + hint, challenge);
  }
  const message = `The API key does not have the scope ${scope}.`;
  return reject(5, 'permission_denied', message, challenge, INSUFFICIENT, `scope="${scope}"`);
}

/** Verifies a bearer token. A rejection has the error code that RFC 6750 section 3.1 specifies. */
async function verifyToken(
  authorization: string,
  { acceptsTokens }: Accepted,
  jwt: Config['jwt'],
): Promise<'admitted' | Rejection> {
  if (!acceptsTokens) return reject(1, 'authentication_invalid', KEY_ONLY, API_KEY_CHALLENGE);
  const verdict = await verifyBearer(mergeRepeated(authorization), jwt, FEED_PERMISSION);
  if (verdict.outcome === 'valid') return 'admitted';
  setLogFields({ token_fault: verdict.reason });
  switch (verdict.outcome) {
    case 'denied': {
      const permission = `${FEED_PERMISSION.area}:${FEED_PERMISSION.level}`;
      const message = `The token does not have the permission ${permission} in its claim ${PERMISSIONS_CLAIM}.`;
      const challenge = [BEARER_CHALLENGE, INSUFFICIENT, `scope="${permission}"`];
      return { ...reject(4, 'permission_denied', message, ...challenge), caller: TOKEN_CALLER };
    }
    case 'expired': {
      const challenge = [INVALID_TOKEN, `error_description="${EXPIRED}"`, API_KEY_CHALLENGE];
      return reject(3, 'authentication_invalid', EXPIRED, ...challenge);
    }
    case 'invalid': {
      const message = INVALID + findHeaderHint(authorization);
      return reject(3, 'authentication_invalid', message, INVALID_TOKEN, API_KEY_CHALLENGE);
    }
  }
}
