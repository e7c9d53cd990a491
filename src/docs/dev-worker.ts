/**
 * The Worker as `npm run dev` runs it: the service, and where `ENVIRONMENT` is `development` the
 * documentation page besides. Deployments are built from src/index.ts, which has none of this.
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
