/**
 * Tests the preview of `npm run dev`. test/development/api-page.test.ts checks that no other
 * environment serves it.
 */

import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import worker from '../../src/development/dev-worker.ts';
import { expectError, expectStatus, sendUndescribed } from '../support/http.ts';
import { makeListing, storeListings } from '../support/listings.ts';

const API_KEY = 'a-key-that-no-page-has';
const vars = { ENVIRONMENT: 'development', API_KEY };

async function getPage(path: string, status = 200): Promise<string> {
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

describe('the preview', () => {
  it('shows the import command if the catalogue is empty', async () => {
    expect(await getPage('/preview')).toContain('npm run import-listings -- FILE');
  });

  it('links to the catalogue from the page for an unknown slug', async () => {
    const html = await getPage('/preview/listings/nowhere?lang=es', 404);
    expect(html).toContain(
      'There is no listing with the slug <code>nowhere</code></h1><a href="/preview?lang=es">',
    );
  });

  it('returns an API error for an unknown slug unless the client is a browser', async () => {
    const url = 'http://localhost:4000/preview/listings/nowhere';
    const response = await sendUndescribed(vars, url, {}, worker);
    await expectError(response, 404, 'resource_missing');
  });

  it('escapes text from a listing and from the URL', async () => {
    const text = '"><script>alert(1)</script>';
    const house = makeListing({ slug: 'house', status: 'hidden', title: { en: text } });
    await storeListings(env.DB, [house]);
    const query = `?find=${encodeURIComponent(text)}`;
    for (const path of [`/preview${query}`, `/preview/listings/house${query}`]) {
      const html = await getPage(path);
      // The functions of the example site and Hono escape differently.
      for (const escaped of ['&#34;&#62;&#60;script&#62;', '&quot;&gt;&lt;script&gt;']) {
        expect(html).toContain(escaped);
      }
      expect(html).not.toContain('<script>');
    }
  });
});
