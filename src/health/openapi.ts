/** The health checks, as the OpenAPI document describes them. */

import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { anyTime, commonRequestHeaders, errorExample } from '../http/openapi.ts';
import { commonHeaders, errorHeaders, noStore } from '../http/openapi-headers.ts';
import { detailedHealth, downHealth, health } from './resource.ts';

const BASIC = { method: 'GET', path: '/api/health' } as const;
const DETAILED = { method: 'GET', path: '/api/health/detailed' } as const;

const answerHeaders = z.object({ ...commonHeaders, 'Cache-Control': noStore });

const EXAMPLE_HEALTH = {
  object: 'health',
  status: 'ok',
  timestamp: '2027-01-15T09:30:00.000Z',
  version: '1.0.0',
};
const EXAMPLE_DEPENDENCIES = {
  database: { status: 'ok', latency_ms: 12 },
  idempotency_cache: { status: 'ok', latency_ms: 4 },
  rate_limiter: { status: 'ok', latency_ms: 7 },
};

export const healthPaths = {
  '/api/health': {
    get: {
      operationId: 'getHealth',
      tags: ['Health'],
      summary: 'Whether the service answers',
      description: 'Asks nothing of what the service needs. For monitors; no credentials.',
      security: [],
      requestParams: { header: z.object(commonRequestHeaders) },
      responses: {
        200: {
          description: 'The service answers.',
          headers: answerHeaders,
          content: {
            'application/json': {
              schema: health,
              examples: { ok: { summary: 'The service answers', value: EXAMPLE_HEALTH } },
            },
          },
        },
        ...anyTime(BASIC),
      },
    },
  },
  '/api/health/detailed': {
    get: {
      operationId: 'getDetailedHealth',
      tags: ['Health'],
      summary: 'Whether the service and what it needs are up',
      description:
        'The state of each dependency, seen at most 5 seconds ago. `degraded` is a service that does its work without the fast path or the limit. No credentials.',
      security: [],
      requestParams: { header: z.object(commonRequestHeaders) },
      responses: {
        200: {
          description: 'The database is up.',
          headers: answerHeaders,
          content: {
            'application/json': {
              schema: detailedHealth,
              examples: {
                ok: {
                  summary: 'All is up',
                  value: { ...EXAMPLE_HEALTH, dependencies: EXAMPLE_DEPENDENCIES },
                },
                degraded: {
                  summary: 'The idempotency cache is down',
                  value: {
                    ...EXAMPLE_HEALTH,
                    status: 'degraded',
                    dependencies: {
                      ...EXAMPLE_DEPENDENCIES,
                      idempotency_cache: { status: 'down', latency_ms: 2000 },
                    },
                  },
                },
              },
            },
          },
        },
        ...anyTime(DETAILED),
        503: {
          description: 'The database is down. The error envelope stands beside the health fields.',
          headers: z.object(errorHeaders),
          content: {
            'application/json': {
              schema: downHealth,
              examples: {
                service_unavailable: {
                  summary: 'The database is down',
                  value: {
                    ...EXAMPLE_HEALTH,
                    status: 'down',
                    dependencies: {
                      ...EXAMPLE_DEPENDENCIES,
                      database: { status: 'down', latency_ms: 2000 },
                    },
                    ...errorExample(
                      { code: 'service_unavailable', message: 'The database is down.' },
                      DETAILED,
                    ),
                  },
                },
              },
            },
          },
        },
      },
    },
  },
} satisfies ZodOpenApiPathsObject;
