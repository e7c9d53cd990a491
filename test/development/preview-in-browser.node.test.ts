/**
 * The preview of the sample listings in a real browser: Debian's Chromium, where it is installed.
 */

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import samples from '../../tools/samples/listings.json' with { type: 'json' };
import { axeFindings, hasChromium, type Opened, openSamples } from '../support/node/browser.ts';

const NARROWEST = { width: 320, height: 640 };
const DESK = { width: 1280, height: 900 };
const PHOTOS = 'https://images.example.com/**';
const COMPLETE = 'casa-ginebrera';

/** One pixel, as GIF. */
const PIXEL = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAA=', 'base64');

describe.skipIf(!hasChromium)('the preview in Chromium', () => {
  let opened: Opened;
  let page: Page;

  beforeAll(async () => {
    opened = await openSamples();
    page = opened.page;
    await page.setViewportSize(DESK);
    await page.route(PHOTOS, (route) => route.abort());
  });
  afterAll(() => opened?.close());

  async function visit(path: string): Promise<void> {
    await page.goto(`${opened.service.origin}/preview${path}`);
  }

  const cards = () => page.locator('.card');
  const cardOf = (slug: string) => cards().filter({ has: page.locator(`#listing-${slug}`) });
  const countText = () => page.locator('#count').textContent();
  const regionText = (name: string) => page.getByRole('region', { name }).textContent();

  it('shows every listing with its status in the order of the feed', async () => {
    await visit('');
    const slugs = await cards()
      .locator('h3 a')
      .evaluateAll((links) => links.map(({ id }) => id));
    const shown = await cards().locator('.badge:first-child').allInnerTexts();
    const badges = new Map([
      ['listed', 'Listed'],
      ['coming_soon', 'Coming soon'],
      ['sold_out', 'Sold out'],
      ['hidden', 'Hidden'],
    ]);
    const inOrder = samples.properties.toSorted(
      (a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1),
    );
    expect(slugs).toEqual(inOrder.map(({ slug }) => `listing-${slug}`));
    expect(shown).toEqual(inOrder.map(({ status }) => badges.get(status)));
  });

  it('filters by status, type, location and words, and keeps the filters in its address', async () => {
    await visit('');
    await page.getByLabel('status').selectOption('Hidden (5)');
    await page.getByRole('button', { name: 'Show' }).click();
    expect(await countText()).toBe('5 listings');
    await page.getByRole('link', { name: 'Show all listings' }).click();
    await page.getByLabel('type').selectOption('Ski');
    await page.getByLabel('location').selectOption('Valais');
    await page.getByRole('button', { name: 'Show' }).click();
    const inValais = await cards().count();
    expect(await cards().allInnerTexts()).toEqual(
      Array.from({ length: inValais }, () => expect.stringMatching(/Valais\s+Ski/)),
    );
    await page.reload();
    expect(await countText()).toBe(`${inValais} listings`);
    expect(await page.getByLabel('type').inputValue()).toBe('ski');
    await visit('?lang=es');
    await page.getByLabel('Find').fill('DEIA');
    await page.getByLabel('Find').press('Enter');
    expect(await countText()).toBe('1 listing');
    expect(await cardOf(COMPLETE).locator('h3').textContent()).toContain('Casa de piedra');
    await visit('?find=nowhere-at-all');
    expect(await countText()).toBe('0 listings');
    await page.getByText('Remove a filter').waitFor();
  });

  it('counts what is missing, and leads to these listings and back', async () => {
    await visit('');
    await page.getByText('What is missing').click();
    const counts = await page.locator('details a').allInnerTexts();
    expect(counts).toHaveLength(13);
    const some = ['No photo 7', 'No Spanish title 6', 'No French alt text 5', 'No price 8'];
    expect(counts).toEqual(expect.arrayContaining(some));
    const french = page.getByRole('link', { name: 'No French title 9' });
    await french.click();
    expect(await countText()).toBe('9 listings: no French title');
    expect(await cards().getByText('No French title', { exact: true }).count()).toBe(9);
    await french.click();
    expect(await countText()).toBe('71 listings');
  });

  it('shows texts in the chosen language, and marks a text in another one', async () => {
    await visit('');
    await page.getByRole('link', { name: 'French', exact: true }).click();
    expect(await cardOf(COMPLETE).textContent()).toContain(
      'Maison de pierre au-dessus de la crique de DeiàDeià, Majorque',
    );
    await visit('?lang=fr&missing=French+title');
    const inEnglish = cardOf('casa-nopal').locator('h3');
    expect(await inEnglish.textContent()).toBe('Adobe studio house in English');
    expect(await inEnglish.locator('em').getAttribute('lang')).toBe('en');
    expect(await cardOf('casa-bruma').locator('h3').textContent()).toBe('Casa Bruma internal name');
  });

  it('shows a photo, or a drawing with the alt text if the photo cannot be loaded', async () => {
    // A browser makes ::after for a photo that it cannot load, and so computes its height in
    // pixels.
    const drawing = () =>
      page.evaluate(`(() => {
        const image = document.querySelector('#listing-${COMPLETE}').closest('.card').querySelector('img');
        const { content, height } = getComputedStyle(image, '::after');
        return { alt: image.alt, content, isShown: height.endsWith('px') };
      })()`);
    const alt = 'The stone terrace and pool of Casa Ginebrera with the sea below';
    const content = `"Photo not loaded: ${alt}"`;
    await visit('?find=ginebrera');
    await expect.poll(drawing).toEqual({ alt, content, isShown: true });
    await page.route(PHOTOS, (route) => route.fulfill({ body: PIXEL, contentType: 'image/gif' }));
    await visit('?find=ginebrera');
    await expect.poll(drawing).toEqual({ alt, content, isShown: false });
    await page.unroute(PHOTOS);
    await page.route(PHOTOS, (route) => route.abort());
  });

  it('a listing has its gallery, texts, features, amenities and place', async () => {
    await visit(`/listings/${COMPLETE}`);
    expect(await page.title()).toBe('Stone house above the cove at Deià – Preview');
    expect(await page.locator('main > figure').textContent()).toMatch(/^hero The stone terrace/);
    expect(await page.getByRole('region', { name: '7 more photos' }).locator('img').count()).toBe(
      7,
    );
    expect(await regionText('About this home')).toContain('The lane ends at a gate');
    expect(await regionText('What sets it apart')).toContain('Open sea view');
    expect(await regionText('Amenities')).toContain('Wi-Fi');
    expect(await regionText('Where it is')).toContain('Camí de sa Ginebrera 7, Deià');
    expect(await regionText('At a glance')).toContain('from 289,000 · share 1/8');
    await page.getByText('0 parts of this listing').waitFor();
  });

  it('a listing has each missing part marked', async () => {
    await visit('/listings/no-details-yet?lang=es');
    expect(await page.locator('h1').textContent()).toBe('No details yet internal name');
    await page.getByText('9 parts of this listing').click();
    const marks = await page.locator('details li').allInnerTexts();
    expect(marks).toHaveLength(9);
    expect(marks).toEqual(expect.arrayContaining(['No photo', 'No French title', 'No price']));
  });

  it.each([
    ['light', '/', NARROWEST],
    ['light', '/preview', DESK],
    ['dark', '/preview?lang=fr&missing=French+title', NARROWEST],
    ['light', `/preview/listings/${COMPLETE}`, NARROWEST],
    ['dark', '/preview/listings/no-details-yet?lang=es', NARROWEST],
  ] as const)(
    'axe finds nothing in %s at %s (%o), which needs no sideways scroll',
    async (colorScheme, path, viewport) => {
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
    },
  );

  it('is used by the keyboard: skip, open a listing, come back to its card', async () => {
    await page.setViewportSize(DESK);
    await visit('?type=beach');
    await page.keyboard.press('Tab');
    const focused = page.locator(':focus');
    expect(await focused.textContent()).toBe('Skip to the content');
    expect(await focused.isVisible()).toBe(true);
    await page.locator(`#listing-${COMPLETE}`).press('Enter');
    await page.locator('h1', { hasText: 'Stone house' }).waitFor();
    await page.getByRole('link', { name: 'Catalogue' }).press('Enter');
    await page.waitForURL(/type=beach/);
    expect(await focused.getAttribute('id')).toBe(`listing-${COMPLETE}`);
  });

  it('shows an import when it is loaded again', async () => {
    const patch = { properties: [{ slug: COMPLETE, title: { en: 'Imported now' } }] };
    const file = opened.project.write('patch.json', patch);
    const loaded = await opened.project.run('import-listings.ts', file, '--patch');
    expect(loaded).toMatchObject({ code: 0, stderr: '' });
    for (const path of ['', `/listings/${COMPLETE}`]) {
      await visit(path);
      await page.getByText('Imported now', { exact: true }).first().waitFor();
    }
  });

  it('logs no error, and requests the service and the addresses of photos only', () => {
    expect(opened.complaints).toEqual([]);
    const origins = [opened.service.origin, 'https://images.example.com'];
    expect(opened.requested).toEqual(new Set(origins));
  });
});
