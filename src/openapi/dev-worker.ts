/**
 * The Worker that `npm run dev` runs: the service, and the documentation page where `ENVIRONMENT` is
 * `development`. Deployments are built from src/index.ts, which has no page.
 */

import swaggerUiStyle from 'swagger-ui-dist/swagger-ui.css';
import swaggerUi from 'swagger-ui-dist/swagger-ui-bundle.js';
import { createApp } from '../app.ts';
import { configOf } from '../config.ts';
import { docsRoutes } from './routes.ts';

export { RateCounter } from '../rate-limit/counter.ts';

const service = createApp();
const documented = createApp({ docs: docsRoutes({ swaggerUi, swaggerUiStyle }) });

export default {
  fetch: (request, env, ctx) =>
    (configOf(env).isDevelopment ? documented : service).fetch(request, env, ctx),
} satisfies ExportedHandler<Env>;
