/** The errors of those who may not call a route. A 401 names what would be accepted (RFC 9110 section 11.6.1). */

import { ApiError } from '../http/errors.ts';
import type { Scope } from './named-keys.ts';
import type { Level } from './permissions.ts';

/** The permission that opens the property feed to a user. */
export const FEED_PERMISSION = { area: 'tool-web', level: 'viewer' } as const satisfies {
  area: string;
  level: Level;
};

/** The scope that opens the property feed to a key. */
export const FEED_SCOPE = 'feed:read' satisfies Scope;

const API_KEY_CHALLENGE = 'ApiKey realm="api", header="x-api-key"';
const BEARER_CHALLENGE = 'Bearer realm="api"';
const FEED_CHALLENGES = `${BEARER_CHALLENGE}, ${API_KEY_CHALLENGE}`;
const FEED_PERMISSION_TEXT = `${FEED_PERMISSION.area}:${FEED_PERMISSION.level}`;

/** The refusals of routes that accept an API key only. */
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
