/** The page of docs/guides/site-recipes.md in a real browser, served from another origin than the feed. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { claimPort } from '../support/node/port.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { codeBlocksOf } from './markdown.ts';

const CHROMIUM = '/usr/bin/chromium';

const LISTED = z
  .object({
    properties: z.array(
      z.object({
        slug: z.string(),
        status: z.string(),
        price_from: z.number().nullable().default(null),
        bedrooms: z.number().nullable().default(null),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync('tools/samples/listings.json', 'utf8')))
  .properties.filter(({ status }) => status === 'listed');

if (!existsSync(CHROMIUM)) {
  console.warn(`There is no ${CHROMIUM}: the test of the page of cards in a browser is skipped.`);
}

describe.skipIf(!existsSync(CHROMIUM))('the page of cards in Chromium', () => {
  let project: ProjectCopy;
  let site: Server;
  let browser: Browser;
  let page: Page;
  let feed = '';
  const asked: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    const sitePort = await claimPort();
    const address = `http://localhost:${sitePort}`;
    const key = 'epf_marketing-site_of-the-cards-page';
    const sha256 = createHash('sha256').update(key).digest('hex');
    const named = { name: 'marketing-site', scopes: ['feed:read'], sha256 };
    project = await copyWithStore('samples');
    project.write(
      '.dev.vars',
      `API_KEY=dev_key_of_the_cards_page\nENVIRONMENT=development\nCORS_ORIGINS=${address}\nAPI_KEYS='${JSON.stringify([named])}'\n`,
    );
    const service = await project.serve();
    feed = service.origin;
    const html = codeBlocksOf('docs/guides/site-recipes.md', 'html')
      .join('')
      .replace('http://localhost:3001', feed)
      .replace('KEY_OF_THE_SCRIPT', key);
    site = createServer((request, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(request.url === '/' ? html : '');
    }).listen(sitePort, 'localhost');
    await once(site, 'listening');
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    page = await browser.newPage();
    await page.route('https://images.example.com/**', (route) => route.fulfill({ body: '' }));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('request', (request) => {
      if (request.url().startsWith(feed) && request.method() === 'GET') asked.push(request.url());
    });
    await page.goto(address);
  });

  afterAll(async () => {
    await browser?.close();
    site?.close();
    await project?.remove();
  });

  it.each([
    ['en', 'Stone house above the cove at Deià'],
    ['es', 'Casa de piedra sobre la cala de Deià'],
    ['fr', 'Maison de pierre au-dessus de la crique de Deià'],
  ])('shows every listed home in %s, asking for that language alone', async (language, title) => {
    await page.click(`button[lang=${language}]`);
    await page.waitForSelector(`main[lang=${language}]`);
    const headings = await page.locator('h2').allTextContents();
    expect(headings).toHaveLength(LISTED.length);
    expect(headings).toContain(title);
    expect(asked.at(-1)).toContain(`&locale=${language}`);
  });

  it.each([
    ['', '', LISTED],
    ['100000', '', LISTED.filter(({ price_from: price }) => price !== null && price <= 100_000)],
    ['', '4', LISTED.filter(({ bedrooms }) => bedrooms !== null && bedrooms >= 4)],
    [
      '150000',
      '3',
      LISTED.filter(
        ({ price_from: price, bedrooms }) =>
          price !== null && price <= 150_000 && bedrooms !== null && bedrooms >= 3,
      ),
    ],
  ])(
    'shows the homes up to %j with bedrooms from %j, without a request',
    async (price, bedrooms, fitting) => {
      const before = asked.length;
      await page.fill('input[name=price]', price);
      await page.fill('input[name=bedrooms]', bedrooms);
      const links = await page
        .locator('main a')
        .evaluateAll((all) => all.map((link) => link.getAttribute('href')?.split('/').at(-1)));
      expect(links.sort()).toEqual(fitting.map(({ slug }) => slug).sort());
      expect(await page.locator('output').textContent()).toBe(
        `${fitting.length} / ${LISTED.length}`,
      );
      expect(asked).toHaveLength(before);
    },
  );

  it('logs no error', () => {
    expect(complaints).toEqual([]);
    expect(asked).toHaveLength(4);
  });
});
