/**
 * The start page and the preview of the sample listings in a real browser: Debian's Chromium, where
 * it is installed.
 */

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import samples from '../../tools/samples/listings.json' with { type: 'json' };
import { axeFindings, hasChromium, type Opened, openSamples } from '../support/node/browser.ts';

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };
const PHOTOS = '**/sample-photos/**';
const COMPLETE = 'casa-ginebrera';

describe.skipIf(!hasChromium)('in Chromium', () => {
  let opened: Opened;
  let page: Page;

  beforeAll(async () => {
    opened = await openSamples();
    page = opened.page;
    await page.setViewportSize(DESK);
  });
  afterAll(() => opened?.close());

  async function visit(path: string): Promise<void> {
    await page.goto(`${opened.service.origin}/preview${path}`);
  }

  const cards = () => page.locator('li:has(> .card)');
  const cardOf = (slug: string) => page.locator(`#listing-${slug}`);
  const countText = () => page.locator('#count').textContent();
  /** What a style sheet adds after an element. */
  const noteOf = (selector: string) =>
    page.evaluate(`getComputedStyle(document.querySelector('${selector}'), '::after').content`);

  it('the start page copies a first request, and leads to the documents', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const methods = new Set<string>();
    page.on('request', (request) => {
      if (request.resourceType() === 'fetch') methods.add(request.method());
    });
    await page.goto(opened.service.origin, { waitUntil: 'networkidle' });
    // A body that is not read would keep a connection busy.
    expect([...methods]).toEqual(['HEAD']);
    await page.getByRole('button', { name: 'Copy' }).first().click();
    const key = opened.service.vars.get('API_KEY');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
      `curl -s \\\n  -H 'x-api-key: ${key}' \\\n  '${opened.service.origin}/api/v1/web/properties?limit=2'`,
    );
    await page.getByRole('main').getByRole('link', { name: 'Documents' }).click();
    await page.getByRole('navigation').getByRole('link', { name: 'Quickstart' }).click();
    await page.getByRole('heading', { name: 'Quickstart' }).waitFor();
    const [first = ''] = await page.locator('pre').allTextContents();
    await page.getByRole('button', { name: 'Copy' }).first().click();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(first);
  });

  it('the catalogue has 24 cards at a time, in the order of the feed, and no badge for "listed"', async () => {
    const inOrder = samples.properties.toSorted(
      (a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1),
    );
    for (const pageNumber of [1, 3]) {
      await visit(`?page=${pageNumber}`);
      const shown = inOrder.slice((pageNumber - 1) * 24, pageNumber * 24);
      const slugs = await cards().evaluateAll((found) => found.map(({ id }) => id));
      expect(slugs).toEqual(shown.map(({ slug }) => `listing-${slug}`));
      const badges = shown.filter(({ status }) => status !== 'listed').length;
      expect(
        await cards()
          .getByText(/^(Listed|Coming soon|Sold out|Hidden)$/)
          .count(),
      ).toBe(badges);
    }
  });

  it('filters by status, type, location and words, and keeps the filters in its address', async () => {
    await visit('');
    await page.getByLabel('Status').selectOption('Hidden (5)');
    await page.getByRole('button', { name: 'Show' }).click();
    expect(await countText()).toBe('5 listings');
    await page.getByRole('link', { name: 'Show all listings' }).click();
    await page.getByLabel('Type').selectOption('Ski');
    await page.getByLabel('Location').selectOption('Valais');
    await page.getByRole('button', { name: 'Show' }).click();
    const inValais = await cards().count();
    expect(await cards().allInnerTexts()).toEqual(
      Array.from({ length: inValais }, () => expect.stringMatching(/Valais[\s\S]+Ski/)),
    );
    await page.reload();
    expect(await countText()).toBe(`${inValais} listings`);
    await visit('?lang=es');
    await page.getByLabel('Find').fill('DEIA');
    await page.getByLabel('Find').press('Enter');
    expect(await countText()).toBe('1 listing');
    expect(await cards().allInnerTexts()).toEqual([
      expect.stringMatching(/Playa · 4\sdormitorios[\s\S]*289\.000\s€ · participación de 1\/8/),
    ]);
    expect(await cardOf(COMPLETE).locator('h3').textContent()).toContain('Casa de piedra');
    await visit('?find=nowhere-at-all');
    await page.getByText('Remove a filter').waitFor();
  });

  it('counts what is missing, leads to these listings and back, and marks another language', async () => {
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
    expect(await countText()).toBe('9 listings: No title in French');
    expect(await cards().getByText('No title in French', { exact: true }).count()).toBe(9);
    expect(await noteOf('#listing-casa-nopal h3')).toBe('" in English"');
    expect(await noteOf('#listing-casa-bruma h3')).toBe('" internal name"');
    await french.click();
    expect(await countText()).toBe('71 listings');
    await visit('?missing=photo');
    expect((await page.locator('.card').first().boundingBox())?.height).toBeGreaterThan(300);
  });

  it('a photo that is not loaded is a grey box with its address, and counts as missing', async () => {
    await page.route(PHOTOS, (route) => route.abort());
    await visit('?find=ginebrera');
    await page.getByText('Photo not loaded 1').waitFor();
    const alt = 'The stone house among cypresses, Casa Ginebrera';
    const address = `${opened.service.origin}/sample-photos/${COMPLETE}/01-stone-house.webp`;
    expect(await noteOf('img')).toBe(`"Photo not loaded: ${alt} ${address}"`);
    await page.unroute(PHOTOS);
    await visit('?find=ginebrera');
    await page.waitForLoadState('networkidle');
    expect(await page.getByText('What is missing').isVisible()).toBe(false);
  });

  it('a listing is shown as the example site shows it, with its photos in full size and its JSON', async () => {
    await visit(`/listings/${COMPLETE}`);
    expect(await page.title()).toBe('Stone house above the cove at Deià – Preview');
    const shown = await page.getByRole('main').textContent();
    for (const text of [
      'From €289,000 · share of 1/8 · 6\u00a0weeks a year',
      'Beach · 4\u00a0bedrooms · 6\u00a0beds',
      'The lane ends at a gate',
      'Open sea view',
      'Wi-Fi',
      'Camí de sa Ginebrera 7, Deià, Mallorca',
    ]) {
      expect(shown).toContain(text);
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

  it('a listing has each missing part marked, and no empty part', async () => {
    await visit('/listings/no-details-yet?lang=es');
    expect(await page.locator('h1').textContent()).toBe('No details yet');
    const marks = ['No title in French', 'No photo', 'No description in English', 'No price'];
    for (const name of marks) expect(await page.getByText(name).count()).toBe(1);
    expect(await page.locator('section, .text, img').count()).toBe(0);
    const [hidden] = samples.properties.filter(({ status }) => status === 'hidden');
    await visit(`/listings/${hidden?.slug}`);
    expect(await page.getByText('Hidden', { exact: true }).count()).toBe(1);
    expect(await page.getByRole('link', { name: /^Its / }).count()).toBe(0);
  });

  it.each(['/', '/docs/operate/runbook.md', '/preview', `/preview/listings/${COMPLETE}?lang=fr`])(
    'axe finds nothing at %s, and nothing is cut, on a phone and in the dark',
    async (path) => {
      for (const [colorScheme, viewport] of [
        ['light', PHONE],
        ['dark', DESK],
      ] as const) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        await page.goto(opened.service.origin + path);
        expect(await axeFindings(page)).toEqual([]);
        // The widest font. The page's policy rejects an inline style.
        await page.evaluate(`{
          const sheet = new CSSStyleSheet();
          sheet.replaceSync('* { font-family: monospace !important; letter-spacing: 0.1em !important; }');
          document.adoptedStyleSheets = [sheet];
        }`);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
        const cut =
          '[...document.querySelectorAll("pre")].filter((pre) => pre.scrollWidth > pre.clientWidth).length';
        expect(await page.evaluate(cut)).toBe(0);
      }
    },
  );

  it('is used by the keyboard: skip, open a listing, come back to its card', async () => {
    await page.setViewportSize(DESK);
    await visit('?type=beach');
    await page.keyboard.press('Tab');
    const focused = page.locator(':focus');
    expect(await focused.textContent()).toBe('Skip to the content');
    expect(await focused.isVisible()).toBe(true);
    await cardOf(COMPLETE).getByRole('link').press('Enter');
    await page.locator('h1', { hasText: 'Stone house' }).waitFor();
    await page.getByRole('link', { name: 'Catalogue' }).press('Enter');
    await page.waitForURL(/type=beach/);
    expect(await focused.getAttribute('id')).toBe(`listing-${COMPLETE}`);
  });

  it('logs no error, and requests the service only', () => {
    expect(opened.complaints.filter((text) => !text.includes('404'))).toEqual([]);
    expect(opened.requested).toEqual(new Set([opened.service.origin]));
  });
});
