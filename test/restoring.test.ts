/** What callers get while `restore` runs: the database has no table that the Worker knows. */

import { env } from 'cloudflare:workers';
import { expect, it, vi } from 'vitest';
import { createApp } from '../src/app.ts';
import { bookingCreated, ingestInit } from './support/events.ts';
import { expectStatus, sendWith } from './support/http.ts';
import { makeListing, storeListings } from './support/listings.ts';

const INGEST = '/api/public/events/ingest';
const CACHED_FEED = '/api/v1/web/properties?limit=3';

/** Renames the tables whose names begin with a prefix. */
async function rename(from: string, to: string) {
  const names = env.DB.prepare(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE ? || '%'
       AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\'`,
  );
  const { results } = await names.bind(from).all<{ name: string }>();
  const renamed = results.map(({ name }) =>
    env.DB.prepare(`ALTER TABLE "${name}" RENAME TO "${to}${name.slice(from.length)}"`),
  );
  await env.DB.batch(renamed);
}

it('while a restore runs, events are rejected until they are sent again, and a cached page is served', async () => {
  const app = createApp();
  const send = (path: string, init: RequestInit = {}) =>
    sendWith({ FEED_CACHE_SECONDS: '60' }, path, init, app);
  await storeListings(env.DB, [makeListing({ slug: 'casa' })]);
  await expectStatus(await send(CACHED_FEED), 200);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
  await rename('', 'restoring_5f0c31d2a4b97e60_');

  const keyed = ingestInit(bookingCreated(), 'sent again');
  for (const init of [keyed, ingestInit(bookingCreated())]) {
    const rejected = await send(INGEST, init);
    await expectStatus(rejected, 500);
    expect(rejected.headers.get('X-Should-Retry')).toBe('true');
    expect(Number(rejected.headers.get('Retry-After'))).toBeGreaterThan(0);
  }
  const page = await send(CACHED_FEED);
  await expectStatus(page, 200);
  expect(Number(page.headers.get('Age'))).toBeGreaterThanOrEqual(61);

  await rename('restoring_5f0c31d2a4b97e60_', '');
  await expectStatus(await send(INGEST, keyed), 202);
});
