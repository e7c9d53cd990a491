/**
 * The middleware that admits a route's callers, and its errors. A test compares the access that it
 * declares with the OpenAPI document.
 */

import type { MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import type { AppEnv } from '../app-env.ts';
import { type Config, readConfig } from '../config.ts';
import { ApiError, type ErrorCode } from '../http/errors.ts';
import { setLogFields } from '../http/log.ts';
import { sentOnce } from '../http/repeated-header.ts';
import { verifyBearer } from './bearer.ts';
import { type PresentedKey, type Scope, TOKEN_CALLER } from './named-keys.ts';

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
  const middleware = createMiddleware<AppEnv>(async function admit(c, next) {
    const key = c.get('key');
    if (key?.outcome === 'valid' && key.scopes.includes(accepted.scope)) return next();
    const authorization = c.req.header('Authorization');
    const ofToken =
      authorization === undefined
        ? undefined
        : await judgeToken(authorization, accepted, readConfig(c.env).jwt);
    if (ofToken === 'admitted') {
      c.set('caller', TOKEN_CALLER);
      return next();
    }
    const ofKey = rejectKey(key, accepted, adviceFor(authorization));
    const { error, caller } = ofToken && ofToken.rank > ofKey.rank ? ofToken : ofKey;
    if (caller !== undefined) c.set('caller', caller);
    else if (key !== undefined && 'fault' in key) setLogFields({ key_fault: key.fault });
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
const NOT_TAKEN = 'This operation takes an API key, in the x-api-key header.';
const INVALID = 'The credentials sent are not valid here.';

/** A token has three parts (RFC 7519). The header may have it twice. */
const HAS_TOKEN = /^bearer +[^.\s]+\.[^.\s]+\.[^.\s,]*(,|$)/i;

/** Many clients send an API key in the header of tokens. */
function adviceFor(authorization = ''): string {
  const isToken = authorization === '' || HAS_TOKEN.test(authorization);
  return isToken ? '' : ' An API key belongs in the x-api-key header.';
}

/**
 * Why a credential does not admit its request. Of two errors, the one of the higher rank is thrown.
 * `caller` is the owner of a token that is valid.
 */
type Rejection = { rank: number; error: ApiError; caller?: string };

/** A `WWW-Authenticate` names the accepted credentials (RFC 9110 section 11.6.1). */
function reject(rank: number, code: ErrorCode, message: string, ...challenge: string[]): Rejection {
  const headers = { 'WWW-Authenticate': challenge.join(', ') };
  return { rank, error: new ApiError(code, message, { headers }) };
}

/** Of a key that is missing, is not valid or lacks the scope. */
function rejectKey(
  key: PresentedKey | undefined,
  { scope, takesTokens }: Accepted,
  advice: string,
): Rejection {
  const challenge = takesTokens ? `${BEARER_CHALLENGE}, ${API_KEY_CHALLENGE}` : API_KEY_CHALLENGE;
  if (key === undefined) {
    const message = `Send an API key in the x-api-key header${takesTokens ? ', or a bearer token' : ''}.`;
    return reject(0, 'authentication_required', message, challenge);
  }
  if (key.outcome !== 'valid') {
    const message = key.fault === 'empty' ? EMPTY : INVALID;
    return reject(2, 'authentication_invalid', message + advice, challenge);
  }
  const message = `The API key lacks the scope ${scope}.`;
  return reject(5, 'permission_denied', message, challenge, INSUFFICIENT, `scope="${scope}"`);
}

/** With the error codes of RFC 6750 section 3.1. */
async function judgeToken(
  authorization: string,
  { takesTokens }: Accepted,
  jwt: Config['jwt'],
): Promise<'admitted' | Rejection> {
  if (!takesTokens) return reject(1, 'authentication_invalid', NOT_TAKEN, API_KEY_CHALLENGE);
  const token = await verifyBearer(sentOnce(authorization), jwt, FEED_PERMISSION);
  if (token.outcome === 'valid') return 'admitted';
  setLogFields({ token_fault: token.fault });
  switch (token.outcome) {
    case 'denied': {
      const permission = `${FEED_PERMISSION.area}:${FEED_PERMISSION.level}`;
      const message = `The token lacks the permission ${permission}.`;
      const challenge = [BEARER_CHALLENGE, INSUFFICIENT, `scope="${permission}"`];
      return { ...reject(4, 'permission_denied', message, ...challenge), caller: TOKEN_CALLER };
    }
    case 'expired': {
      const challenge = [INVALID_TOKEN, `error_description="${EXPIRED}"`, API_KEY_CHALLENGE];
      return reject(3, 'authentication_invalid', EXPIRED, ...challenge);
    }
    case 'invalid': {
      const message = INVALID + adviceFor(authorization);
      return reject(3, 'authentication_invalid', message, INVALID_TOKEN, API_KEY_CHALLENGE);
    }
  }
}
