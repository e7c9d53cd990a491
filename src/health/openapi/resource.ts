/** The answers of the health checks, for the OpenAPI document and the tests: the Worker takes only the types. */

import * as z from 'zod';
import { errorFields, patternText } from '../../openapi/error-resource.ts';

const common = {
  object: z.literal('health'),
  timestamp: z.iso
    .datetime({ precision: 3 })
    .max(24)
    .meta({ description: 'When this answer was made.' }),
  version: patternText(/^\d+\.\d+\.\d+$/, 30).meta({
    description: 'Version of the service.',
    examples: ['1.0.0'],
  }),
};

/** The version that Cloudflare runs, in the detailed health. */
const deployment = z
  .strictObject({
    id: z
      .string()
      .max(100)
      .meta({
        description: "Cloudflare's id of the version.",
        examples: ['85618485-0318-4883-ac9d-45220dd7cc37'],
      }),
    tag: z
      .string()
      .max(100)
      .meta({
        description:
          'The commit from which the version was built; empty if the version has no tag.',
        examples: ['8ee1a43'],
      }),
  })
  .meta({ id: 'Deployment', description: 'The version of the Worker that answers.' });

/** Answers `/api/health`. */
export const health = z
  .strictObject({ ...common, status: z.literal('ok') })
  .meta({ id: 'Health', description: 'The service answers.' });

const dependency = z
  .strictObject({
    status: z.enum(['ok', 'down']),
    latency_ms: z.int32().min(0).meta({ description: 'How long the check took, in milliseconds.' }),
  })
  .meta({ id: 'Dependency', description: 'State of a dependency.' });

const dependencies = z
  .strictObject({
    database: dependency,
    idempotency_cache: dependency,
    rate_limiter: dependency,
  })
  .meta({ id: 'Dependencies', description: 'The dependencies of the service.' });

/** Answers `/api/health/detailed` while the database is up. */
export const detailedHealth = z
  .strictObject({
    ...common,
    status: z.enum(['ok', 'degraded']).meta({
      description: '`degraded`: the database is up, another dependency is down.',
    }),
    dependencies,
    deployment: deployment.optional(),
  })
  .meta({ id: 'DetailedHealth', description: 'The service and its dependencies.' });

/** Answers `/api/health/detailed` while the database is down: the error envelope stands beside the fields. */
export const downHealth = z
  .strictObject({
    ...common,
    status: z.literal('down'),
    dependencies,
    deployment: deployment.optional(),
    ...errorFields,
  })
  .meta({ id: 'DownHealth', description: 'The service while its database is down.' });
