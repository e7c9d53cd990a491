/** The API page in a real browser: Debian's Chromium, where it is installed. */

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFindings, hasChromium, type Opened, openSamples } from '../support/node/browser.ts';

const DESK = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

const LOCATIONS = 'GET/api/v1/web/locations';
const INGEST = 'POST/api/public/events/ingest';

/**
 * What axe finds in the controls of @scalar/api-reference 1.76.0, which no setting and no style
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

  /** The page is loaded once, at a deep link: its three megabytes of script take seconds. */
  beforeAll(async () => {
    opened = await openSamples();
    page = opened.page;
    origin = opened.service.origin;
    await page.setViewportSize(DESK);
    await page.goto(`${origin}/api/docs#tag/bookings/${INGEST}`);
    await page.getByRole('heading', { name: 'Record a domain event' }).waitFor();
  });
  afterAll(() => opened?.close());

  const sectionOf = (operation: string) => page.locator(`section[id$="/${operation}"]`);

  it('opens at the operation of a deep link, without a line around it, on 202', async () => {
    await expect.poll(() => page.evaluate('document.activeElement.id')).toContain(INGEST);
    const outline = 'getComputedStyle(document.activeElement).outlineStyle';
    expect(await page.evaluate(outline)).toBe('none');
    const opensOn = sectionOf(INGEST).getByRole('tab', { selected: true });
    await expect.poll(() => opensOn.textContent()).toContain('Status: 202');
  });

  it('has samples with the address, the key and no filter, and sends them', async () => {
    const sample = sectionOf(LOCATIONS).locator('pre').first();
    const key = opened.service.vars.get('API_KEY');
    expect(await sample.textContent()).toContain(
      `curl ${origin}/api/v1/web/locations \\\n  --header 'x-api-key: ${key}'`,
    );
    await sectionOf(INGEST)
      .getByRole('button', { name: /^Test Request/ })
      .click();
    const response = page.waitForResponse(`${origin}/api/public/events/ingest`);
    await page.getByRole('button', { name: /^Send Request/ }).click();
    expect((await response).status()).toBe(202);
    // Closed earlier, the page would report that the request has been cancelled.
    await page.getByRole('dialog').getByText('202').first().waitFor();
    await page.keyboard.press('Escape');
  });

  it.each([
    ['light', PHONE],
    ['dark', DESK],
  ] as const)(
    'axe finds nothing of ours in %s (%o), which needs no sideways scroll',
    async (colorScheme, viewport) => {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await page.locator(`body.${colorScheme}-mode`).waitFor();
      // Without other operations: their long samples take seconds, and are drawn as this one's.
      const findings = await axeFindings(page, `{ exclude: ['section[id*="/GET/"]'] }`);
      expect(findings.filter(({ id }) => !FINDINGS_IN_SCALAR.includes(id))).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
    },
  );

  it('logs no error, and requests the service only', () => {
    expect(opened.complaints).toEqual([]);
    expect([...opened.requested]).toEqual([origin]);
  });
});
