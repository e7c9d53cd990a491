/** The Worker that `npm run dev` serves, in the test's own process. */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import worker from '../../src/development/dev-worker.ts';
import type { Changes } from './http.ts';

/** Asks for a path, with changed bindings. */
export async function askDevelopment(
  path: string,
  changes: Changes,
  init: { method?: string } = {},
) {
  const ctx = createExecutionContext();
  const request = new Request<unknown, IncomingRequestCfProperties>(
    `https://api.example.com${path}`,
    { redirect: 'manual', ...init },
  );
  const response = await worker.fetch(request, { ...env, ...changes }, ctx);
  await waitOnExecutionContext(ctx);
  return response;
}
