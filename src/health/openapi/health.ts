/** Schemas of the responses of the health checks. The Worker imports only their types. */

import * as z from 'zod';
import { errorFields, patternText } from '../../openapi/error-resource.ts';
import { RELEASE } from '../../release.ts';
import { withMetadata } from '../../schema/metadata.ts';

const common = {
  object: z.literal('health'),
  timestamp: withMetadata(z.iso.datetime({ precision: 3 }).max(24), 'Time of this response.'),
  version: withMetadata(patternText(/^\d+\.\d+\.\d+$/, 30), 'Version of the service.', RELEASE),
};

const deployment = z
  .strictObject({
    id: withMetadata(
      z.string().max(100),
      "Cloudflare's id of the version.",
      '85618485-0318-4883-ac9d-45220dd7cc37',
    ),
    tag: withMetadata(
      z.string().max(100),
      'The commit from which the version was built; empty if the version has no tag.',
      '8ee1a43',
    ),
  })
  .meta({ id: 'Deployment', description: 'The version of the Worker that responds.' });

const dependency = z
  .strictObject({
    status: z
      .enum(['ok', 'down'])
      .meta({ id: 'DependencyStatus', description: 'Whether the dependency is up.' }),
    latency_ms: withMetadata(z.int32().min(0), 'Duration of the check, in milliseconds.'),
  })
  .meta({ id: 'Dependency', description: 'State of a dependency.' });

const checked = {
  dependencies: z
    .strictObject({
      database: dependency,
      idempotency_cache: dependency,
      rate_limiter: dependency,
    })
    .meta({ id: 'Dependencies', description: 'The dependencies of the service.' }),
  deployment: deployment.optional(),
};

export const health = z
  .strictObject({ ...common, status: z.literal('ok') })
  .meta({ id: 'Health', description: 'The service responds.' });

export const detailedHealth = z
  .strictObject({
    ...common,
    status: z.enum(['ok', 'degraded']).meta({
      id: 'HealthStatus',
      description: '`degraded` means that the database is up and another dependency is down.',
    }),
    ...checked,
  })
  .meta({ id: 'DetailedHealth', description: 'The service and its dependencies.' });

/** The health while the database is down, with the fields of the error envelope. */
export const downHealth = z
  .strictObject({ ...common, status: z.literal('down'), ...checked, ...errorFields })
  .meta({ id: 'DownHealth', description: 'The service while its database is down.' });
