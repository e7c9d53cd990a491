/** The preview as `npm run dev` serves it. test/openapi/page.test.ts proves that nothing else does. */

import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import worker from '../../src/development/dev-worker.ts';
import { expectStatus, sendUndescribed } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';

const API_KEY = 'a-key-that-no-page-has';

async function textOf(path: string, status = 200): Promise<string> {
  const response = await sendUndescribed(worker, { ENVIRONMENT: 'development', API_KEY }, path);
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

it('a page loads its own script and style and photos only, and may not be stored; an empty catalogue says how it is filled', async () => {
  expect(await textOf('/preview')).toContain('npm run import-listings -- FILE');
});

it('a page that does not exist is a page', async () => {
  for (const path of ['/preview/listings/nowhere', '/preview/nowhere']) {
    expect(await textOf(path, 404)).toContain('<h1>There is no such page</h1>');
  }
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
