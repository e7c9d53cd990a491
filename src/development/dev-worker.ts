/**
 * The Worker of `npm run dev`. It serves the API and, if `ENVIRONMENT` is `development`, the pages of
 * routes.tsx. Deployments are built from src/index.ts, which has no pages.
 */

import { createApp } from '../app.ts';
import { readConfig } from '../config.ts';
import { LOCALHOST_URL } from '../http/localhost.ts';
import { waitForLocks } from './local-lock.ts';
import { pageRoutes } from './routes.tsx';

export { RateCounter } from '../rate-limit/counter.ts';

/** Address of the photos of the sample listings. This host has no other use, so only their URLs are rewritten. */
const SAMPLE_PHOTOS = 'https://photos.sample-listings.test/';
const WITH_PHOTOS = /^\/(preview|api\/v1\/web)\b/;

const service = createApp({ showsPaths: true });
const serviceWithPages = createApp({ showsPaths: true, developmentPages: pageRoutes() });
/** Used when the URL cannot be parsed, because the Host header is not a valid authority. */
const NO_URL = { origin: '', pathname: '' };
/** The changed bindings, by the original bindings. `readConfig` needs one object for all requests. */
const localEnvs = new WeakMap<Env, Env>();

export default {
  async fetch(request, env, ctx) {
    const { origin, pathname } = URL.parse(request.url) ?? NO_URL;
    // Otherwise another site could resolve its own name to this computer and read the key.
    const hasPages = readConfig(env).isDevelopment && LOCALHOST_URL.test(request.url);
    if (!hasPages) return service.fetch(request, env, ctx);
    const localEnv = localEnvs.get(env) ?? { ...env, DB: waitForLocks(env.DB) };
    localEnvs.set(env, localEnv);
    const response = await serviceWithPages.fetch(request, localEnv, ctx);
    if (response.body === null || !WITH_PHOTOS.test(pathname)) return response;
    // The same server serves drawings instead of these photos.
    const text = (await response.text()).replaceAll(SAMPLE_PHOTOS, `${origin}/sample-photos/`);
    return new Response(text, response);
  },
} satisfies ExportedHandler<Env>;
