/** Malformed and random paths, queries and headers. */

import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { CANARY, expectHarmless, hostileText, runs } from '../support/hostile.ts';
import { get, send } from '../support/http.ts';

const FEED = '/api/v1/web/properties';
const EVENTS = '/api/v1/events';
/**
 * Every route that is read with a credential, with a name that no resource has in place of its
 * path's parameter.
 */
const READABLE = [
  ...new Set(
    createApp()
      .routes.filter(({ method, path }) => method === 'GET' && !path.startsWith('/api/health'))
      .map(({ path }) => path.replace(/:\w+/, 'some-name')),
  ),
];

vi.setConfig({ testTimeout: 120_000 });

const encoded = (text: string) => encodeURIComponent(text.toWellFormed());

it('a path of random text is not found or not allowed, under any method', async () => {
  const methods = 'GET HEAD POST PUT PATCH DELETE OPTIONS PROPFIND QUERY'.split(' ');
  const words = 'api v1 v2 web public events properties docs .env .git admin .. .'.split(' ');
  const badly = ['%00', '%', '%zz', '%c0%ae%c0%ae', '%2e%2e%2f', 'a%2Fb', '%252e', '%0d%0aX: y'];
  const segment = fc.oneof(fc.constantFrom(...words, ''), hostileText.map(encoded));
  const segments = fc.array(segment, { maxLength: 6 }).map((path) => `/${path.join('/')}`);
  const name = fc.oneof(hostileText.map(encoded), fc.constantFrom(...badly, 'a'.repeat(8_000)));
  const item = fc.tuple(fc.constantFrom(FEED, EVENTS), name).map((path) => path.join('/'));
  const anyPath = fc.oneof(segments, item);
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('GET', ...methods), anyPath, async (method, path) => {
      const response = await send(path, { method });
      if (method === 'HEAD') expect([200, 404]).toContain(response.status);
      else await expectHarmless(response, [200, 400, 404, 405, 415]);
    }),
    runs(400),
  );
});

it("a query with random parameters gets a response, or is rejected by the parameter's name", async () => {
  const names =
    'type status location_id location limit cursor after fresh wait id locale order after_id page aggregate_id created_after __proto__ limit[] limit[$gt]';
  const values = `listed|beach|en,fr|asc|25|0|+1| 1|1e1|0x10|١|5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42|2027-01-01T00:00:00Z|0000-01-01T00:00:00Z|9999-12-31T23:59:59+23:59|${'9'.repeat(400)}`;
  const name = fc.oneof(fc.constantFrom(...names.split(' ')), hostileText);
  const value = fc.oneof(hostileText, fc.constantFrom(...values.split('|')));
  const query = fc.array(fc.tuple(name, value), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...READABLE),
      query,
      fc.boolean(),
      async (readable, pairs, isEncoded) => {
        const texts = [...pairs, ['utm_source', CANARY]].map((pair) =>
          pair.map((each) => (isEncoded ? encoded(each) : each)).join('='),
        );
        await expectHarmless(await get(`${readable}?${texts.join('&')}`), [200, 400, 404]);
      },
    ),
    runs(500),
  );
});

it('a header of random text is no 5xx', async () => {
  const names =
    'X-Request-ID x-api-key Authorization If-None-Match Origin Content-Type Cookie CF-Worker Range Accept X-HTTP-Method-Override';
  const value = hostileText.map((text) => text.replaceAll(/[^\x20-\x7e]/g, ''));
  const path = fc.constantFrom(...READABLE);
  await fc.assert(
    fc.asyncProperty(path, fc.constantFrom(...names.split(' ')), value, async (to, name, text) => {
      const response = await send(to, { headers: { [name]: text } });
      await expectHarmless(response, [200, 304, 401, 404]);
    }),
    runs(420),
  );
});
