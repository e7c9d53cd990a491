/** Entries that version 1.0.0 has left in the edge cache are never read. */

import { env } from 'cloudflare:workers';
import { expect, it, vi } from 'vitest';
import { sendWith } from '../support/http.ts';
import former from './1.0.0/fixtures.json';

const ORIGIN = 'https://former-edge.example.com';

it('a page of the release before is not served, even while its check is recent', async () => {
  const identity = env.DB.prepare('SELECT catalogue_version FROM database_identity');
  const version = await identity.first<string>('catalogue_version');
  const check = { version, at: Date.now() };
  for (const { url, headers } of former.edge) {
    const { pathname } = new URL(url);
    const entry = new Response('{"data":"of 1.0.0"}', { headers: headers as [string, string][] });
    entry.headers.delete('Content-Length');
    entry.headers.set('X-Checks', JSON.stringify([check, check]));
    await caches.default.put(`${ORIGIN}${pathname}`, entry);
    expect(await caches.default.match(`${ORIGIN}${pathname}`)).toBeDefined();
  }
  const path = '/api/v1/web/properties?limit=10';
  const response = await sendWith({ FEED_CACHE_SECONDS: '60' }, `${ORIGIN}${path}`);
  expect(response.headers.get('Cache-Status')).toBe('edge; fwd=miss, isolate; fwd=miss');
  expect(await response.json()).toMatchObject({ object: 'list', data: expect.any(Array) });
});

it('the feed asks the edge cache only for entries of its own form', async () => {
  const match = vi.spyOn(caches.default, 'match');
  const put = vi.spyOn(caches.default, 'put');
  const path = '/api/v1/web/properties?limit=11';
  await sendWith({ FEED_CACHE_SECONDS: '60' }, `${ORIGIN}${path}`);
  const addresses = [...match.mock.calls, ...put.mock.calls].map(([address]) => String(address));
  // A response and the list of checks, read and written.
  expect(new Set(addresses).size).toBe(2);
  for (const address of addresses) expect(address).toMatch(`${ORIGIN}/api/.feed/2/`);
});
