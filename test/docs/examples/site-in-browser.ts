/**
 * Tests the example sites' pages in Chromium, and requests to the feed from a page on a different
 * origin.
 */

import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findViolations, hasChromium, openBrowser } from '../../support/node/browser.ts';
import { API_KEY, SITE_KEY, useTestService } from '../../support/node/example-service.ts';
import { buildIfChanged, listListings, readSiteFile } from './built-site.ts';

const service = useTestService();

/** Returns the cards page for `/`, the style sheet, or a page of the built site. */
function readPath(path: string): string {
  if (path === '/') return makeCardsPage();
  return path === '/site.css' ? readFileSync('docs/examples/site.css', 'utf8') : readSiteFile(path);
}

function makeCardsPage(): string {
  const html = readFileSync('docs/examples/cards.html', 'utf8');
  expect(html).toContain('http://localhost:3001');
  return html
    .replace('http://localhost:3001', service().proxyOrigin)
    .replace('KEY_OF_THE_SCRIPT', SITE_KEY);
}

/** Request headers that libraries for monitoring and caching add, and a made-up header. */
const ADDED_HEADERS = {
  baggage: 'sentry-environment=production',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'Cache-Control': 'no-cache',
  'X-Invented': '1',
};

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };

describe.skipIf(!hasChromium)('a site in Chromium', () => {
  let site = '';
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    site = service().siteOrigin;
    service().serveSite(({ url = '' }, response) => {
      response.setHeader('Content-Type', url.endsWith('.css') ? 'text/css' : 'text/html');
      response.end(readPath(url));
    });
    page = await (await openBrowser()).newPage({ viewport: PHONE });
    await page.route(/\.(jpg|webp)$/, (route) => route.fulfill({ body: '' }));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
  });
  afterAll(() => page?.context().browser()?.close());

  it('cards.html filters its listings without a request', async () => {
    await page.goto(site);
    for (const language of ['fr', 'en']) {
      await page.click(`button[lang=${language}]`);
      await page.waitForSelector(`ul[lang=${language}]`);
      expect(await page.locator('h2').count()).toBe(listListings(`status = 'listed'`).length);
      expect(service().requests.at(-1)).toContain(`&locale=${language}`);
    }
    await page.getByText('French Alps').first().waitFor();
    const texts = await page.locator('.card').allTextContents();
    expect(texts).toContainEqual(
      expect.stringContaining('Saint-Gervais-les-Bains, French AlpsFrom €412,000 · share of 1/8'),
    );
    const sent = service().requests.length;
    await page.fill('input[name=bedrooms]', '3');
    const condition = `status = 'listed' AND source ->> '$.bedrooms' >= 3`;
    expect(await page.locator('main a').count()).toBe(listListings(condition).length);
    expect(service().requests.length).toBe(sent);
  });

  it.each(['/', '/fr/index.html', '/en/listings/chalet-grand-meleze.html'])(
    '%s has no accessibility violations in light and dark mode',
    async (path) => {
      await buildIfChanged();
      for (const [colorScheme, viewport] of [
        ['light', DESK],
        ['dark', PHONE],
      ] as const) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        await page.goto(site + path);
        await page.locator('main h2').first().waitFor();
        expect(await findViolations(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
      }
      expect(complaints).toEqual([]);
    },
  );

  // test/http/conventions.test.ts tests the headers for rejected origins and for cookies.
  it('can call the feed with headers that libraries add', async () => {
    complaints.length = 0;
    await page.goto(`${site}/site.css`);
    const headers = { ...ADDED_HEADERS, 'x-api-key': API_KEY };
    const call = [`${service().origin}/api/v1/web/property-cards?limit=1`, { headers }];
    const response = `fetch(...${JSON.stringify(call)})`;
    expect(await page.evaluate(`${response}.then(({ status }) => status)`)).toBe(200);
    expect(complaints).toEqual([]);
  });
});
