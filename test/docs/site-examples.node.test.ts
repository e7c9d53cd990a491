/** The programs of docs/examples that read the listings, and the curl lines of the documents. */

import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { extname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { DOCUMENTS, getCodeBlocks } from '../support/markdown.ts';
import { axeFindings, hasChromium, openBrowser } from '../support/node/browser.ts';
import { API_KEY, listen, useRig } from '../support/node/example-service.ts';

const SITE_KEY = 'epf_site_of-the-cards-page';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SITE_URL = 'https://www.example.com';
const SLUG = 'casa-ginebrera';
let site = '';

vi.stubEnv('SITE_URL', SITE_URL);
vi.stubEnv('SITE_NAME', 'Sun & Snow');
vi.stubEnv('PUBLISH_HOOK_SECRET', SECRET);

const rig = useRig(async () => {
  site = await listen(async (request, response) => {
    const { url = '', method = '' } = request;
    if (method === 'GET') {
      response.setHeader('Content-Type', extname(url) === '.css' ? 'text/css' : 'text/html');
      response.end(siteFile(url));
      return;
    }
    const { onFeedChanged } = await import('../../docs/examples/renew-pages.ts');
    const headers = z.record(z.string(), z.string()).parse(request.headers);
    const body = await text(request);
    const reply = await onFeedChanged(new Request(`${site}${url}`, { method, headers, body }));
    response.writeHead(reply.status).end();
  });
  const sha256 = createHash('sha256').update(SITE_KEY).digest('hex');
  const keys = JSON.stringify([{ name: 'site', scopes: ['feed:read'], sha256 }]);
  return [`API_KEYS='${keys}'`, `CORS_ORIGINS=${site}`];
});

beforeAll(() => {
  vi.stubEnv('API_URL', rig().origin);
  vi.stubEnv('API_KEY', API_KEY);
  vi.resetModules();
});

/** The ids or slugs of the listings that a condition lets through. */
const listingsWhere = (condition: string, column: 'id' | 'slug' = 'id') =>
  rig()
    .project.rows(`SELECT ${column} AS found FROM properties WHERE ${condition} ORDER BY 1`)
    .map(({ found }) => String(found));

const anotherListed = () => listingsWhere(`status = 'listed' AND slug <> '${SLUG}'`, 'slug')[0];

it('keep-copy.ts continues where it was killed, follows the catalogue, and starts over after a rewind', async () => {
  const copied = () => {
    const file = join(rig().folderOf('copy'), 'copy.json');
    if (!existsSync(file)) return [];
    const copy = z.object({ listings: z.record(z.string(), z.unknown()) });
    return Object.keys(copy.parse(JSON.parse(readFileSync(file, 'utf8'))).listings).sort();
  };
  const publicIds = () => listingsWhere(`status <> 'hidden'`);
  const folder = rig().variantOf({ 'keep-copy.ts': [['limit=100', 'limit=10']] });
  const program = join(folder, 'keep-copy.ts');
  const killed = rig().start(program, 'copy');
  await expect.poll(copied).toEqual(publicIds());
  killed.child.kill('SIGKILL');
  await rig().change({ slug: SLUG, is_early_access: true });
  const keeper = rig().start(program, 'copy');
  await expect.poll(() => keeper.lines[0]).toBe(`published ${SLUG}`);
  const hidden = anotherListed();
  await rig().change({ slug: hidden, status: 'hidden' });
  await expect.poll(() => keeper.lines).toContain(`removed ${hidden}`);
  await expect.poll(copied).toEqual(publicIds());

  const [undone = ''] = publicIds();
  const before = copied();
  // After the rejected cursor, a later page of the new pass is held back.
  const held = Promise.withResolvers<undefined>();
  rig().faults.push(undefined, undefined, undefined, held.promise);
  await rig().rewind(`DELETE FROM properties WHERE id = '${undone}'`);
  await expect.poll(() => rig().faults).toEqual([]);
  expect(copied()).toEqual(before);
  held.resolve(undefined);
  await expect.poll(copied).toEqual(publicIds());
});

/** Runs a program in the folder of the site. Returns its errors. */
async function build(program = 'build-site.ts'): Promise<string[]> {
  const { ended, errors } = rig().start(program, 'built');
  expect(await ended, errors.join()).toEqual([0, null]);
  return errors;
}
let builtOf: string | undefined;

/** Builds the site if the catalogue has changed since it was built here. */
async function buildIfChanged(): Promise<void> {
  const [version] = rig().project.rows('SELECT catalogue_version FROM database_identity');
  if (builtOf !== version?.catalogue_version) await build();
  builtOf = String(version?.catalogue_version);
}

/** The pages of the built site, by the path of their file. */
function builtPages(): Map<string, string> {
  const site = join(rig().folderOf('built'), 'site');
  const names = readdirSync(site, { recursive: true, encoding: 'utf8' });
  const pages = names.filter((name) => name.endsWith('.html'));
  return new Map(pages.map((name) => [name, siteFile(name)]));
}
const publicSlugs = () => listingsWhere(`status <> 'hidden'`, 'slug');

it('build-site.ts has a page for each public listing in each language', async () => {
  // A proxy's date, which is cut to a second.
  const later = new Date(Date.now() + 2_000).toUTCString();
  rig().faults.push({ status: 503, headers: { 'Retry-After': later } });
  expect(await build()).toEqual([expect.stringMatching(/ 503, next attempt in [12] s$/)]);
  const first = builtPages();
  await build();
  expect(rig().statuses).toEqual([503, 200, 304]);
  expect(builtPages()).toEqual(first);

  const [taken = ''] = listingsWhere(`status = 'sold_out'`, 'slug');
  await rig().change({ id: listingsWhere(`slug = '${taken}'`)[0], slug: 'index' });
  expect(await build()).toEqual([expect.stringContaining('no page for the slug "index"')]);
  expect(siteFile('404.html')).toContain('<h1>No such page</h1>');
  const expected = ['en', 'es', 'fr'].flatMap((language) => [
    `${language}/index.html`,
    ...publicSlugs()
      .filter((slug) => slug !== 'index')
      .map((slug) => `${language}/listings/${slug}.html`),
  ]);
  expect([...builtPages().keys()].sort()).toEqual(['404.html', ...expected].sort());
  await rig().change({ id: listingsWhere(`slug = 'index'`)[0], slug: taken });
});

/** What the page of a complete home shows. Cards have the first two too. */
const SHOWN = {
  en: [
    /From €289,000 · share of 1\/8 · 6\sweeks a year/,
    /Deià, <span lang="en">Mallorca</,
    />Beach · 4\sbedrooms · 6\sbeds · 4\sbathrooms · 2\sbathtubs · 8\sguests · 268\sm²</,
    />Watch the video<.*>Financial analysis</s,
    />What sets it apart<.*>Infinity pool</s,
    />Amenities<.*>Wi-Fi</s,
    />Where it is<.*>Camí de sa Ginebrera 7, Deià, .*>See it on a map</s,
    />More homes in the same place<.*<h3/s,
  ],
  es: [
    /Desde 289.000\s€ · participación de 1\/8 · 6\ssemanas al año/,
    /Deià, <span lang="es">Mallorca</,
    />Playa · 4\sdormitorios/,
    />Más casas en el mismo lugar<.*<h3/s,
  ],
  fr: [
    /À partir de 289\s000\s€ · part de 1\/8 · 6\ssemaines par an/,
    /Deià, <span lang="fr">Majorque</,
    />Plage · 4\schambres/,
    />D’autres maisons au même endroit<.*<h3/s,
  ],
};

it.each(Object.entries(SHOWN))(
  'a page in %s shows all of a home, and the share',
  async (language, shown) => {
    await buildIfChanged();
    const isMissing = (path: string) => (text: RegExp) =>
      !text.test(siteFile(`${language}/${path}.html`));
    expect(shown.slice(0, 2).filter(isMissing('index'))).toEqual([]);
    expect(shown.filter(isMissing(`listings/${SLUG}`))).toEqual([]);
  },
);

it('the pages are data of a product for search engines where there is a price and a photo', async () => {
  await buildIfChanged();
  const offers = [...builtPages()]
    .filter(([path]) => path.startsWith('en/listings/'))
    .map(([, page]) => JSON.parse(/ld\+json">(.*)<\/script>/.exec(page)?.[1] ?? ''))
    .filter((data) => data['@type'].includes('Product'))
    .map(({ image, offers }) => image.length > 0 && offers);
  const sold = `status <> 'hidden' AND json_array_length(document, '$.gallery') > 0
    AND document ->> '$.price_from' IS NOT NULL`;
  expect(offers).toHaveLength(listingsWhere(sold).length);
  expect(offers).toContainEqual({
    '@type': 'Offer',
    name: 'share of 1/8 · 6\u00a0weeks a year',
    price: 289000,
    priceCurrency: 'EUR',
    availability: 'https://schema.org/InStock',
  });
});

it('a page escapes its texts, and names its address in each language', async () => {
  const es = '<x>"\'&';
  const text = { en: null, fr: null, es };
  await rig().change({
    slug: SLUG,
    title: text,
    description: { ...text, es: `${es}\n\nDos` },
    location_text: text,
    address: es,
    city: es,
    unique_features: [{ icon_slug: 'a', label: { es } }],
  });
  await build();
  const page = siteFile(`en/listings/${SLUG}.html`);
  const escaped = '&#60;x&#62;&#34;&#39;&#38;';
  expect(page).toContain(`<h1 lang="es">${escaped}</h1>`);
  expect(page).toContain(`<div class="text" lang="es"><p>${escaped}</p>\n<p>Dos</p></div>`);
  expect(page).not.toMatch(/<x|x>"/);
  const address = `${SITE_URL}/es/listings/${SLUG}`;
  const [image = ''] = /<meta property="og:image" content=".*01-stone-house.*">/.exec(page) ?? [];
  expect(
    /<title>.*(?=\n<link rel="icon")/s.exec(page)?.[0],
  ).toBe(`<title>${escaped} – Sun &#38; Snow</title>
<meta name="description" content="${escaped}">
<link rel="canonical" href="${address}">
<link rel="alternate" hreflang="es" href="${address}">
<link rel="alternate" hreflang="x-default" href="${address}">
<meta property="og:type" content="website">
<meta property="og:site_name" content="Sun &#38; Snow">
<meta property="og:locale" content="es_ES">
<meta property="og:url" content="${address}">
<meta property="og:title" content="${escaped}">
<meta property="og:description" content="${escaped}">
${image}`);
  expect(siteFile('fr/index.html')).toContain(`<meta property="og:locale" content="fr_FR">
<meta property="og:locale:alternate" content="en_GB">
<meta property="og:locale:alternate" content="es_ES">`);
});

/** Serves a built site as Cloudflare Pages does. Returns its origin and a function that ends it. */
async function servePages(folder: string) {
  // Wrangler looks for its configuration from its own folder too.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const config =
    'name = "site"\npages_build_output_dir = "site"\ncompatibility_date = "2026-11-01"\n';
  writeFileSync(join(folder, 'wrangler.toml'), config);
  const links = ['--preserve-symlinks', '--preserve-symlinks-main'];
  const wrangler = join('node_modules', 'wrangler', 'wrangler-dist', 'cli.js');
  const args = [...links, wrangler, 'pages', 'dev', '--ip', '127.0.0.1', '--port', '0'];
  // Else wrangler writes to the user's home.
  const env = { ...process.env, XDG_CONFIG_HOME: folder };
  const child = spawn(process.execPath, args, { cwd: folder, env, detached: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (printed: string) => {
      output += printed;
    });
  }
  const originIn = () => /Ready on (http:\S+)/.exec(output)?.[1];
  await expect.poll(originIn).toBeDefined();
  const end = async () => {
    process.kill(-Number(child.pid), 'SIGKILL');
    await once(child, 'close');
  };
  return { origin: originIn() ?? '', end };
}

it('Cloudflare Pages serves every address of the site with its status', async () => {
  const folder = rig().folderOf('built');
  const [renamed = '', hidden = ''] = publicSlugs().filter((slug) => slug !== SLUG);
  await rig().change({ id: listingsWhere(`slug = '${renamed}'`)[0], slug: 'new-name' });
  await rig().change({ slug: hidden, status: 'hidden' });
  await build();
  await build('site-files.ts');
  const { origin, end } = await servePages(folder);
  try {
    const visit = async (path: string) => {
      const response = await fetch(origin + path, { redirect: 'manual' });
      await response.body?.cancel();
      return [response.status, response.headers.get('Location')];
    };
    expect(await visit('/')).toEqual([302, '/en/']);
    expect(await visit(`/listings/${SLUG}`)).toEqual([302, `/en/listings/${SLUG}`]);
    expect(await visit(`/listings/${renamed}`)).toEqual([301, '/en/listings/new-name']);
    for (const language of ['en', 'es', 'fr']) {
      const renamedTo = `/${language}/listings/new-name`;
      expect(await visit(`/${language}/listings/${renamed}`)).toEqual([301, renamedTo]);
      expect(await visit(`/${language}/`)).toEqual([200, null]);
      expect(await visit(renamedTo)).toEqual([200, null]);
      expect(await visit(`/${language}/listings/${hidden}`)).toEqual([404, null]);
    }
    const sitemap = siteFile('sitemap.xml');
    const paths = [...sitemap.matchAll(/<loc>https:..www.example.com(.*?)<.loc>/g)].map(
      ([, path = '']) => path,
    );
    const slugs = new Set(paths.map((path) => path.replace(/^.*\//, '')));
    // The empty one is of the list pages.
    expect([...slugs].sort()).toEqual(['', ...publicSlugs()]);
    expect(paths.filter((path) => path.endsWith(SLUG))).toEqual([`/es/listings/${SLUG}`]);
    expect(sitemap).toContain(
      `<xhtml:link rel="alternate" hreflang="x-default" href="${SITE_URL}/es/listings/${SLUG}"/>`,
    );
    for (const path of paths) expect([path, ...(await visit(path))]).toEqual([path, 200, null]);
  } finally {
    await end();
  }
});

it('live-page.ts shows each page as it is now, and answers every request', async () => {
  const server = rig().start('live-page.ts', 'live', [], { PORT: '0' });
  await expect.poll(() => server.lines).toHaveLength(1);
  const visit = async (path: string) => {
    const response = await fetch(`${server.lines[0]}${path}`);
    return `${response.status} ${await response.text()}`;
  };
  const [listed] = listingsWhere(`status = 'listed'`, 'slug');
  expect(await visit('')).toContain(`<a href="/listings/${listed}">`);
  const first = await visit(`/listings/${SLUG}`);
  expect(first).toContain('From €289,000 · share of 1/8');
  expect(await visit(`/listings/${SLUG}`)).toBe(first);
  expect(rig().statuses).toEqual([200, 200, 304]);
  rig().faults.push({ status: 500 });
  expect(await visit('/listings/not-visited-yet')).toMatch(/^503 /);
  expect(await visit('/listings/no-such-home')).toMatch(/^404 /);

  const { hostname, port } = new URL(server.lines[0] ?? '');
  const send = async (head: string) => {
    const socket = connect(Number(port), hostname);
    socket.end(`${head} HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n`);
    return (await text(socket)).split('\r\n')[0];
  };
  const sent = rig().requests.length;
  expect(await send('GET //')).toBe('HTTP/1.1 404 Not Found');
  expect(await send('GET /%')).toBe('HTTP/1.1 404 Not Found');
  expect(await send('GET http://[/')).toBe('HTTP/1.1 404 Not Found');
  expect(await send('DELETE /')).toBe('HTTP/1.1 405 Method Not Allowed');
  expect(rig().requests).toHaveLength(sent);
  expect(await visit(`/listings/${SLUG}`)).toBe(first);
});

/** The page of cards, and the built site. */
function siteFile(path: string): string {
  if (path === '/') return cardsPage();
  const folder = path === '/site.css' ? 'docs/examples' : join(rig().folderOf('built'), 'site');
  return readFileSync(join(folder, path), 'utf8');
}

function cardsPage(): string {
  const html = readFileSync('docs/examples/cards.html', 'utf8');
  expect(html).toContain('http://localhost:3001');
  return html.replace('http://localhost:3001', rig().origin).replace('KEY_OF_THE_SCRIPT', SITE_KEY);
}

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };

describe.skipIf(!hasChromium)('in Chromium', () => {
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    page = await (await openBrowser()).newPage({ viewport: PHONE });
    await page.route(/\.(jpg|webp)$/, (route) => route.fulfill({ body: '' }));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
  });
  afterAll(() => page?.context().browser()?.close());

  it('cards.html shows the listed homes in each language, with town and share, and filters them without a request', async () => {
    await page.goto(site);
    for (const language of ['fr', 'en']) {
      await page.click(`button[lang=${language}]`);
      await page.waitForSelector(`ul[lang=${language}]`);
      expect(await page.locator('h2').count()).toBe(listingsWhere(`status = 'listed'`).length);
      expect(rig().requests.at(-1)).toContain(`&locale=${language}`);
    }
    await page.getByText('French Alps').first().waitFor();
    const texts = await page.locator('.card').allTextContents();
    expect(texts).toContainEqual(
      expect.stringContaining('Saint-Gervais-les-Bains, French AlpsFrom €412,000 · share of 1/8'),
    );
    const sent = rig().requests.length;
    await page.fill('input[name=bedrooms]', '3');
    const fitting = `status = 'listed' AND source ->> '$.bedrooms' >= 3`;
    expect(await page.locator('main a').count()).toBe(listingsWhere(fitting).length);
    expect(rig().requests.length).toBe(sent);
  });

  it.each(['/', '/fr/index.html', '/en/listings/chalet-grand-meleze.html'])(
    'axe finds nothing at %s, which needs no sideways scroll, on a phone and in the dark',
    async (path) => {
      await buildIfChanged();
      for (const [colorScheme, viewport] of [
        ['light', DESK],
        ['dark', PHONE],
      ] as const) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        await page.goto(site + path);
        await page.locator('main h2').first().waitFor();
        expect(await axeFindings(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
      }
      expect(complaints).toEqual([]);
    },
  );
});

/** Blocks of `sh` are run as they stand. Blocks of `bash` are only read. */
const scripts = DOCUMENTS.filter((path) => path !== 'README.md').flatMap((path) =>
  getCodeBlocks(path, 'sh')
    .filter((script) => script.includes('curl '))
    .map((script) => ({ path, script })),
);

it.each(scripts)('the curl lines of $path work unchanged: $script', async ({ script }) => {
  expect(script).toContain('http://localhost:3001/');
  const ours = script
    .replaceAll('http://localhost:3001', rig().service.origin)
    .replaceAll('curl ', 'curl -f ');
  const { stdout } = await promisify(execFile)('sh', ['-ec', ours], {
    cwd: rig().project.directory,
  });
  if (script.includes('If-None-Match')) expect(stdout).toBe('304\n');
  else expect(stdout).toMatch(/^\{"object":/);
});

async function sendHook(slugs: string[] | null): Promise<number> {
  const body = JSON.stringify({ slugs });
  const [id, at] = ['msg_1', new Date()];
  const signature = new Webhook(SECRET).sign(id, at, body);
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signed = {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  };
  const sent = await fetch(`${site}/feed-changed`, { method: 'POST', headers: signed, body });
  return sent.status;
}

it('renew-pages.ts renews every page at a hook without slugs, and a page without its hook in an hour', async () => {
  const { getListing } = await import('../../docs/examples/renew-pages.ts');
  const slug = anotherListed() ?? '';
  expect(await getListing(slug)).toMatchObject({ slug });
  await rig().change({ slug, status: 'hidden' });
  expect(await getListing(slug)).toMatchObject({ slug });
  expect(await sendHook(['casa-azul'])).toBe(204);
  expect(await getListing(slug)).toMatchObject({ slug });
  expect(await sendHook(null)).toBe(204);
  expect(await getListing(slug)).toBeNull();

  await rig().change({ slug, status: 'listed' });
  expect(await getListing(slug)).toMatchObject({ slug });
  await rig().change({ slug, status: 'hidden' });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_001 });
  await getListing(slug);
  await expect.poll(() => getListing(slug)).toBeNull();
  vi.useRealTimers();
  await rig().change({ slug, status: 'listed' });
});

// Last: the listing has another slug afterwards.
it('renew-pages.ts shows an import after a signed hook and not before, and finds a renamed listing', async () => {
  const { findRenamed, getCards, getListing } = await import('../../docs/examples/renew-pages.ts');
  const [id = ''] = listingsWhere(`slug = '${SLUG}'`);
  await rig().change({ id, title: { en: 'Before' } });
  expect((await getListing(SLUG))?.title.en).toBe('Before');
  expect((await getCards()).find(({ slug }) => slug === SLUG)?.title.en).toBe('Before');
  await rig().change({ id, title: { en: 'After' } });
  const forged = await fetch(`${site}/feed-changed`, { method: 'POST', body: '{"slugs":null}' });
  expect(forged.status).toBe(401);
  expect((await getListing(SLUG))?.title.en).toBe('Before');
  await rig().change({ id, slug: 'casa-nueva' }, '--notify', `${site}/feed-changed`);
  expect(await getListing(SLUG)).toBeNull();
  expect(await findRenamed(SLUG)).toBe('casa-nueva');
  const renamed = await getListing('casa-nueva');
  expect(renamed?.title.en).toBe('After');
  const cards = await getCards();
  expect(cards.find(({ slug }) => slug === 'casa-nueva')?.title.en).toBe('After');
  const sent = rig().requests.length;
  expect([await getListing('casa-nueva'), await getCards()]).toEqual([renamed, cards]);
  expect(rig().requests).toHaveLength(sent);
});
