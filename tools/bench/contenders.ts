/** The Workers that are measured against each other, with the same listings, each on its own socket. */

import { join } from 'node:path';
import { migrateInMemory } from '../database/migrations.ts';
import { buildBundle } from './bundle.ts';
import { storeListings } from './fill.ts';
import type { Call } from './load.ts';
import { type Runtime, startRuntime } from './runtime.ts';
import { API_KEY, PUBLIC_SITE_URL } from './scenarios.ts';

/** The requests that are under way at once while they are measured. */
export const CONNECTIONS = 16;
const LISTINGS = 2_000;
const BUNDLES = join('dist', 'bench');

export type Contenders = {
  /** The service as it is deployed. */
  hot: Runtime;
  /** The service with both cache levels off. */
  cold: Runtime;
  floor: Runtime;
};

/** Builds them, starts them and fills their databases. */
export async function startContenders(): Promise<Contenders> {
  const service = buildBundle('src/index.ts', join(BUNDLES, 'service'));
  const floor = buildBundle('tools/bench/floor.ts', join(BUNDLES, 'floor'));
  return {
    hot: await start(service, {}),
    cold: await start(service, { FEED_CACHE_SECONDS: '0' }),
    floor: await start(floor, {}),
  };
}

async function start(script: string, vars: Record<string, string>): Promise<Runtime> {
  const runtime = await startRuntime(script, { PUBLIC_SITE_URL, API_KEY, ...vars });
  await migrateInMemory(runtime.database);
  await storeListings(runtime.database, LISTINGS, PUBLIC_SITE_URL);
  return runtime;
}

/** Sends one request and returns the body. Throws unless the answer is a success. */
export async function askOnce(runtime: Runtime, call: Call): Promise<string> {
  const { method, path, headers, body } = call;
  const init = { method, headers, ...(body === undefined ? {} : { body }) };
  const response = await fetch(new URL(path, runtime.url), init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text;
}
