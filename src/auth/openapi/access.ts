/** The credentials of operations in the OpenAPI document. */

import type { Access } from '../../openapi/chapter.ts';
import type { Scope } from '../named-keys.ts';
import { API_KEY_REJECTIONS, FEED_REJECTIONS, FEED_SCOPE } from '../require.ts';

/** The credentials, by the names in `Access`. */
export const securitySchemes = {
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description:
      'The key of a backend service, handed out by the operator. An operation names the scope that a key needs; some keys have every scope.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'A JWT of the identity provider (RFC7519, checked as RFC8725 asks) whose `permissions` contain `tool-web:viewer` or higher.',
  },
} as const;

/** Access by an API key with the scope: see `requireScope`. `name` is the scope's in the names of responses. */
function keyWith(scope: Scope, name: string): Access {
  return {
    security: [{ apiKey: [] }],
    scope,
    errors: [
      {
        id: 'KeyRequired',
        description: 'No API key was sent, or it is not valid.',
        errors: [API_KEY_REJECTIONS.required(), API_KEY_REJECTIONS.invalid()],
      },
      {
        id: `${name}ScopeRequired`,
        description: `The key is valid, but lacks the scope \`${scope}\`.`,
        errors: [API_KEY_REJECTIONS.denied(scope)],
      },
    ],
  };
}

/** The access of the operations. */
export const ACCESS = {
  open: { security: [], errors: [] },
  eventsWrite: keyWith('events:write', 'EventsWrite'),
  eventsRead: keyWith('events:read', 'EventsRead'),
  /** See `requireFeedAccess`. */
  feed: {
    security: [{ apiKey: [] }, { bearer: [] }],
    scope: FEED_SCOPE,
    errors: [
      {
        id: 'CredentialsRequired',
        description: 'Neither a key nor a token was sent, or none of them is valid.',
        errors: [FEED_REJECTIONS.required(), FEED_REJECTIONS.invalid()],
      },
      {
        id: 'FeedAccessRequired',
        description: `The credential is valid but does not open the feed: the token lacks the permission, or the key the scope \`${FEED_SCOPE}\`.`,
        errors: [FEED_REJECTIONS.denied(), FEED_REJECTIONS.keyDenied()],
      },
    ],
  },
} satisfies Record<string, Access>;
