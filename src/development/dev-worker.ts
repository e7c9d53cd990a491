/**
 * The Worker that `npm run dev` runs: the service, and where `ENVIRONMENT` is `development` the
 * start page, the API page and the preview. Deployments are built from src/index.ts, which has no
 * page.
 */

import { Hono } from 'hono';
import { createApp } from '../app.ts';
import { type AppEnv, configOf } from '../config.ts';
import { docsRoutes } from './api-page.tsx';
import { previewRoutes } from './preview/routes.tsx';
import { startRoutes } from './start-page.tsx';

export { RateCounter } from '../rate-limit/counter.ts';

const service = createApp();
const pages = new Hono<AppEnv>()
  .route('/', startRoutes())
  .route('/', docsRoutes())
  .route('/', previewRoutes());
const documented = createApp({ docs: pages });

export default {
  fetch: (request, env, ctx) =>
    (configOf(env).isDevelopment ? documented : service).fetch(request, env, ctx),
} satisfies ExportedHandler<Env>;
