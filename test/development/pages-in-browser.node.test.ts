/** Tests the pages of `npm run dev` in Chromium: the start page, the preview and the API page. */

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import sampleListings from '../../tools/samples/listings.json' with { type: 'json' };
import { findViolations, hasChromium, openSamples, type Samples } from '../support/node/browser.ts';

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };
const WIDE_DESK = { width: 1440, height: 900 };
const PHOTOS = /\/sample-photos\//;
const COMPLETE = 'casa-ginebrera';

const LOCATIONS = 'GET/api/v1/web/locations';
const INGEST = 'POST/api/public/events/ingest';

/** Violations in the controls of @scalar/api-reference 1.76.0 that no setting or style can fix. */
const VIOLATIONS_IN_SCALAR = [
  // The input field for the name of the API key header.
  'aria-input-field-name',
  'aria-required-attr',
  // The buttons that copy text.
  'button-name',
  // The example responses of two operations, which are visible at the same time.
  'landmark-unique',
];

describe.skipIf(!hasChromium)('in Chromium', () => {
  let samples: Samples;

  beforeAll(async () => {
    samples = await openSamples();
  });
  afterAll(() => samples?.close());

  describe('the development site', () => {
    let page: Page;
    let complaints: string[];
    let requested: Set<string>;

    beforeAll(async () => {
      ({ page, complaints, requested } = await samples.openPage());
      await page.setViewportSize(DESK);
    });

    async function visit(path: string): Promise<void> {
      await page.goto(`${samples.service.origin}/preview${path}`);
    }

    const cards = () => page.locator('li:has(> .card)');
    const findCard = (slug: string) => page.locator(`#listing-${slug}`);
    const readCount = () => page.locator('#count').textContent();
    /** Returns the text that a style sheet inserts after an element. */
    const readNote = (selector: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}'), '::after').content`);

    it('copies commands from the start page and from a document', async () => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const methods = new Set<string>();
      page.on('request', (request) => {
        if (request.resourceType() === 'fetch') methods.add(request.method());
      });
      await page.goto(samples.service.origin, { waitUntil: 'networkidle' });
      // With GET, the unread body would keep a connection busy.
      expect([...methods]).toEqual(['HEAD']);
      await page.getByRole('button', { name: 'Copy' }).first().click();
      const key = samples.service.vars.get('API_KEY');
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
        `curl -s \\\n  -H 'x-api-key: ${key}' \\\n  '${samples.service.origin}/api/v1/web/properties?limit=2'`,
      );
      await page.getByRole('main').getByRole('link', { name: 'Documents' }).click();
      await page.getByRole('navigation').getByRole('link', { name: 'Quickstart' }).click();
      await page.getByRole('heading', { name: 'Quickstart' }).waitFor();
      const [first = ''] = await page.locator('pre').allTextContents();
      await page.getByRole('button', { name: 'Copy' }).first().click();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(first);
    });

    it('shows 24 cards at a time in the order of the feed', async () => {
      const sortedListings = sampleListings.properties.toSorted(
        (a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1),
      );
      for (const pageNumber of [1, 3]) {
        await visit(`?page=${pageNumber}`);
        const expected = sortedListings.slice((pageNumber - 1) * 24, pageNumber * 24);
        const slugs = await cards().evaluateAll((elements) => elements.map(({ id }) => id));
        expect(slugs).toEqual(expected.map(({ slug }) => `listing-${slug}`));
        const badges = expected.filter(({ status }) => status !== 'listed').length;
        expect(
          await cards()
            .getByText(/^(Listed|Coming soon|Sold out|Hidden)$/)
            .count(),
        ).toBe(badges);
      }
    });

    it('filters listings by status, type, location and text of the address', async () => {
      await visit('');
      await page.getByLabel('Status').selectOption('Hidden (5)');
      await page.getByRole('button', { name: 'Show' }).click();
      expect(await readCount()).toBe('5 listings');
      await page.getByRole('link', { name: 'Show all listings' }).click();
      await page.getByLabel('Type').selectOption('Ski');
      await page.getByLabel('Location').selectOption('Valais');
      await page.getByRole('button', { name: 'Show' }).click();
      const valaisCount = await cards().count();
      expect(await cards().allInnerTexts()).toEqual(
        Array.from({ length: valaisCount }, () => expect.stringMatching(/Valais[\s\S]+Ski/)),
      );
      await page.reload();
      expect(await readCount()).toBe(`${valaisCount} listings`);
      await visit('?lang=es');
      await page.getByLabel('Find').fill('DEIA');
      await page.getByLabel('Find').press('Enter');
      expect(await readCount()).toBe('1 listing');
      expect(await cards().allInnerTexts()).toEqual([
        expect.stringMatching(/Playa · 4\sdormitorios[\s\S]*289\.000\s€ · participación de 1\/8/),
      ]);
      expect(await findCard(COMPLETE).locator('h3').textContent()).toContain('Casa de piedra');
      await visit('?find=nowhere-at-all');
      await page.getByText('Remove a filter').waitFor();
    });

    it('counts missing content and links to the listings without it', async () => {
      await visit('');
      await page.getByText('What is missing').click();
      const counts = await page.locator('details a').allInnerTexts();
      expect(counts).toHaveLength(13);
      const some = ['No photo 7', 'No title in Spanish 6', 'No alt text in French 5', 'No price 8'];
      expect(counts).toEqual(expect.arrayContaining(some));
      await page.getByRole('link', { name: 'Français', exact: true }).click();
      const french = page.getByRole('link', { name: 'No title in French 9' });
      await page.getByText('What is missing').click();
      await french.click();
      expect(await readCount()).toBe('9 listings: No title in French');
      expect(await cards().getByText('No title in French', { exact: true }).count()).toBe(9);
      expect(await readNote('#listing-casa-nopal h3')).toBe('" in English"');
      expect(await readNote('#listing-casa-bruma h3')).toBe('" internal name"');
      await french.click();
      expect(await readCount()).toBe('71 listings');
      await visit('?missing=photo');
      expect((await page.locator('.card').first().boundingBox())?.height).toBeGreaterThan(300);
    });

    it('shows the address of a photo that cannot be loaded', async () => {
      await page.route(PHOTOS, (route) => route.abort());
      await visit('?find=ginebrera');
      await page.getByText('Photo not loaded 1').waitFor();
      const alt = 'The stone house among cypresses, Casa Ginebrera';
      const address = `${samples.service.origin}/sample-photos/${COMPLETE}/01-stone-house.webp`;
      expect(await readNote('img')).toBe(`"Photo not loaded: ${alt} ${address}"`);
      await page.unroute(PHOTOS);
      await visit('?find=ginebrera');
      await page.waitForLoadState('networkidle');
      expect(await page.getByText('What is missing').isVisible()).toBe(false);
    });

    it('shows a listing like the example site', async () => {
      await visit(`/listings/${COMPLETE}`);
      expect(await page.title()).toBe('Stone house above the cove at Deià – Preview');
      const content = await page.getByRole('main').textContent();
      for (const text of [
        'From €289,000 · share of 1/8 · 6\u00a0weeks a year',
        'Beach · 4\u00a0bedrooms · 6\u00a0beds',
        'The lane ends at a gate',
        'Open sea view',
        'Wi-Fi',
        'Camí de sa Ginebrera 7, Deià, Mallorca',
      ]) {
        expect(content).toContain(text);
      }
      const drawings = await page
        .locator('.photos img')
        .evaluateAll((images) => images.map((image) => image.getAttribute('src') ?? ''));
      expect(new Set(drawings.map((source) => source.replace(/^.*-/, ''))).size).toBeGreaterThan(4);
      for (const source of drawings) {
        expect((await fetch(source)).headers.get('Content-Type')).toBe('image/webp');
      }
      expect(await page.getByRole('list', { name: 'Missing' }).count()).toBe(0);
      await page.getByRole('link', { name: 'Its JSON in the feed' }).click();
      expect(JSON.parse((await page.locator('pre').textContent()) ?? '').slug).toBe(COMPLETE);
      await page.goBack();
      await page.getByRole('link', { name: 'Open large The stone house' }).click();
      expect(page.url()).toContain('/01-stone-house.webp');
    });

    it('marks each missing part of a listing', async () => {
      await visit('/listings/no-details-yet?lang=es');
      expect(await page.locator('h1').textContent()).toBe('No details yet');
      const marks = ['No title in French', 'No photo', 'No description in English', 'No price'];
      for (const name of marks) expect(await page.getByText(name).count()).toBe(1);
      expect(await page.locator('section, .text, img').count()).toBe(0);
      const [hidden] = sampleListings.properties.filter(({ status }) => status === 'hidden');
      await visit(`/listings/${hidden?.slug}`);
      expect(await page.getByText('Hidden', { exact: true }).count()).toBe(1);
      expect(await page.getByRole('link', { name: /^Its / }).count()).toBe(0);
    });

    it.each(['/', '/docs/operate/runbook.md', '/preview', `/preview/listings/${COMPLETE}?lang=fr`])(
      'has no accessibility violations at %s in light and dark mode',
      async (path) => {
        for (const [colorScheme, viewport] of [
          ['light', PHONE],
          ['dark', DESK],
        ] as const) {
          await page.setViewportSize(viewport);
          await page.emulateMedia({ colorScheme });
          await page.goto(samples.service.origin + path);
          expect(await findViolations(page)).toEqual([]);
          // A wide font reveals text that is cut off. The page's security policy rejects inline styles.
          await page.evaluate(`{
          const sheet = new CSSStyleSheet();
          sheet.replaceSync('* { font-family: monospace !important; letter-spacing: 0.1em !important; }');
          document.adoptedStyleSheets = [sheet];
        }`);
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
          const countCut =
            '[...document.querySelectorAll("pre")].filter((pre) => pre.scrollWidth > pre.clientWidth).length';
          expect(await page.evaluate(countCut)).toBe(0);
        }
      },
    );

    it('can be used with the keyboard to open a listing and return', async () => {
      await page.setViewportSize(DESK);
      await visit('?type=beach');
      await page.keyboard.press('Tab');
      const focused = page.locator(':focus');
      expect(await focused.textContent()).toBe('Skip to the content');
      expect(await focused.isVisible()).toBe(true);
      await findCard(COMPLETE).getByRole('link').press('Enter');
      await page.locator('h1', { hasText: 'Stone house' }).waitFor();
      await page.getByRole('link', { name: 'Catalogue' }).press('Enter');
      await page.waitForURL(/type=beach/);
      expect(await focused.getAttribute('id')).toBe(`listing-${COMPLETE}`);
    });

    it('logs no errors and calls only the service', () => {
      expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
      expect(requested).toEqual(new Set([samples.service.origin]));
    });
  });

  describe('the API page', () => {
    let complaints: string[];
    let requested: Set<string>;
    let page: Page;
    let origin: string;

    // The page is loaded only once, because loading its three megabytes of script takes seconds.
    beforeAll(async () => {
      ({ page, complaints, requested } = await samples.openPage());
      origin = samples.service.origin;
      await page.setViewportSize(WIDE_DESK);
      await page.goto(`${origin}/api/docs#tag/bookings/${INGEST}`);
      await page.getByRole('heading', { name: 'Record a domain event' }).waitFor();
    });

    const findSection = (operation: string) => page.locator(`section[id$="/${operation}"]`);

    it('opens the operation that a deep link names and selects its 202 response', async () => {
      await expect.poll(() => page.evaluate('document.activeElement.id')).toContain(INGEST);
      const outline = 'getComputedStyle(document.activeElement).outlineStyle';
      expect(await page.evaluate(outline)).toBe('none');
      const selectedTab = findSection(INGEST).getByRole('tab', { selected: true });
      await expect.poll(() => selectedTab.textContent()).toContain('Status: 202');
    });

    it('sends a sample request with the running origin and API key', async () => {
      const sample = findSection(LOCATIONS).locator('pre').first();
      const key = samples.service.vars.get('API_KEY');
      expect(await sample.textContent()).toContain(
        `curl ${origin}/api/v1/web/locations \\\n  --header 'x-api-key: ${key}'`,
      );
      await findSection(INGEST)
        .getByRole('button', { name: /^Test Request/ })
        .click();
      const response = page.waitForResponse(`${origin}/api/public/events/ingest`);
      await page.getByRole('button', { name: /^Send Request/ }).click();
      expect((await response).status()).toBe(202);
      // Closing the dialog earlier would make the page report a cancelled request.
      await page.getByRole('dialog').getByText('202').first().waitFor();
      await page.keyboard.press('Escape');
    });

    it.each([
      ['light', PHONE],
      ['dark', WIDE_DESK],
    ] as const)(
      'has no accessibility violations in %s mode (%o)',
      async (colorScheme, viewport) => {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        await page.locator(`body.${colorScheme}-mode`).waitFor();
        // Checks one operation. The others look alike, and checking their long samples takes seconds.
        const violations = await findViolations(page, `{ exclude: ['section[id*="/GET/"]'] }`);
        expect(violations.filter(({ id }) => !VIOLATIONS_IN_SCALAR.includes(id))).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
      },
    );

    it('logs no errors and calls only the service', () => {
      expect(complaints).toEqual([]);
      expect([...requested]).toEqual([origin]);
    });
  });
});
