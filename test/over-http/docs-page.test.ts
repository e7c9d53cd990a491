/** The documentation page in a real browser: Debian's Chromium, where it is installed. */

import { existsSync } from 'node:fs';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DevService, startDevService } from '../support/node/dev-service.ts';

const CHROMIUM = '/usr/bin/chromium';
const OPERATIONS = [
  'ingestEvent',
  'listEvents',
  'getEvent',
  'getHealth',
  'getDetailedHealth',
  'listProperties',
  'getProperty',
  'listPropertyChanges',
  'listLocations',
];

let service: DevService;

beforeAll(async () => {
  service = await startDevService();
});

afterAll(() => service.stop());

describe('the page as it is served', () => {
  it('is where / leads', async () => {
    const response = await fetch(`${service.origin}/`);
    expect(response.url).toBe(`${service.origin}/api/docs`);
    expect(response.status).toBe(200);
  });

  it('has a policy of its own, under which no inline script runs', async () => {
    const { headers } = await fetch(`${service.origin}/api/docs`);
    const policy = headers.get('Content-Security-Policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain('unsafe-eval');
  });

  it('reads a document without a key', async () => {
    const document = await (await fetch(`${service.origin}/api/docs/openapi.json`)).text();
    expect(document).toContain('listProperties');
    expect(document).not.toContain(service.apiKey);
  });
});

if (!existsSync(CHROMIUM)) {
  console.warn(`There is no ${CHROMIUM}: the tests of the page in a browser are skipped.`);
}

describe.skipIf(!existsSync(CHROMIUM))('the page in Chromium', () => {
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];
  const requested = new Set<string>();

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    page = await browser.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') {
        complaints.push(`${message.type()}: ${message.text()}`);
      }
    });
    page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`));
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) requested.add(new URL(request.url()).origin);
    });
    await page.goto(`${service.origin}/api/docs`);
    await page.waitForSelector('.opblock');
  });

  afterAll(() => browser?.close());

  it('lists every operation', async () => {
    const ids = await page
      .locator('.opblock')
      .evaluateAll((blocks) => blocks.map((block) => block.id));
    expect(ids.map((id) => id.split('-').at(-1)).sort()).toEqual([...OPERATIONS].sort());
  });

  it.each([
    ['listProperties', 200],
    ['getProperty', 200],
    ['ingestEvent', 202],
    ['listEvents', 200],
    ['getDetailedHealth', 200],
  ])('tries %s unchanged, with the development key: %i', async (id, status) => {
    const block = page.locator(`.opblock[id$="-${id}"]`);
    await block.locator('.opblock-summary-control').first().click();
    await block.getByRole('button', { name: 'Execute', exact: true }).click();
    const answered = block.locator('.live-responses-table .response .response-col_status').first();
    await answered.waitFor();
    expect(await answered.textContent()).toMatch(new RegExp(`^${status}`));
  });

  it('logs no error and asks no other origin', () => {
    expect(complaints).toEqual([]);
    expect([...requested]).toEqual([service.origin]);
  });
});
