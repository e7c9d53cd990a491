/** The chapter of the health checks in the OpenAPI document. */

import { ACCESS } from '../../auth/openapi/access.ts';
import { defineChapter, EXAMPLE_TIME, errorExample } from '../../openapi/chapter.ts';
import { getErrorHeaders } from '../../openapi/headers.ts';
import { RELEASE } from '../../release.ts';
import { detailedHealth, downHealth, health } from './health.ts';

const UP = {
  database: { status: 'ok', latency_ms: 12 },
  idempotency_cache: { status: 'ok', latency_ms: 4 },
  rate_limiter: { status: 'ok', latency_ms: 7 },
};
const DEPLOYMENT = { id: '0f3b5d8e-6f4f-4a57-9d0e-0a6f8f1f5a11', tag: '3e21b28c90a4' };
const DOWN = { status: 'down', latency_ms: 2_000 };

function makeExample(status: string, dependencies?: object) {
  return { object: 'health', status, timestamp: EXAMPLE_TIME, version: RELEASE, dependencies };
}

const tag = {
  name: 'Operator',
  description: 'For a monitor: whether the service and its stores are up.',
};

export const healthChapter = defineChapter(tag, {
  'GET /api/health': {
    operationId: 'getHealth',
    summary: 'Whether the service responds',
    description: 'For monitors. No dependency is checked, and no credentials are needed.',
    access: ACCESS.open,
    responses: {
      200: {
        description: 'The service responds.',
        schema: health,
        examples: { ok: { summary: 'The service responds', value: makeExample('ok') } },
      },
    },
  },
  'GET /api/health/detailed': {
    operationId: 'getDetailedHealth',
    summary: 'Whether the service and its dependencies are up',
    description:
      'The state of each dependency, checked at most 5 seconds ago. `degraded` means that the service works without its idempotency cache or its rate limiter. No credentials are needed.',
    access: ACCESS.open,
    responses: {
      200: {
        description: 'The database is up.',
        schema: detailedHealth,
        examples: {
          ok: { summary: 'All is up', value: { ...makeExample('ok', UP), deployment: DEPLOYMENT } },
          degraded: {
            summary: 'The idempotency cache is down',
            value: makeExample('degraded', { ...UP, idempotency_cache: DOWN }),
          },
        },
      },
      503: {
        description: 'The database is down. The body has the health fields and the error envelope.',
        headers: getErrorHeaders(503),
        schema: downHealth,
        examples: {
          service_unavailable: {
            summary: 'The database is down',
            value: {
              ...makeExample('down', { ...UP, database: DOWN }),
              ...errorExample('service_unavailable'),
            },
          },
        },
      },
    },
  },
});
