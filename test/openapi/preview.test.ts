/** The preview is there in development, and nowhere else. */

import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { property } from '../../src/properties/resource.ts';
import { askDevelopment as ask } from '../support/development.ts';
import { expectError, expectStatus, get } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';

const ENVIRONMENT = 'development';
const SCRIPT = '/preview/preview.browser.js';
const STYLE = '/preview/preview.css';

const hiddenProperty = property.extend({ status: z.literal('hidden') });
const hiddenList = z.object({
  object: z.literal('list'),
  data: z.array(hiddenProperty),
  has_more: z.boolean(),
  next_cursor: z.string().nullable(),
});

/** Reads the page's script: its first file, and each file that one of them imports. */
async function scripts(): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  const visit = async (path: string) => {
    if (texts.has(path)) return;
    const response = await ask(path, { ENVIRONMENT });
    await expectStatus(response, 200);
    expect(response.headers.get('Content-Type')).toBe('text/javascript; charset=utf-8');
    const text = await response.text();
    texts.set(path, text);
    for (const [, name = ''] of text.matchAll(/^(?:import|\}) .*?from '\.\/([^']+)'/gm)) {
      await visit(`/preview/${name}`);
    }
  };
  await visit(SCRIPT);
  return texts;
}

async function hiddenPage(query = ''): Promise<z.infer<typeof hiddenList>> {
  const response = await ask(`/preview/hidden.json${query}`, { ENVIRONMENT });
  await expectStatus(response, 200);
  expect(response.headers.get('Cache-Control')).toBe('no-store');
  return hiddenList.parse(await response.json());
}

describe('in development', () => {
  it.each(['/preview', '/preview?lang=fr&missing=title.fr', '/preview/listings/casa-marea'])(
    '%s is the page, which holds a key and which nobody may keep',
    async (path) => {
      const API_KEY = 'one"><script>, two';
      const response = await ask(path, { ENVIRONMENT, API_KEY });
      await expectStatus(response, 200);
      expect(response.headers.get('Content-Type')).toMatch(/^text\/html/);
      expect(response.headers.get('Cache-Control')).toBe('no-store');
      const html = await response.text();
      expect(html).toContain('data-api-key="one&quot;&gt;&lt;script&gt;"');
      expect(html).not.toContain('two');
    },
  );

  it('the page runs no inline script or style, and reads from its own origin only', async () => {
    const { headers } = await ask('/preview', { ENVIRONMENT });
    const policy = headers.get('Content-Security-Policy')?.split('; ') ?? [];
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
      ]),
    );
  });

  it('every file of the page is served, and holds no key', async () => {
    const API_KEY = 'a-key-that-stands-nowhere';
    const style = await ask(STYLE, { ENVIRONMENT, API_KEY });
    await expectStatus(style, 200);
    expect(style.headers.get('Content-Type')).toBe('text/css; charset=utf-8');
    const texts = await scripts();
    expect(texts.size).toBeGreaterThan(5);
    for (const text of [await style.text(), ...texts.values()]) expect(text).not.toContain(API_KEY);
  });

  it('hidden listings are rendered as if they were listed, in the order of the feed', async () => {
    const shown = sourceOf({ slug: 'shown' });
    const second = sourceOf({ slug: 'second', status: 'hidden', display_order: 7 });
    const first = sourceOf({
      slug: 'first',
      status: 'hidden',
      display_order: -3,
      title: { fr: 'La maison' },
      description: { en: { type: 'doc', content: [{ type: 'paragraph' }] } },
    });
    await storeListings(env.DB, [shown, second, first]);
    const { data, has_more, next_cursor } = await hiddenPage();
    expect(data.map(({ slug }) => slug)).toEqual(['first', 'second']);
    expect(data[0]).toMatchObject({ title: { fr: 'La maison' }, description: {}, gallery: [] });
    expect({ has_more, next_cursor }).toEqual({ has_more: false, next_cursor: null });

    expect((await hiddenPage('?slug=first')).data).toEqual([data[0]]);
    for (const slug of ['shown', 'nowhere']) {
      expect((await hiddenPage(`?slug=${slug}`)).data).toEqual([]);
    }
    await env.DB.exec('DELETE FROM properties');
  });

  it('hidden listings come a hundred at a time', async () => {
    const listings = Array.from({ length: 201 }, (_, index) =>
      sourceOf({ status: 'hidden', display_order: Math.floor(index / 3) }),
    );
    await storeListings(env.DB, listings);
    const slugs: string[] = [];
    const sizes: number[] = [];
    let query: string | undefined = '';
    while (query !== undefined) {
      const page: z.infer<typeof hiddenList> = await hiddenPage(query);
      expect(page.has_more).toBe(page.next_cursor !== null);
      sizes.push(page.data.length);
      slugs.push(...page.data.map(({ slug }) => slug));
      query = page.next_cursor === null ? undefined : `?cursor=${page.next_cursor}`;
    }
    expect(sizes).toEqual([100, 100, 1]);
    expect(new Set(slugs)).toEqual(new Set(listings.map(({ slug }) => slug)));
    await env.DB.exec('DELETE FROM properties');
  });
});

describe('elsewhere', () => {
  it.each(['production', 'staging', '', 'Development'])(
    'with ENVIRONMENT=%j there is no page, no file of it and no hidden listing',
    async (environment) => {
      const files = [...(await scripts()).keys(), STYLE, '/preview/hidden.json'];
      for (const path of ['/preview', '/preview/listings/casa-marea', ...files]) {
        await expectStatus(await ask(path, { ENVIRONMENT }), 200);
        await expectError(await ask(path, { ENVIRONMENT: environment }), 404, 'resource_missing');
      }
    },
  );

  it('the deployed entry has none of these paths', async () => {
    for (const path of ['/preview', '/preview/hidden.json', STYLE, SCRIPT]) {
      await expectError(await get(path), 404, 'resource_missing');
    }
  });
});
