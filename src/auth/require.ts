/**
 * The middleware before each handler, and its errors. A test compares the access that it declares
 * with the OpenAPI document.
 */

import type { Context, MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { type AppEnv, isOwnMachine, readConfig } from '../config.ts';
import { ApiError, type ErrorCode } from '../http/errors.ts';
import { setLogFields } from '../http/log.ts';
import { sentOnce } from '../http/repeated-header.ts';
import { type Scope, TOKEN_CALLER } from '../named-keys.ts';
import { API_KEY_HEADER, identifyKey, type SentKey } from './api-key.ts';
import { judgeBearer } from './bearer.ts';

/** Open to all, or the scope that a key needs. */
type DeclaredAccess = 'open' | Scope;

type InvalidKey = Exclude<SentKey, { outcome: 'valid' }>;

const declarations = new WeakMap<object, DeclaredAccess>();

export function declaredAccess(handler: object): DeclaredAccess | undefined {
  return declarations.get(handler);
}

/** Declares that a route needs no credentials. */
export function openToAll() {
  return declare(
    'open',
    createMiddleware<AppEnv>(async function openToAll(_c, next) {
      await next();
    }),
  );
}

/**
 * Admits backend services: a valid `x-api-key` with the scope. Throws 401 `authentication_required`
 * or `authentication_invalid`, and 403 `permission_denied` for a valid key without the scope.
 */
export function requireScope(scope: Scope) {
  return declare(
    scope,
    createMiddleware<AppEnv>(async function requireScope(c, next) {
      const key = await identifyKey(c.req.header(API_KEY_HEADER), readConfig(c.env), Date.now());
      if (key?.outcome === 'valid') {
        c.set('caller', key.caller);
        c.set('scopes', key.scopes);
        if (!key.scopes.includes(scope)) throw REJECTIONS.apiKey.denied(scope);
        return next();
      }
      noteInvalidKey(c, key);
      if (key?.fault === 'empty') throw REJECTIONS.apiKey.empty();
      const authorization = c.req.header('Authorization');
      if (key === undefined && authorization === undefined) throw REJECTIONS.apiKey.required();
      throw REJECTIONS.apiKey.invalid(adviceOn(authorization));
    }),
  );
}

/**
 * Admits a key with the scope `feed:read`, or a token with the permission `tool-web:viewer`, also
 * beside an invalid credential. Throws as `requireScope` does, and `KeySetUnavailable`, a 500.
 */
export function requireFeedAccess() {
  return declare(
    FEED_SCOPE,
    createMiddleware<AppEnv>(async function requireFeedAccess(c, next) {
      const key = await identifyKey(c.req.header(API_KEY_HEADER), readConfig(c.env), Date.now());
      if (key?.outcome === 'valid' && key.scopes.includes(FEED_SCOPE)) {
        c.set('caller', key.caller);
        return next();
      }
      const authorization = c.req.header('Authorization');
      const bearer =
        authorization === undefined
          ? undefined
          : await judgeBearer(sentOnce(authorization), readConfig(c.env).jwt, FEED_PERMISSION);
      if (bearer?.outcome === 'valid') {
        c.set('caller', TOKEN_CALLER);
        return next();
      }
      if (bearer !== undefined) setLogFields({ token_fault: bearer.fault });
      if (key?.outcome === 'valid') {
        c.set('caller', key.caller);
        throw REJECTIONS.feed.keyDenied();
      }
      if (bearer?.outcome === 'denied') {
        c.set('caller', TOKEN_CALLER);
        throw REJECTIONS.feed.denied();
      }
      noteInvalidKey(c, key);
      if (bearer !== undefined) throw REJECTIONS.feed.invalidToken(adviceOn(authorization));
      if (key?.fault === 'empty') throw REJECTIONS.feed.empty();
      throw key === undefined ? REJECTIONS.feed.required() : REJECTIONS.feed.invalid();
    }),
  );
}

/**
 * Rejects plain http with 403 `https_required`, except in development and at the machine itself. A
 * valid key is identified for the log only: it has travelled in clear, and has to be replaced.
 */
export function requireHttps() {
  return createMiddleware<AppEnv>(async function requireHttps(c, next) {
    const config = readConfig(c.env);
    // A URL cannot be parsed when the Host header is no valid authority.
    const { protocol, hostname, pathname } = URL.parse(c.req.url) ?? {};
    const isApi = pathname === '/api' || pathname?.startsWith('/api/') === true;
    if (protocol !== 'http:' || !isApi || config.isDevelopment || isOwnMachine(hostname ?? '')) {
      return next();
    }
    const key = await identifyKey(c.req.header(API_KEY_HEADER), config, Date.now());
    if (key !== undefined && 'caller' in key) c.set('caller', key.caller);
    throw httpsRequired();
  });
}

/** 403 `https_required`. */
export function httpsRequired(): ApiError {
  const advice = 'If the request had a key, replace the key: it has travelled in clear.';
  return new ApiError('https_required', `Send the request to https. ${advice}`);
}

function declare(
  access: DeclaredAccess,
  middleware: MiddlewareHandler<AppEnv>,
): MiddlewareHandler<AppEnv> {
  declarations.set(middleware, access);
  return middleware;
}

function noteInvalidKey(c: Context<AppEnv>, key: InvalidKey | undefined): void {
  if (key?.outcome === 'expired') c.set('caller', key.caller);
  if (key !== undefined) setLogFields({ key_fault: key.fault });
}

const FEED_PERMISSION = { area: 'tool-web', level: 'viewer' } as const;

const FEED_SCOPE = 'feed:read' satisfies Scope;

const API_KEY_CHALLENGE = 'ApiKey realm="api", header="x-api-key"';
const BEARER_CHALLENGE = 'Bearer realm="api"';
const FEED_CHALLENGES = `${BEARER_CHALLENGE}, ${API_KEY_CHALLENGE}`;
const INVALID_CREDENTIALS = 'The credentials sent are not valid here.';
const NO_TOKEN = 'The bearer value is no JWT. Send an API key in the x-api-key header.';
const EMPTY_KEY = 'The header X-API-Key is empty.';
const FEED_PERMISSION_TEXT = `${FEED_PERMISSION.area}:${FEED_PERMISSION.level}`;

/** The errors of access. A 401 names the accepted credentials (RFC 9110 section 11.6.1). */
export const REJECTIONS = {
  apiKey: {
    required: () => required('Send an API key in the x-api-key header.', API_KEY_CHALLENGE),
    invalid: (advice?: string) => invalid(API_KEY_CHALLENGE, advice),
    empty: () => invalid(API_KEY_CHALLENGE, EMPTY_KEY),
    denied: (scope: Scope) => keyDenied(scope, API_KEY_CHALLENGE),
  },

  feed: {
    required: () =>
      required('Send an API key in the x-api-key header, or a bearer token.', FEED_CHALLENGES),
    invalid: () => invalid(FEED_CHALLENGES),
    empty: () => invalid(FEED_CHALLENGES, EMPTY_KEY),
    /** The challenge has the error code of RFC 6750 section 3.1. */
    invalidToken: (advice?: string) =>
      invalid(`${BEARER_CHALLENGE}, error="invalid_token", ${API_KEY_CHALLENGE}`, advice),
    denied: () =>
      rejection(
        'permission_denied',
        `The token lacks the permission ${FEED_PERMISSION_TEXT}.`,
        `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${FEED_PERMISSION_TEXT}"`,
      ),
    keyDenied: () => keyDenied(FEED_SCOPE, FEED_CHALLENGES),
  },
};

/** An API key that is sent as a bearer token is no JWT, which has three parts (RFC 7519). */
function adviceOn(authorization = ''): string | undefined {
  const [, token] = /^Bearer +(\S+)$/i.exec(sentOnce(authorization)) ?? [];
  return token === undefined || token.split('.').length === 3 ? undefined : NO_TOKEN;
}

function keyDenied(scope: Scope, challenges: string): ApiError {
  const message = `The API key lacks the scope ${scope}.`;
  const challenge = `${challenges}, error="insufficient_scope", scope="${scope}"`;
  return rejection('permission_denied', message, challenge);
}

function required(message: string, challenges: string): ApiError {
  return rejection('authentication_required', message, challenges);
}

function invalid(challenges: string, message = INVALID_CREDENTIALS): ApiError {
  return rejection('authentication_invalid', message, challenges);
}

function rejection(code: ErrorCode, message: string, challenges: string): ApiError {
  return new ApiError(code, message, { headers: { 'WWW-Authenticate': challenges } });
}
