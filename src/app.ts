/**
 * The service: its middleware in order, then its capabilities. The order is the policy. Comments
 * such as `Feed read, 3` number the steps of the walks in docs/explain/architecture.md.
 */

import { Hono } from 'hono';
import { findOwnLimit } from './auth/api-key.ts';
import { requireHttps } from './auth/require.ts';
import { type AppEnv, requireValidConfig } from './config.ts';
import { eventRoutes, ingestRoutes } from './events/routes.ts';
import { events } from './events/table.ts';
import { healthRoutes } from './health/routes.ts';
import { resourceMissing } from './http/errors.ts';
import { accessLog } from './http/log.ts';
import {
  rejectOtherMethods,
  renderError,
  renderOtherThrown,
  renderThrown,
} from './http/render-error.ts';
import { cors, responseHeaders } from './http/response-headers.ts';
import { propertyRoutes } from './properties/routes.ts';
import { amenities, importStaging, locations, properties } from './properties/table.ts';
import { callCounter } from './rate-limit/client-window.ts';
import { rateLimit } from './rate-limit/middleware.ts';
import { databaseIdentity, operations } from './storage/table.ts';

const TABLES = [
  databaseIdentity,
  events,
  properties,
  locations,
  amenities,
  importStaging,
  operations,
];

/** Builds the service. `docs` are the routes of the development pages, with their full paths. */
export function createApp({ docs }: { docs?: Hono<AppEnv> } = {}) {
  const app = new Hono<AppEnv>();
  // The rate limit needs the paths of these routes before they are mounted.
  const ingest = new Hono<AppEnv>().route('/api/public/events', ingestRoutes());

  app.onError((error, c) => renderThrown(error, c));
  app.notFound((c) => renderError(resourceMissing('There is nothing at this path.'), c));

  app.use(accessLog());
  app.use(responseHeaders());
  app.use(cors());
  app.use(renderOtherThrown());
  app.use(rateLimit({ ingestPaths: ingest.routes.map(({ path }) => path), findOwnLimit }));
  // Above for what the rate limit throws; here, so that a route's response gets its headers.
  app.use(renderOtherThrown());
  app.use(requireHttps());
  app.use(requireValidConfig());

  app.route('/', ingest);
  app.route('/api/v1/events', eventRoutes());
  app.route('/api/health', healthRoutes({ tables: TABLES, callCounter }));
  app.route('/api/v1/web', propertyRoutes());
  if (docs) app.route('/', docs);
  rejectOtherMethods(app);

  return app;
}
