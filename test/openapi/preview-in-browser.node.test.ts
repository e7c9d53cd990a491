/** The preview of the sample listings in a real browser: Debian's Chromium, where it is installed. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import samples from '../../tools/samples/listings.json' with { type: 'json' };
import { axeFindings, hasChromium, openBrowser } from '../support/node/browser.ts';
import { type DevService, startDevService } from '../support/node/dev-service.ts';

const PHONE = { width: 390, height: 844 };
const NARROWEST = { width: 320, height: 640 };
const DESK = { width: 1280, height: 900 };
const PHOTOS = 'https://images.example.com/**';

/** One pixel, as GIF. */
const PIXEL = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAA=', 'base64');

if (!hasChromium) console.warn('There is no Chromium: the tests of the preview are skipped.');

describe.skipIf(!hasChromium)('the preview in Chromium', () => {
  let service: DevService;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];
  const requested = new Set<string>();

  beforeAll(async () => {
    [service, browser] = await Promise.all([startDevService(), openBrowser()]);
    page = await newPage();
    await page.goto(`${service.origin}/preview`);
    await page.getByText('71 listings', { exact: true }).waitFor();
  });

  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  /** Opens a page for which no photo can be had, and hears its complaints. */
  async function newPage(): Promise<Page> {
    const made = await browser.newPage({ viewport: DESK });
    await made.route(PHOTOS, (route) => route.abort());
    made.on('console', (message) => {
      if (message.text().includes('net::ERR_FAILED')) return;
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    made.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`));
    made.on('request', (request) => {
      if (!request.url().startsWith('data:')) requested.add(new URL(request.url()).origin);
    });
    return made;
  }

  /** Leads the page to an address, as its own links do. */
  async function visit(path: string): Promise<void> {
    await page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)});
      dispatchEvent(new PopStateEvent('popstate'));`);
    const slug = /listings\/([^?]+)/.exec(path)?.[1];
    const shown = slug === undefined ? '.filters' : `.keys:text("${slug}")`;
    await page.locator(shown).waitFor();
  }

  const cards = () => page.locator('.card');
  const cardOf = (slug: string) => cards().filter({ has: page.locator(`a[data-slug="${slug}"]`) });
  const countText = () => page.getByRole('status').textContent();
  const regionText = (name: string) => page.getByRole('region', { name }).textContent();

  describe('the catalogue', () => {
    it('shows every listing in the order of the feed with its status, hidden ones too, 24 at a time', async () => {
      await visit('/preview');
      expect(await countText()).toBe('71 listings');
      const statuses = await page.locator('.filters .pill').allInnerTexts();
      expect(statuses.map((text) => text.replace(/\s+/g, ' '))).toEqual([
        'All 71',
        'Listed 49',
        'Coming soon 8',
        'Sold out 9',
        'Hidden 5',
      ]);
      expect(await cards().count()).toBe(24);
      await page.getByRole('button', { name: 'Show 24 more of 47' }).click();
      expect(await cards().count()).toBe(48);
      await page.getByRole('button', { name: 'Show 23 more of 23' }).click();
      expect(await cards().count()).toBe(71);
      expect(await page.locator('.more').isVisible()).toBe(false);
      const slugs = await page
        .locator('.card a')
        .evaluateAll((links) => links.map((link) => link.getAttribute('data-slug')));
      const inOrder = samples.properties.toSorted(
        (a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1),
      );
      expect(slugs).toEqual(inOrder.map(({ slug }) => slug));
      const badges = await page.locator('.card .badge:first-child').allInnerTexts();
      const counts = Object.groupBy(badges, (text) => text);
      expect(Object.entries(counts).map(([text, all]) => [text, all?.length])).toEqual(
        expect.arrayContaining([
          ['Listed', 49],
          ['Coming soon', 8],
          ['Sold out', 9],
          ['Hidden', 5],
        ]),
      );
    });

    it('is filtered by status, type, location and words, and keeps the filters in its address', async () => {
      await visit('/preview');
      await page.getByRole('radio', { name: 'Hidden' }).check();
      expect(await countText()).toBe('5 listings');
      await page.getByRole('radio', { name: 'All' }).check();
      await page.getByLabel('Type').selectOption('ski');
      expect(await countText()).toBe('25 listings');
      await page.getByRole('combobox', { name: 'Location' }).selectOption({ label: 'Valais' });
      const inValais = await cards().count();
      expect(inValais).toBeGreaterThan(0);
      expect(await page.locator('.card .where').allInnerTexts()).toEqual(
        Array.from({ length: inValais }, () => expect.stringContaining('Valais')),
      );
      await page.waitForURL(/type=ski&location=/);
      await page.reload();
      await page.getByText(`${inValais} listings`, { exact: true }).waitFor();
      expect(await page.getByLabel('Type').inputValue()).toBe('ski');
      await page.getByRole('button', { name: 'Show all listings' }).click();
      expect(await countText()).toBe('71 listings');
      await page.getByLabel('Find').fill('DEIA');
      await expect.poll(countText).toBe('1 listing');
      expect(await cardOf('casa-ginebrera').count()).toBe(1);
    });

    it('says when nothing fits', async () => {
      await visit('/preview?find=nowhere-at-all');
      expect(await countText()).toBe('0 listings');
      expect(await cards().count()).toBe(0);
    });

    it('counts the listings that lack something, and shows them with their marks', async () => {
      await visit('/preview?lang=fr');
      const french = page.getByTitle('9 listings without a French title');
      await french.click();
      expect(await countText()).toBe('9 listings without a French title');
      expect(await cards().count()).toBe(9);
      expect(await page.locator('.card .marks').allInnerTexts()).toEqual(
        Array.from({ length: 9 }, () => expect.stringContaining('No French title')),
      );
      expect(await french.getAttribute('aria-pressed')).toBe('true');
      await french.click();
      expect(await countText()).toBe('71 listings');
    });

    it.each([
      ['7 listings without a photo', 'No photo'],
      ['4 listings without a location', 'No location'],
      ['8 listings without a price', 'No price'],
      ['10 listings without a French description', 'No French description'],
      ['2 listings without an English alt text of a photo', 'without English alt text'],
    ])('counts %s', async (name, mark) => {
      await visit('/preview');
      await page.getByTitle(name).click();
      const count = Number.parseInt(name, 10);
      expect(await page.locator('.card .marks').allInnerTexts()).toEqual(
        Array.from({ length: count }, () => expect.stringContaining(mark)),
      );
    });

    it('shows a title that is missing in another language, and says so', async () => {
      await visit('/preview?lang=fr&missing=title.fr');
      const inEnglish = cardOf('casa-nopal').locator('h3');
      expect(await inEnglish.textContent()).toMatch(/^Adobe studio house\s+in English$/);
      expect(await inEnglish.locator('a').getAttribute('lang')).toBe('en');
      const untitled = cardOf('casa-bruma').locator('h3');
      expect(await untitled.textContent()).toMatch(/^Casa Bruma\s+internal name$/);
    });

    it('speaks the language that is chosen, in words and numbers', async () => {
      await visit('/preview');
      const told = async () => {
        const text = await cardOf('casa-ginebrera').textContent();
        return text?.replaceAll(/\p{Zs}/gu, ' ');
      };
      expect(await told()).toContain('Stone house above the cove at Deià');
      expect(await told()).toContain('4 bedrooms');
      expect(await told()).toContain('from 289,000 · share 1/8');
      await page.getByRole('link', { name: 'Français' }).click();
      expect(await told()).toContain('Maison de pierre au-dessus de la crique de Deià');
      expect(await told()).toContain('4 chambres');
      expect(await told()).toContain('à partir de 289 000 · part 1/8');
      await page.getByRole('link', { name: 'Español' }).click();
      expect(await told()).toContain('Casa de piedra sobre la cala de Deià');
      expect(await told()).toContain('desde 289.000 · fracción 1/8');
      expect(page.url()).toContain('lang=es');
    });

    it('draws a placeholder with the alt text for a photo that cannot be loaded', async () => {
      await visit('/preview');
      const picture = cardOf('casa-ginebrera').locator('.picture');
      await picture.getByText('Photo not loaded').waitFor();
      expect(await picture.locator('svg').isVisible()).toBe(true);
      expect(await picture.locator('img').count()).toBe(0);
      expect(await picture.textContent()).toContain('The stone terrace and pool of Casa Ginebrera');
    });

    it('shows a photo that can be loaded, with its alt text', async () => {
      await page.unroute(PHOTOS);
      await page.route(PHOTOS, (route) => route.fulfill({ body: PIXEL, contentType: 'image/gif' }));
      await visit('/preview?find=ginebrera');
      const image = cardOf('casa-ginebrera').locator('.loaded img');
      await image.waitFor();
      expect(await image.getAttribute('alt')).toMatch(/^The stone terrace and pool/);
      expect(await cardOf('casa-ginebrera').getByText('Photo not loaded').count()).toBe(0);
      await page.unroute(PHOTOS);
      await page.route(PHOTOS, (route) => route.abort());
    });
  });

  describe('the page of a listing', () => {
    it('has its gallery, texts, features, amenities and place', async () => {
      await visit('/preview/listings/casa-ginebrera');
      expect(await page.title()).toBe('Stone house above the cove at Deià – Preview');
      expect(await page.locator('figure').count()).toBe(8);
      const captions = await page.locator('figcaption').allInnerTexts();
      expect(captions[0]).toContain('The stone terrace and pool of Casa Ginebrera');
      expect(await regionText('About this home')).toContain('The lane ends at a gate');
      expect(await regionText('What sets it apart')).toContain('Open sea view');
      expect(await regionText('Amenities')).toContain('Wi-Fi');
      expect(await regionText('Where it is')).toContain('Camí de sa Ginebrera 7, Deià');
      expect(await regionText('At a glance')).toContain('from 289,000 · share 1/8');
      expect(await page.getByText('Nothing is missing in this listing.').count()).toBe(1);
    });

    it('marks each missing part at its place', async () => {
      await visit('/preview/listings/no-details-yet?lang=es');
      expect(await page.locator('h1').textContent()).toMatch(/^No details yet\s+internal name$/);
      expect(
        await page
          .getByRole('region', { name: 'Missing in this listing' })
          .locator('li')
          .allInnerTexts(),
      ).toEqual([
        'No photo',
        'No English title',
        'No Spanish title',
        'No French title',
        'No English description',
        'No Spanish description',
        'No French description',
        'No location',
        'No price',
      ]);
    });

    it('shows a hidden listing as if it were listed, with its badge', async () => {
      await visit('/preview/listings/casa-nopal');
      expect(await page.locator('h1').textContent()).toBe('Adobe studio house');
      expect(await page.locator('.head .badge').allInnerTexts()).toEqual(['Hidden']);
      expect(await page.locator('figure').count()).toBeGreaterThan(0);
    });

    it('says when there is no such listing', async () => {
      await page.goto(`${service.origin}/preview/listings/nowhere`);
      expect(await page.getByRole('alert').textContent()).toBe('There is no listing nowhere.');
      complaints.length = 0;
    });
  });

  describe('for everybody', () => {
    it.each([
      ['the catalogue', 'light', '', DESK],
      ['the catalogue', 'dark', '?lang=fr&missing=title.fr', PHONE],
      ['a listing', 'light', '/listings/casa-ginebrera', PHONE],
      ['a listing without details', 'dark', '/listings/no-details-yet?lang=es', DESK],
      ['a hidden listing', 'dark', '/listings/casa-nopal?lang=fr', DESK],
    ] as const)('axe finds nothing in %s, in %s (%s)', async (_, colorScheme, path, viewport) => {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await visit(`/preview${path}`);
      await page.locator('.unloaded, .empty').first().waitFor();
      expect(await axeFindings(page)).toEqual([]);
    });

    it.each(['', '?lang=fr&missing=title.fr', '/listings/casa-ginebrera', '/listings/casa-nopal'])(
      '/preview%s needs no sideways scroll at 320 pixels, with the widest font',
      async (path) => {
        await page.setViewportSize(NARROWEST);
        await visit(`/preview${path}`);
        // A style of the test's own, which the policy of the page would refuse as an inline one.
        await page.evaluate(`{
          const sheet = new CSSStyleSheet();
          sheet.replaceSync('* { font-family: monospace !important; letter-spacing: 0.1em !important; }');
          document.adoptedStyleSheets = [sheet];
        }`);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
        await page.evaluate('document.adoptedStyleSheets = []');
      },
    );

    it('is used by the keyboard: skip, open a listing, come back to its card', async () => {
      await page.setViewportSize(DESK);
      await page.goto(`${service.origin}/preview`);
      await page.getByText('71 listings', { exact: true }).waitFor();
      await page.keyboard.press('Tab');
      const focused = page.locator(':focus');
      expect(await focused.textContent()).toBe('Skip to the content');
      expect(await focused.isVisible()).toBe(true);
      const link = cardOf('casa-ginebrera').locator('a');
      await link.focus();
      await page.keyboard.press('Enter');
      await page.locator('h1', { hasText: 'Stone house' }).waitFor();
      expect(await page.locator('h1:focus').count()).toBe(1);
      await page.goBack();
      await cards().first().waitFor();
      expect(await page.locator(':focus').getAttribute('data-slug')).toBe('casa-ginebrera');
      await page.goForward();
      await page.locator('.head').waitFor();
      await page.getByRole('link', { name: 'Catalogue' }).press('Enter');
      await cards().first().waitFor();
      expect(await page.locator(':focus').getAttribute('data-slug')).toBe('casa-ginebrera');
    });

    it('gives the focus to the first new card when more are shown', async () => {
      await visit('/preview');
      await page.getByRole('button', { name: /^Show 24 more/ }).press('Enter');
      const focused = await page.locator(':focus').getAttribute('data-slug');
      expect(focused).toBe(await cards().nth(24).locator('a').getAttribute('data-slug'));
    });
  });

  describe('with a feed of its own', () => {
    const limits = { 'X-RateLimit-Remaining': '90', 'X-RateLimit-Reset': '60' };

    /** A page of the feed with 100 listings. `next` is the number of the next page. */
    function feedPage(number: number, next: number | null) {
      const data = Array.from({ length: 100 }, (_, index) => ({
        ...EMPTY,
        id: `home-${number}-${index}`,
        slug: `home-${number}-${index}`,
        name: `Home ${number} ${index}`,
        display_order: number,
        title: index === 0 ? {} : { en: `Home ${number} ${index}` },
      }));
      const next_cursor = next === null ? null : String(next);
      return { object: 'list', data, has_more: next !== null, next_cursor };
    }

    /** Answers for the feed: `pages` pages, and `refusals` answers of 429 before the second one. */
    async function serveFeed(pages: number, refusals = 0) {
      let left = refusals;
      page = await newPage();
      await page.route('**/preview/hidden.json*', (route) =>
        route.fulfill({ json: { object: 'list', data: [], has_more: false, next_cursor: null } }),
      );
      await page.route('**/api/v1/web/properties?*', (route) => {
        const number = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
        if (number === 1 && left > 0) {
          left -= 1;
          return route.fulfill({
            status: 429,
            headers: { 'Retry-After': '30' },
            json: { error: { code: 'rate_limit_exceeded', message: 'wait' } },
          });
        }
        const next = number + 1 < pages ? number + 1 : null;
        return route.fulfill({ headers: limits, json: feedPage(number, next) });
      });
    }

    it('reads 10,000 listings, and renders no more cards than are shown', async () => {
      await serveFeed(100);
      await page.goto(`${service.origin}/preview`);
      await cards().first().waitFor();
      await page.getByText('10,000 listings', { exact: true }).waitFor();
      expect(await cards().count()).toBe(24);
      await page.getByTitle('100 listings without an English title').click();
      expect(await countText()).toBe('100 listings without an English title');
      expect(await cards().count()).toBe(24);
    });

    it('waits as long as the rate limit says, shows the listings read so far, and goes on', async () => {
      await serveFeed(2, 1);
      await page.clock.install();
      await page.goto(`${service.origin}/preview`);
      await page.getByText('reading goes on in 30 s').waitFor();
      expect(await cards().count()).toBe(24);
      await page.clock.runFor(30_000);
      await page.getByText('200 listings', { exact: true }).waitFor();
      complaints.length = 0;
    });

    it('says why a feed cannot be read', async () => {
      page = await newPage();
      await page.route('**/api/v1/web/properties?*', (route) =>
        route.fulfill({
          status: 401,
          json: { error: { message: 'The API key is not valid.', request_id: 'req_1' } },
        }),
      );
      await page.goto(`${service.origin}/preview`);
      const notice = page.getByText('The service answers 401: The API key is not valid. (req_1)');
      await notice.waitFor();
      complaints.length = 0;
    });

    it('says how an empty catalogue is filled', async () => {
      await serveFeed(1);
      await page.route('**/api/v1/web/properties?*', (route) =>
        route.fulfill({ json: { object: 'list', data: [], has_more: false, next_cursor: null } }),
      );
      await page.goto(`${service.origin}/preview`);
      await page.getByText('npm run import-listings -- FILE').waitFor();
    });
  });

  describe('after an import', () => {
    it('shows the imported changes when it is loaded again: a listing, and the catalogue', async () => {
      page = await newPage();
      const isTitled = (title: string) => page.getByText(title, { exact: true }).first().waitFor();
      await page.goto(`${service.origin}/preview/listings/casa-ginebrera`);
      await isTitled('Stone house above the cove at Deià');
      await page.goto(`${service.origin}/preview?find=ginebrera`);
      await isTitled('Stone house above the cove at Deià');
      const title = { en: 'A house that was imported now' };
      const patch = { properties: [{ slug: 'casa-ginebrera', title }] };
      const file = service.project.write('patch.json', patch);
      const loaded = await service.project.run('import-listings.ts', file, '--patch');
      expect(loaded).toMatchObject({ code: 0, stderr: '' });
      await page.reload();
      await isTitled('A house that was imported now');
      await page.goto(`${service.origin}/preview/listings/casa-ginebrera`);
      await isTitled('A house that was imported now');
    });
  });

  it('logs no error, and asks the service and the addresses of photos only', () => {
    expect(complaints).toEqual([]);
    expect(requested).toEqual(new Set([service.origin, 'https://images.example.com']));
  });
});

/** The fields of a listing, without its names. */
const EMPTY = {
  object: 'property',
  hid: null,
  status: 'listed',
  type: null,
  description: {},
  unique_features: [],
  bedrooms: null,
  bathrooms: null,
  capacity: null,
  size: null,
  city: null,
  price_from: null,
  fraction_from: null,
  hero_image: null,
  gallery: [],
  location: null,
  amenities: [],
  is_early_access: false,
};
