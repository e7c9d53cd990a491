/** The service: its middleware, then its capabilities. The order of the middleware is the policy. */

import { Hono } from 'hono';
import type { AppEnv } from './app-env.ts';
import { eventRoutes, ingestRoutes } from './events/routes.ts';
import { events } from './events/table.ts';
import { healthRoutes } from './health/routes.ts';
import { accessLog } from './http/log.ts';
import { renderThrown } from './http/render-error.ts';
import { requireHttpsAndConfig } from './http/require-https-and-config.ts';
import { responseHeaders } from './http/response-headers.ts';
import { rejectUnmatched } from './http/unmatched-requests.ts';
import { propertyRoutes } from './properties/routes.ts';
import { amenities, importStaging, locations, properties } from './properties/table.ts';
import { callCounter } from './rate-limit/isolate-counter.ts';
import { rateLimit } from './rate-limit/middleware.ts';
import { databaseIdentity, importedRows, operations } from './storage/table.ts';

const TABLES = [
  databaseIdentity,
  events,
  properties,
  locations,
  amenities,
  importStaging,
  operations,
  importedRows,
];

type AppOptions = {
  /** Routes with their complete paths. */
  developmentPages?: Hono<AppEnv>;
  /** Whether the log shows paths with their queries, which may contain personal data. */
  showsPaths?: boolean;
  /** Whether the environment `development` is malformed, as `requireHttpsAndConfig` describes. */
  isDeployed?: boolean;
};

export function createApp({
  developmentPages,
  showsPaths = false,
  isDeployed = false,
}: AppOptions = {}) {
  const app = new Hono<AppEnv>();
  // The rate limit needs the paths of these routes before they are mounted.
  const ingest = new Hono<AppEnv>().route('/api/public/events', ingestRoutes());

  app.onError((error, c) => renderThrown(error, c));

  app.use(accessLog({ showsPaths }));
  app.use(responseHeaders());
  app.use(rateLimit({ ingestPaths: ingest.routes.map(({ path }) => path) }));
  app.use(requireHttpsAndConfig({ isDeployed }));

  app.route('/', ingest);
  app.route('/api/v1/events', eventRoutes());
  app.route('/api/health', healthRoutes({ tables: TABLES, callCounter }));
  app.route('/api/v1/web', propertyRoutes());
  const publicRoutes = app.routes.filter(({ method }) => method !== 'ALL');
  if (developmentPages) app.route('/', developmentPages);
  rejectUnmatched(app, publicRoutes);

  return app;
}
