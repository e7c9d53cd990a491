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

type KeyVerdict = 'absent' | 'empty' | 'invalid' | 'lacks scope';
type TokenVerdict = 'absent' | 'not accepted' | Bearer['outcome'];

function admit(accepted: Accepted) {
  const { scope, takesTokens } = accepted;
  const rejections = rejectionsOf(accepted);
  const middleware = createMiddleware<AppEnv>(async function admit(c, next) {
    const key = c.get('key');
    if (key?.outcome === 'valid' && key.scopes.includes(scope)) return next();
    const authorization = c.req.header('Authorization');
    const isJudged = authorization !== undefined && takesTokens;
    const token = isJudged
      ? await judgeBearer(sentOnce(authorization), readConfig(c.env).jwt, FEED_PERMISSION)
      : undefined;
    if (token !== undefined && 'fault' in token) setLogFields({ token_fault: token.fault });
    const keyVerdict = judgeKey(key);
    const isOfToken = token?.outcome === 'denied' && keyVerdict !== 'lacks scope';
    if (token?.outcome === 'valid' || isOfToken) c.set('caller', TOKEN_CALLER);
    else if (key !== undefined && 'fault' in key) setLogFields({ key_fault: key.fault });
    if (token?.outcome === 'valid') return next();
    const tokenVerdict =
      token?.outcome ?? (authorization === undefined ? 'absent' : 'not accepted');
    throw rejection(rejections, keyVerdict, tokenVerdict);
  });
  return declare(scope, middleware);
}

function judgeKey(key: SentKey | undefined): KeyVerdict {
  if (key === undefined) return 'absent';
  if (key.outcome === 'valid') return 'lacks scope';
  return key.fault === 'empty' ? 'empty' : 'invalid';
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
const EXPIRED = 'The token has expired.';
const INVALID = 'The credentials sent are not valid here.';

type Rejection = readonly [
  key: KeyVerdict | 'any',
  token: TokenVerdict | 'any',
  code: ErrorCode,
  message: string,
  challenge: string,
];

/**
 * The errors of requests without access: the first row that fits both verdicts decides. A 401 names
 * the accepted credentials (RFC 9110 section 11.6.1), with the error codes of RFC 6750 section 3.1.
 */
function rejectionsOf({ scope, takesTokens }: Accepted): readonly Rejection[] {
  const permission = `${FEED_PERMISSION.area}:${FEED_PERMISSION.level}`;
  const challenges = takesTokens ? `${BEARER_CHALLENGE}, ${API_KEY_CHALLENGE}` : API_KEY_CHALLENGE;
  const tokenChallenge = (...parameters: string[]) => [BEARER_CHALLENGE, ...parameters].join(', ');
  const orToken = takesTokens ? ', or a bearer token' : '';
  return [
    [
      'lacks scope',
      'any',
      'permission_denied',
      `The API key lacks the scope ${scope}.`,
      `${challenges}, error="insufficient_scope", scope="${scope}"`,
    ],
    [
      'any',
      'denied',
      'permission_denied',
      `The token lacks the permission ${permission}.`,
      tokenChallenge('error="insufficient_scope"', `scope="${permission}"`),
    ],
    [
      'any',
      'expired',
      'authentication_invalid',
      EXPIRED,
      tokenChallenge(INVALID_TOKEN, `error_description="${EXPIRED}"`, API_KEY_CHALLENGE),
    ],
    [
      'any',
      'invalid',
      'authentication_invalid',
      INVALID,
      tokenChallenge(INVALID_TOKEN, API_KEY_CHALLENGE),
    ],
    ['empty', 'any', 'authentication_invalid', 'The header X-API-Key is empty.', challenges],
    [
      'absent',
      'absent',
      'authentication_required',
      `Send an API key in the x-api-key header${orToken}.`,
      challenges,
    ],
    ['any', 'any', 'authentication_invalid', INVALID, challenges],
  ];
}

function rejection(
  rejections: readonly Rejection[],
  key: KeyVerdict,
  token: TokenVerdict,
): ApiError {
  const fits = (of: string, verdict: string) => of === 'any' || of === verdict;
  const row = rejections.find(([ofKey, ofToken]) => fits(ofKey, key) && fits(ofToken, token));
  if (row === undefined) throw new Error('the last rejection fits any request');
  const [, , code, message, challenge] = row;
  return new ApiError(code, message, { headers: { 'WWW-Authenticate': challenge } });
}
