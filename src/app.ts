/**
 * Creates the Hono app: first its middleware, then the routes of each capability.
 * docs/explain/architecture.md ("The picture") explains the order of the middleware.
 */

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

/** The tables that the health check expects in the database. */
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
  /** Routes of the pages for developers, which are mounted at `/`; absent in a deployed Worker. */
  developmentPages?: Hono<AppEnv>;
  /** Whether to log paths and queries, which may contain personal data. */
  showsPaths?: boolean;
  /** Whether this is a deployed Worker, in which `ENVIRONMENT` must not be `development`. */
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
  // Hints name only these routes. Middleware has the method ALL.
  const publicRoutes = app.routes.filter(({ method }) => method !== 'ALL');
  if (developmentPages) app.route('/', developmentPages);
  rejectUnmatched(app, publicRoutes);

  return app;
}
