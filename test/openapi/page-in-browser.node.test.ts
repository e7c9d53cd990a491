/** The API page in a real browser: Debian's Chromium, where it is installed. */

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createOpenApiDocument } from '../../src/api-document.ts';
import { axeFindings, hasChromium, type Opened, openSamples } from '../support/node/browser.ts';

const DESK = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };

const LIST = 'GET/api/v1/web/properties';
const INGEST = 'POST/api/public/events/ingest';

const { tags = [], paths = {} } = createOpenApiDocument();
/** The entries of the sidebar. */
const CHAPTERS = ['Introduction', ...tags.map(({ name }) => name), 'All operations'];
const OPERATIONS = Object.values(paths)
  .flatMap((methods) => Object.values(methods))
  .map((operation) => z.object({ summary: z.string() }).parse(operation).summary);

/**
 * What axe finds in the controls of @scalar/api-reference 1.72.1, which no setting and no style
 * changes.
 */
const FINDINGS_IN_SCALAR = [
  // The field with the name of the key's header.
  'aria-input-field-name',
  'aria-required-attr',
  // The buttons that copy a text.
  'button-name',
  // The example responses of two operations that are drawn at the same time.
  'landmark-unique',
];

describe.skipIf(!hasChromium)('the API page in Chromium', () => {
  let opened: Opened;
  let page: Page;
  let origin: string;

  beforeAll(async () => {
    opened = await openSamples();
    page = opened.page;
    origin = opened.service.origin;
    await page.setViewportSize(DESK);
  });
  afterAll(() => opened?.close());

  /** Loads the page at a section, which the page draws when it comes into view. */
  async function visit(section: string, heading: string): Promise<void> {
    // Another hash alone would not load the page.
    await page.goto('about:blank');
    await page.goto(`${origin}/api/docs${section}`);
    await page.getByRole('heading', { name: heading }).waitFor();
  }

  const sectionOf = (operation: string) => page.locator(`section[id$="/${operation}"]`);

  /** Sends the sample of an operation, and returns the status. */
  async function sendSample(operation: string): Promise<number> {
    const open = sectionOf(operation).getByRole('button', { name: /^Test Request/ });
    await open.click();
    const response = page.waitForResponse(origin + operation.slice(operation.indexOf('/')));
    await page.getByRole('button', { name: /^Send Request/ }).click();
    return (await response).status();
  }

  it('lists the operations by their reader, with samples that have the address, the key and no filter, and sends them', async () => {
    await visit('', 'List the public listings');
    const entries = await page.getByRole('complementary').getByRole('link').allInnerTexts();
    const names = entries.map((entry) => entry.split('\n')[0] ?? '');
    expect(names.filter((name) => CHAPTERS.includes(name))).toEqual(CHAPTERS);
    expect(names).toEqual(expect.arrayContaining(OPERATIONS));
    const sample = sectionOf(LIST).locator('pre').first();
    const key = opened.service.vars.get('API_KEY');
    const curl = `curl ${origin}/api/v1/web/properties \\\n  --header 'x-api-key: ${key}'`;
    await expect.poll(() => sample.textContent()).toContain(curl);
    expect(await sendSample(LIST)).toBe(200);
  });

  it('opens at the operation of a deep link, without a line around it, on 202, and sends its sample', async () => {
    await visit(`#tag/bookings/${INGEST}`, 'Record a domain event');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toContain(INGEST);
    const outline = 'getComputedStyle(document.activeElement).outlineStyle';
    expect(await page.evaluate(outline)).toBe('none');
    const opensOn = sectionOf(INGEST).getByRole('tab', { selected: true });
    await expect.poll(() => opensOn.textContent()).toContain('202');
    expect(await sendSample(INGEST)).toBe(202);
  });

  it.each([
    ['light', DESK, '', 'List the public listings'],
    ['dark', PHONE, `#tag/bookings/${INGEST}`, 'Record a domain event'],
    ['light', PHONE, '#tag/all-operations', 'All operations'],
  ] as const)(
    'axe finds nothing of ours in %s (%o) at /api/docs%s, which needs no sideways scroll',
    async (colorScheme, viewport, section, heading) => {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await visit(section, heading);
      const findings = await axeFindings(page);
      expect(findings.filter(({ id }) => !FINDINGS_IN_SCALAR.includes(id))).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
    },
  );

  it('logs no error, and requests the service only', () => {
    expect(opened.complaints).toEqual([]);
    expect([...opened.requested]).toEqual([origin]);
  });
});
