/** What the health endpoints answer (specification: GET /api/health and GET /api/health/detailed). */

import * as z from 'zod';

const common = {
  object: z.literal('health'),
  timestamp: z.iso.datetime().meta({ description: 'When this answer was made.' }),
  version: z.string().meta({ description: 'Version of the service.', examples: ['1.0.0'] }),
};

export const health = z
  .strictObject({ ...common, status: z.literal('ok') })
  .meta({ id: 'Health', description: 'The service answers.' });

const dependency = z
  .strictObject({
    status: z.enum(['ok', 'down']),
    latency_ms: z.int().min(0).meta({ description: 'How long the check took, in milliseconds.' }),
  })
  .meta({ id: 'Dependency', description: 'State of something that the service needs.' });

export const dependencies = z.strictObject({
  database: dependency,
  idempotency_cache: dependency,
  rate_limiter: dependency,
});

export const detailedHealth = z
  .strictObject({
    ...common,
    status: z.enum(['ok', 'degraded', 'down']).meta({
      description: 'degraded: the database is up, something else is down; down: the database is.',
    }),
    dependencies,
  })
  .meta({ id: 'DetailedHealth', description: 'The service and what it needs.' });

export type Dependency = z.infer<typeof dependency>;
export type Dependencies = z.infer<typeof dependencies>;
