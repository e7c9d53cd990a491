/** The preview as `npm run dev` serves it. test/development/api-page.test.ts proves that nothing else does. */

import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import worker from '../../src/development/dev-worker.ts';
import { expectError, expectStatus, sendUndescribed } from '../support/http.ts';
import { makeListing, storeListings } from '../support/listings.ts';

const API_KEY = 'a-key-that-no-page-has';
const vars = { ENVIRONMENT: 'development', API_KEY };

async function textOf(path: string, status = 200): Promise<string> {
  const url = `http://localhost:4000${path}`;
  const init = { headers: { Accept: 'text/html' } };
  const response = await sendUndescribed(vars, url, init, worker);
  await expectStatus(response, status);
  expect(response.headers.get('Cache-Control')).toBe('no-store');
  expect(response.headers.get('Content-Security-Policy')?.split('; ')).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    'img-src * data:',
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]);
  const text = await response.text();
  expect(text).not.toContain(API_KEY);
  return text;
}

it('an empty catalogue says how it is filled', async () => {
  expect(await textOf('/preview')).toContain('npm run import-listings -- FILE');
});

it('a slug that no listing has is a page that leads to the catalogue', async () => {
  const html = await textOf('/preview/listings/nowhere?lang=es', 404);
  expect(html).toContain(
    'There is no listing with the slug <code>nowhere</code></h1><a href="/preview?lang=es">',
  );
});

it('a slug that no listing has is the error of the API for a client that is not a browser', async () => {
  const url = 'http://localhost:4000/preview/listings/nowhere';
  const response = await sendUndescribed(vars, url, {}, worker);
  await expectError(response, 404, 'resource_missing');
});

it('texts of a listing and of the address are escaped', async () => {
  const text = '"><script>alert(1)</script>';
  const house = makeListing({ slug: 'house', status: 'hidden', title: { en: text } });
  await storeListings(env.DB, [house]);
  const query = `?find=${encodeURIComponent(text)}`;
  for (const path of [`/preview${query}`, `/preview/listings/house${query}`]) {
    const html = await textOf(path);
    // The site's functions and Hono escape in two ways.
    for (const escaped of ['&#34;&#62;&#60;script&#62;', '&quot;&gt;&lt;script&gt;']) {
      expect(html).toContain(escaped);
    }
    expect(html).not.toContain('<script>');
  }
});
