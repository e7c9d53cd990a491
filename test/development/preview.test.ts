/**
 * The preview as `npm run dev` serves it. test/openapi/page.test.ts proves that nothing else serves
 * it.
 */

import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, it } from 'vitest';
import worker from '../../src/development/dev-worker.ts';
import { type Changes, expectError, expectStatus, sendWith } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';

const ENVIRONMENT = 'development';

const ask = (path: string, changes: Changes) => sendWith(changes, path, {}, worker);

async function textOf(path: string): Promise<string> {
  const response = await ask(path, { ENVIRONMENT });
  await expectStatus(response, 200);
  return response.text();
}

afterEach(async () => {
  await env.DB.exec('DELETE FROM properties');
});

describe('the preview', () => {
  it('a page runs no script, loads its own style and photos only, and may not be stored', async () => {
    const { headers } = await ask('/preview', { ENVIRONMENT });
    expect(headers.get('Content-Type')).toMatch(/^text\/html/);
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(headers.get('Content-Security-Policy')?.split('; ')).toEqual([
      "default-src 'none'",
      "style-src 'self'",
      'img-src http: https: data:',
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ]);
  });

  it('a page has no key', async () => {
    const API_KEY = 'a-key-that-no-page-has';
    const response = await ask('/preview', { ENVIRONMENT, API_KEY });
    expect(await response.text()).not.toContain(API_KEY);
  });

  it('texts of a listing and of the address are escaped', async () => {
    const text = '"><script>alert(1)</script>';
    const escaped = '&quot;&gt;&lt;script&gt;';
    await storeListings(env.DB, [
      sourceOf({ slug: 'house', status: 'hidden', title: { en: text } }),
    ]);
    const query = `?find=${encodeURIComponent(text)}`;
    for (const path of [`/preview${query}`, `/preview/listings/house${query}`]) {
      expect(await textOf(path)).toContain(escaped);
      expect(await textOf(path)).not.toContain('<script');
    }
  });

  it('an empty catalogue says how it is filled', async () => {
    expect(await textOf('/preview')).toContain('npm run import-listings -- FILE');
  });

  it('a page has a hundred cards at most, and leads to the next one', async () => {
    const homes = Array.from({ length: 101 }, (_, index) =>
      sourceOf({ slug: `home-${index}`, display_order: index }),
    );
    await storeListings(env.DB, homes);
    const [first, second] = await Promise.all(['', '?page=2'].map((at) => textOf(`/preview${at}`)));
    expect(first).toContain('101 listings');
    expect(first).toContain('href="/preview?lang=en&amp;page=2"');
    expect(first).not.toContain('id="listing-home-100"');
    expect(second?.match(/id="listing-[^"]+"/g)).toEqual(['id="listing-home-100"']);
  });

  it('an unknown listing is a 404', async () => {
    const response = await ask('/preview/listings/nowhere', { ENVIRONMENT });
    await expectError(response, 404, 'resource_missing');
  });
});
