/** The headers that are structured fields (RFC 9651), as a parser reads them that this project has not written. */

import { parseList } from 'structured-headers';
import { expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { get, sendWith } from '../support/http.ts';

/** Reads a header: each item with its parameters. */
function itemsOf(headers: Headers, name: string) {
  return parseList(headers.get(name) ?? '').map(([item, parameters]) => ({
    item: String(item),
    ...Object.fromEntries(parameters),
  }));
}

it('RateLimit and RateLimit-Policy are lists of named limits', async () => {
  const { headers } = await get('/api/health');
  expect(itemsOf(headers, 'RateLimit-Policy')).toEqual([{ item: 'default', q: 100, w: 60 }]);
  const [limit, ...others] = itemsOf(headers, 'RateLimit');
  expect(others).toEqual([]);
  expect(limit).toEqual({ item: 'default', r: expect.any(Number), t: expect.any(Number) });
});

it('Cache-Status is a list of caches, each with a hit or a reason to go on', async () => {
  const app = createApp();
  const read = async () => {
    const vars = { FEED_CACHE_SECONDS: '60' };
    const { headers } = await sendWith(vars, '/api/v1/web/properties?limit=13', {}, app);
    return itemsOf(headers, 'Cache-Status');
  };
  const first = await read();
  expect(first.map(({ item }) => item)).toEqual(['edge', 'isolate']);
  for (const cache of first) expect(Object.keys(cache)).toEqual(['item', 'fwd']);
  expect(await read()).toEqual([{ item: 'isolate', hit: true, ttl: expect.any(Number) }]);
});
