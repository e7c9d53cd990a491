/** The credentials of operations in the OpenAPI document. */

import { httpsRequired } from '../../http/require-https.ts';
import type { Access } from '../../openapi/chapter.ts';
import type { Scope } from '../named-keys.ts';
import { FEED, rejection } from '../require.ts';

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

/** Access by an API key: see `requireScope`. `name` is the scope's in the names of responses. */
function keyWith(scope: Scope, name: string): Access {
  const accepted = { scope, takesTokens: false };
  return {
    security: [{ apiKey: [] }],
    scope,
    errors: [
      {
        id: 'KeyRequired',
        description: 'No API key was sent, or it is not valid.',
        errors: [rejection('nothing was sent', accepted), rejection('nothing is valid', accepted)],
      },
      {
        id: `${name}ScopeRequired`,
        description: `The key is valid, but lacks the scope \`${scope}\`; or the request came by plain http.`,
        errors: [rejection('key lacks scope', accepted), httpsRequired()],
      },
    ],
  };
}

/** The access of the operations. */
export const ACCESS = {
  open: {
    security: [],
    errors: [
      {
        id: 'HttpsRequired',
        description: 'The request came by plain http.',
        errors: [httpsRequired()],
      },
    ],
  },
  eventsWrite: keyWith('events:write', 'EventsWrite'),
  eventsRead: keyWith('events:read', 'EventsRead'),
  /** See `requireFeedAccess`. */
  feed: {
    security: [{ apiKey: [] }, { bearer: [] }],
    scope: 'feed:read',
    errors: [
      {
        id: 'CredentialsRequired',
        description: 'Neither a key nor a token was sent, or none of them is valid.',
        errors: [
          rejection('nothing was sent', FEED),
          rejection('nothing is valid', FEED),
          rejection('token has expired', FEED),
        ],
      },
      {
        id: 'FeedAccessRequired',
        description:
          'The credential is valid but does not open the feed: the token lacks the permission, or the key the scope `feed:read`. Or the request came by plain http.',
        errors: [
          rejection('token lacks permission', FEED),
          rejection('key lacks scope', FEED),
          httpsRequired(),
        ],
      },
    ],
  },
} satisfies Record<string, Access>;
