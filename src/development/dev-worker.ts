/**
 * The Worker of `npm run dev`. It serves the API. If `ENVIRONMENT` is `development`, it also serves
 * the pages of routes.tsx. Deployments are built from src/index.ts, which has no pages.
 */

import { createApp } from '../app.ts';
import { readConfig } from '../config.ts';
import { LOCALHOST_URL } from '../http/localhost.ts';
import { waitForLocks } from './local-lock.ts';
import { pageRoutes } from './routes.tsx';

export { RateCounter } from '../rate-limit/counter.ts';

/**
 * The URL prefix of the sample listings' photos. No other URL uses this host, so only these photos'
 * URLs are rewritten.
 */
const SAMPLE_PHOTOS = 'https://photos.sample-listings.test/';
const WITH_PHOTOS = /^\/(preview|api\/v1\/web)\b/;

const service = createApp({ showsPaths: true });
const serviceWithPages = createApp({ showsPaths: true, developmentPages: pageRoutes() });
/** The values for a URL that cannot be parsed, because the Host header is invalid. */
const NO_URL = { origin: '', pathname: '' };
/**
 * Maps the original bindings to the changed ones. `readConfig` needs the same object for all
 * requests.
 */
const localEnvs = new WeakMap<Env, Env>();

export default {
  async fetch(request, env, ctx) {
    const { origin, pathname } = URL.parse(request.url) ?? NO_URL;
    // Otherwise another site could point its host name at this computer and read the API key.
    const hasPages = readConfig(env).isDevelopment && LOCALHOST_URL.test(request.url);
    if (!hasPages) return service.fetch(request, env, ctx);
    const localEnv = localEnvs.get(env) ?? { ...env, DB: waitForLocks(env.DB) };
    localEnvs.set(env, localEnv);
    const response = await serviceWithPages.fetch(request, localEnv, ctx);
    if (response.body === null || !WITH_PHOTOS.test(pathname)) return response;
    // This Worker serves drawings instead of these photos.
    const text = (await response.text()).replaceAll(SAMPLE_PHOTOS, `${origin}/sample-photos/`);
    return new Response(text, response);
  },
} satisfies ExportedHandler<Env>;
