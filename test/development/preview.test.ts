/** The preview as `npm run dev` serves it. test/development/api-page.test.ts proves that nothing else does. */

import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import worker from '../../src/development/dev-worker.ts';
import { expectStatus, sendUndescribed } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';

const API_KEY = 'a-key-that-no-page-has';

async function textOf(path: string, status = 200): Promise<string> {
  const url = `http://localhost:4000${path}`;
  const response = await sendUndescribed(worker, { ENVIRONMENT: 'development', API_KEY }, url);
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

it.each([
  ['/preview/listings/nowhere?lang=es', 'There is no listing with the slug <code>nowhere</code>'],
  ['/preview/nowhere', 'There is no page <code>/preview/nowhere</code>'],
])('%s is a page that says so, and leads on', async (path, text) => {
  const html = await textOf(path, 404);
  expect(html).toContain(text);
  expect(html).toMatch(/<\/h1>(<p>)?<a href="\/(preview\?lang=es)?">/);
});

it('texts of a listing and of the address are escaped', async () => {
  const text = '"><script>alert(1)</script>';
  const house = sourceOf({ slug: 'house', status: 'hidden', title: { en: text } });
  await storeListings(env.DB, [house]);
  const query = `?find=${encodeURIComponent(text)}`;
  for (const path of [`/preview${query}`, `/preview/listings/house${query}`]) {
    expect(await textOf(path)).toContain('&quot;&gt;&lt;script&gt;');
    expect(await textOf(path)).not.toContain('<script>');
  }
});
