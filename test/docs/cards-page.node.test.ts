/** The page of docs/building-a-site.md in a real browser, served from another origin than the feed. */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimPort } from '../support/node/port.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { codeBlocksOf } from './markdown.ts';

const CHROMIUM = '/usr/bin/chromium';

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
    project = await copyWithStore('samples');
    project.write(
      '.dev.vars',
      `API_KEY=dev_key_of_the_cards_page\nENVIRONMENT=development\nCORS_ORIGINS=${address}\n`,
    );
    feed = (await project.serve(await claimPort())).origin;
    const token = (await project.run('token.ts')).stdout.trim();
    const html = codeBlocksOf('docs/building-a-site.md', 'html')
      .join('')
      .replace('http://localhost:3001', feed);
    site = createServer((request, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(request.url === '/' ? html : '');
    }).listen(sitePort, 'localhost');
    await once(site, 'listening');
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    page = await browser.newPage();
    await page.addInitScript((text) => sessionStorage.setItem('token', text), token);
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
  ])('shows 25 cards in %s, asking for that language alone', async (language, title) => {
    await page.click(`button[lang=${language}]`);
    await page.waitForSelector(`main[lang=${language}]`);
    const headings = await page.locator('h2').allTextContents();
    expect(headings).toHaveLength(25);
    expect(headings).toContain(title);
    expect(asked.at(-1)).toContain(`&locale=${language}&`);
  });

  it('complains of nothing', () => {
    expect(complaints).toEqual([]);
    expect(asked).toHaveLength(4);
  });
});
