/**
 * The Worker that `npm run dev` runs: the service, and where `ENVIRONMENT` is `development` the documentation page and
 * the preview. Deployments are built from src/index.ts, which has no page.
 */

import { Hono } from 'hono';
import { createApp } from '../app.ts';
import { type AppEnv, configOf } from '../config.ts';
import { docsRoutes } from './api-page.ts';
import { previewRoutes } from './preview/routes.tsx';

export { RateCounter } from '../rate-limit/counter.ts';

const service = createApp();
const pages = new Hono<AppEnv>().route('/', docsRoutes()).route('/', previewRoutes());
const documented = createApp({ docs: pages });

export default {
  fetch: (request, env, ctx) =>
    (configOf(env).isDevelopment ? documented : service).fetch(request, env, ctx),
} satisfies ExportedHandler<Env>;
