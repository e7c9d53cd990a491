/** Who may call which route: the middlewares that routes put before their handlers. */

import { createMiddleware } from 'hono/factory';
import { configOf } from '../config.ts';
import type { AppEnv } from '../http/app-env.ts';
import { ApiError } from '../http/errors.ts';
import { isApiKey } from './api-key.ts';
import { judgeBearer } from './bearer.ts';
import { allows } from './permissions.ts';

/** A 401 names what would be accepted (RFC 9110 section 11.6.1). */
const API_KEY_CHALLENGE = 'ApiKey realm="api", header="x-api-key"';
const BEARER_CHALLENGE = 'Bearer realm="api"';
const FEED_AREA = 'tool-web';
const FEED_LEVEL = 'viewer';

/**
 * Backend services only: a valid `x-api-key`.
 * Throws 401 `authentication_required` or `authentication_invalid`.
 */
export function requireApiKey() {
  return createMiddleware<AppEnv>(async function requireApiKey(c, next) {
    const key = c.req.header('x-api-key');
    if (key !== undefined && isApiKey(key, configOf(c.env).apiKeys)) return next();
    if (key !== undefined || c.req.header('Authorization') !== undefined) {
      throw authenticationInvalid(API_KEY_CHALLENGE);
    }
    throw authenticationRequired('Send an API key in the x-api-key header.', API_KEY_CHALLENGE);
  });
}

/**
 * The property feed: an API key, or a user's token with the permission to view the web area. One
 * good credential is enough, whatever stands beside it.
 * Throws 401 as `requireApiKey` does, 403 `permission_denied` for a valid token without the
 * permission, and `KeySetUnavailable`, a 500, when a token cannot be verified for want of keys.
 */
export function requireFeedAccess() {
  return createMiddleware<AppEnv>(async function requireFeedAccess(c, next) {
    const key = c.req.header('x-api-key');
    const { apiKeys, jwt } = configOf(c.env);
    if (key !== undefined && isApiKey(key, apiKeys)) return next();
    const authorization = c.req.header('Authorization');
    if (authorization !== undefined) {
      const bearer = await judgeBearer(authorization, jwt);
      if (bearer.outcome === 'valid') {
        if (allows(bearer.permissions, FEED_AREA, FEED_LEVEL)) return next();
        throw permissionDenied();
      }
      // RFC 6750 section 3.1: what was wrong with the token that was sent.
      throw authenticationInvalid(
        `${BEARER_CHALLENGE}, error="invalid_token", ${API_KEY_CHALLENGE}`,
      );
    }
    const challenges = `${BEARER_CHALLENGE}, ${API_KEY_CHALLENGE}`;
    if (key !== undefined) throw authenticationInvalid(challenges);
    throw authenticationRequired(
      'Send an API key in the x-api-key header, or a bearer token.',
      challenges,
    );
  });
}

function authenticationRequired(message: string, challenges: string): ApiError {
  return new ApiError('authentication_required', message, {
    headers: { 'WWW-Authenticate': challenges },
  });
}

function authenticationInvalid(challenges: string): ApiError {
  return new ApiError('authentication_invalid', 'The credentials sent are not valid here.', {
    headers: { 'WWW-Authenticate': challenges },
  });
}

function permissionDenied(): ApiError {
  const permission = `${FEED_AREA}:${FEED_LEVEL}`;
  return new ApiError('permission_denied', `The token lacks the permission ${permission}.`, {
    headers: {
      'WWW-Authenticate': `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${permission}"`,
    },
  });
}
