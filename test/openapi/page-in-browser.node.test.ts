/** The documentation page in a real browser: Debian's Chromium, where it is installed. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createOpenApiDocument } from '../../src/openapi/document.ts';
import { axeFindings, hasChromium, openBrowser } from '../support/node/browser.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import type { ServedCopy } from '../support/node/served-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

/** Every operation of the document, in its order. */
const OPERATIONS = Object.values(createOpenApiDocument().paths ?? {})
  .flatMap((methods) => Object.values(methods))
  .map((operation) => z.object({ operationId: z.string() }).parse(operation).operationId);

/** A read and a write, which are tried in the page, with the status of their response. */
const TRIED: readonly [id: string, status: number][] = [
  ['listProperties', 200],
  ['ingestEvent', 202],
];

let project: ProjectCopy;
let service: ServedCopy;

beforeAll(async () => {
  project = await copyWithStore('samples');
  service = await project.serve();
});

afterAll(() => project.remove());

if (!hasChromium) console.warn('There is no Chromium: the tests of the page are skipped.');

describe.skipIf(!hasChromium)('the page in Chromium', () => {
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];
  const requested = new Set<string>();

  beforeAll(async () => {
    browser = await openBrowser();
    page = await browser.newPage();
    // The time limit of the hook holds: a busy machine takes long to open every operation at once.
    page.setDefaultTimeout(110_000);
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

  it('groups the operations by their reader', async () => {
    expect(await page.locator('.opblock-tag > a').allTextContents()).toEqual([
      'Site',
      'Bookings',
      'Operator',
    ]);
  });

  describe('with every operation open', () => {
    beforeAll(async () => {
      // The page resolves all opened operations in one go.
      await page.locator('.opblock-summary-control').evaluateAll((controls) => {
        for (const control of controls) control.click();
      });
      for (const id of OPERATIONS) {
        await page.locator(`.opblock[id$="-${id}"] .responses-table`).first().waitFor();
      }
    });

    it('shows the headers of every answer once', async () => {
      const introduction = await page.locator('.info').textContent();
      const rows = await page.locator('.responses-table .headers tbody tr').allTextContents();
      expect(rows.some((row) => row.startsWith('Retry-After'))).toBe(true);
      for (const name of ['X-Request-ID', 'X-RateLimit-Remaining', 'X-Content-Type-Options']) {
        expect(introduction).toContain(name);
        expect(rows.filter((row) => row.toLowerCase().startsWith(name.toLowerCase()))).toEqual([]);
      }
    });

    it('has no critical finding of axe', async () => {
      expect(await axeFindings(page, 'critical')).toEqual([]);
    });

    it.each([
      ['a phone', 390, 7_500],
      ['a desk', 1280, 5_500],
    ])('is short on %s, and fits it in a font of any width', async (_, width, tall) => {
      await page.setViewportSize({ width, height: 844 });
      const list = await page.locator('.opblock[id$="-listProperties"]').boundingBox();
      expect(list?.height).toBeLessThan(tall);
      // Wider than any font that a machine may have in place of ours.
      await page.evaluate(`(() => {
        const style = new CSSStyleSheet();
        style.replaceSync('* { letter-spacing: 0.35em !important; }');
        document.adoptedStyleSheets = [style];
      })()`);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      await page.evaluate('document.adoptedStyleSheets = []');
    });

    it.each(TRIED)('tries %s unchanged, with the development key: %i', async (id, status) => {
      const block = page.locator(`.opblock[id$="-${id}"]`);
      await block.getByRole('button', { name: 'Execute', exact: true }).click();
      const answered = block
        .locator('.live-responses-table .response .response-col_status')
        .first();
      await answered.waitFor();
      expect(await answered.textContent()).toMatch(new RegExp(`^${status}`));
    });
  });

  it('logs no error and asks no other origin', () => {
    expect(complaints).toEqual([]);
    expect([...requested]).toEqual([service.origin]);
  });
});
