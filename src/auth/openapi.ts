/** The credentials that open an operation, as the OpenAPI document describes them. */

import type { Access } from '../http/openapi.ts';
import { API_KEY_REFUSALS, FEED_REFUSALS } from './refusals.ts';

const UNAUTHENTICATED = 'No credentials were sent, or none that is valid here.';

/** The credentials that exist, by the names that `Access` uses. */
export const securitySchemes = {
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'The key of a backend service, given out of band.',
  },
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'A JWT of the identity provider (RFC7519, checked as RFC8725 asks) whose `permissions` hold `tool-web:viewer` or higher.',
  },
} as const;

/** Anybody. */
export const OPEN: Access = { security: [], refusals: [] };

/** See `requireApiKey`. */
export const API_KEY_ONLY: Access = {
  security: [{ apiKey: [] }],
  refusals: [
    {
      description: UNAUTHENTICATED,
      errors: [API_KEY_REFUSALS.required(), API_KEY_REFUSALS.invalid()],
    },
  ],
};

/** See `requireFeedAccess`. */
export const FEED_ACCESS: Access = {
  security: [{ apiKey: [] }, { bearer: [] }],
  refusals: [
    {
      description: UNAUTHENTICATED,
      errors: [FEED_REFUSALS.required(), FEED_REFUSALS.invalid()],
    },
    {
      description: 'The token is valid but does not open the feed.',
      errors: [FEED_REFUSALS.denied()],
    },
  ],
};
