/** The service's responses while `restore` runs. Until it ends, the tables have temporary names. */

import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { createApp } from '../src/app.ts';
import { bookingCreated, ingestInit } from './support/events.ts';
import { expectStatus, sendWith } from './support/http.ts';
import { makeListing, storeListings } from './support/listings.ts';

const INGEST = '/api/public/events/ingest';
const FEED = '/api/v1/web/properties?limit=3';

/** Renames every table whose name begins with `from`, so that the name begins with `to` instead. */
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

describe('a restore', () => {
  async function beginRestore() {
    await rename('', 'restoring_5f0c31d2a4b97e60_');
    return () => rename('restoring_5f0c31d2a4b97e60_', '');
  }

  it('rejects events with an error that allows a retry', async () => {
    const endRestore = await beginRestore();
    const withKey = ingestInit(bookingCreated(), 'sent again');
    for (const init of [withKey, ingestInit(bookingCreated())]) {
      const response = await sendWith({}, INGEST, init);
      await expectStatus(response, 500);
      expect(response.headers.get('X-Should-Retry')).toBe('true');
      expect(Number(response.headers.get('Retry-After'))).toBeGreaterThan(0);
    }
    await endRestore();
    await expectStatus(await sendWith({}, INGEST, withKey), 202);
  });

  it('does not affect cached pages', async () => {
    const app = createApp();
    const send = () => sendWith({ FEED_CACHE_SECONDS: '60' }, FEED, {}, app);
    await storeListings(env.DB, [makeListing({ slug: 'casa' })]);
    await expectStatus(await send(), 200);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 });
    const endRestore = await beginRestore();
    const page = await send();
    await endRestore();
    await expectStatus(page, 200);
    expect(Number(page.headers.get('Age'))).toBeGreaterThanOrEqual(61);
  });
});
