/**
 * The Worker that `npm run dev` runs: the service, and where `ENVIRONMENT` is `development` the
 * pages of routes.tsx. Deployments are built from src/index.ts, which has no page.
 */

import { createApp } from '../app.ts';
import { readConfig } from '../config.ts';
import { LOCALHOST_URL } from '../http/localhost.ts';
import { waitForLocks } from './local-lock.ts';
import { pageRoutes } from './routes.tsx';

export { RateCounter } from '../rate-limit/counter.ts';

/** Where the sample listings have their photos. Nothing else uses the host, and no other address is rewritten. */
const SAMPLE_PHOTOS = 'https://photos.sample-listings.test/';
const WITH_PHOTOS = /^\/(preview|api\/v1\/web)\b/;

const service = createApp({ showsPaths: true });
const serviceWithPages = createApp({ showsPaths: true, developmentPages: pageRoutes() });
/** A URL cannot be parsed when the Host header is no valid authority. */
const NO_URL = { origin: '', pathname: '' };
/** One object for all requests with the same bindings, because the parsed vars are kept by it. */
const localEnvs = new WeakMap<Env, Env>();

export default {
  async fetch(request, env, ctx) {
    const { origin, pathname } = URL.parse(request.url) ?? NO_URL;
    // A page of another site could lead its own name to this machine, and read the key.
    const hasPages = readConfig(env).isDevelopment && LOCALHOST_URL.test(request.url);
    if (!hasPages) return service.fetch(request, env, ctx);
    const localEnv = localEnvs.get(env) ?? { ...env, DB: waitForLocks(env.DB) };
    localEnvs.set(env, localEnv);
    const response = await serviceWithPages.fetch(request, localEnv, ctx);
    if (response.body === null || !WITH_PHOTOS.test(pathname)) return response;
    // Drawings take the place of these photos, on whichever port this runs.
    const text = (await response.text()).replaceAll(SAMPLE_PHOTOS, `${origin}/sample-photos/`);
    return new Response(text, response);
  },
} satisfies ExportedHandler<Env>;
