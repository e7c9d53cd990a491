/** The security schemes of the OpenAPI document, and the credentials that its operations accept. */

import type { Access } from '../../openapi/chapter.ts';
import type { Scope } from '../named-keys.ts';

/** Security schemes, by the names that `Access` uses. */
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
      'A JWT of the identity provider (RFC 7519, verified as RFC 8725 recommends). Its claim `permissions` contains `tool-web:viewer` or a higher level, in a list, in a string separated by spaces, or in an object of area and level.',
  },
} as const;

const REJECTED = [
  'authentication_required',
  'authentication_invalid',
  'permission_denied',
] as const;

const keyWith = (scope: Scope): Access => ({
  security: [{ apiKey: [] }],
  scope,
  errors: [...REJECTED, 'https_required'],
});

/** The access rules for operations: the accepted credentials, and the errors of requests without them. */
export const ACCESS = {
  open: { security: [], errors: ['https_required'] },
  eventsWrite: keyWith('events:write'),
  eventsRead: keyWith('events:read'),
  feed: { ...keyWith('feed:read'), security: [{ apiKey: [] }, { bearer: [] }] },
} satisfies Record<string, Access>;
