/** Tests the example programs that copy the feed, build a site from it, or serve a live site. */

import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { useTestService } from '../../support/node/example-service.ts';
import {
  build,
  buildIfChanged,
  findOtherSlug,
  listListings,
  listPublicSlugs,
  readPages,
  readSiteFile,
  SITE_URL,
  SLUG,
  servePages,
} from './built-site.ts';

const service = useTestService();

it('keep-copy.ts keeps a complete copy even if it is killed and the database is restored', async () => {
  const listCopied = () => {
    const file = join(service().makeFolder('copy'), 'copy.json');
    if (!existsSync(file)) return [];
    const copy = z.object({ listings: z.record(z.string(), z.unknown()) });
    return Object.keys(copy.parse(JSON.parse(readFileSync(file, 'utf8'))).listings).sort();
  };
  const listPublicIds = () => listListings(`status <> 'hidden'`);
  const folder = service().changeExamples({ 'keep-copy.ts': [['limit=100', 'limit=10']] });
  const program = join(folder, 'keep-copy.ts');
  const killed = service().start(program, 'copy');
  await expect.poll(listCopied).toEqual(listPublicIds());
  killed.child.kill('SIGKILL');
  await service().change({ slug: SLUG, is_early_access: true });
  const keeper = service().start(program, 'copy');
  await expect.poll(() => keeper.lines[0]).toBe(`published ${SLUG}`);
  const hidden = findOtherSlug();
  await service().change({ slug: hidden, status: 'hidden' });
  await expect.poll(() => keeper.lines).toContain(`removed ${hidden}`);
  await expect.poll(listCopied).toEqual(listPublicIds());

  const [undone = ''] = listPublicIds();
  const before = listCopied();
  // After the cursor has been rejected, the proxy delays a later page of the new pass.
  const page = Promise.withResolvers<undefined>();
  service().faults.push(undefined, undefined, undefined, page.promise);
  await service().rewind(`DELETE FROM properties WHERE id = '${undone}'`);
  await expect.poll(() => service().faults).toEqual([]);
  expect(listCopied()).toEqual(before);
  page.resolve(undefined);
  await expect.poll(listCopied).toEqual(listPublicIds());
});

it('build-site.ts writes a page for every public listing in every language', async () => {
  // A proxy may send `Retry-After` as a date, which has no fractions of a second.
  const later = new Date(Date.now() + 2_000).toUTCString();
  service().faults.push({ status: 503, headers: { 'Retry-After': later } });
  expect(await build()).toEqual([expect.stringMatching(/ 503, next attempt in [12] s$/)]);
  const first = readPages();
  await build();
  expect(service().statuses).toEqual([503, 200, 304]);
  expect(readPages()).toEqual(first);

  const [soldOut = ''] = listListings(`status = 'sold_out'`, 'slug');
  await service().change({ id: listListings(`slug = '${soldOut}'`)[0], slug: 'index' });
  expect(await build()).toEqual([expect.stringContaining('no page for the slug "index"')]);
  expect(readSiteFile('404.html')).toContain('<h1>No such page</h1>');
  const expected = ['en', 'es', 'fr'].flatMap((language) => [
    `${language}/index.html`,
    ...listPublicSlugs()
      .filter((slug) => slug !== 'index')
      .map((slug) => `${language}/listings/${slug}.html`),
  ]);
  expect([...readPages().keys()].sort()).toEqual(['404.html', ...expected].sort());
  await service().change({ id: listListings(`slug = 'index'`)[0], slug: soldOut });
});

/**
 * Text on the page of a listing that has every field. The first two entries also appear on its
 * card.
 */
const EXPECTED_TEXTS = {
  en: [
    /From €289,000 · share of 1\/8 · 6\sweeks a year/,
    /Deià, <span lang="en">Mallorca</,
    />Beach · 4\sbedrooms · 6\sbeds · 4\sbathrooms · 2\sbathtubs · 8\sguests · 268\sm²</,
    />Watch the video<.*>Financial analysis</s,
    />What sets it apart<.*>Infinity pool</s,
    />Amenities<.*>Wi-Fi</s,
    />Where it is<.*>Camí de sa Ginebrera 7, Deià, .*>See it on a map</s,
    />More homes in the same place<.*<h3/s,
    // The other photos follow the hero photo, which is not repeated.
    /class="hero"><img src="[^"]*01-stone-house.*class="photos">(?:<img src="[^"]*\/0[2-9]-[^>]*>\n?)+</s,
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

it.each(Object.entries(EXPECTED_TEXTS))(
  'build-site.ts shows every field of a listing in %s',
  async (language, texts) => {
    await buildIfChanged();
    const isMissing = (path: string) => (text: RegExp) =>
      !text.test(readSiteFile(`${language}/${path}.html`));
    expect(texts.slice(0, 2).filter(isMissing('index'))).toEqual([]);
    expect(texts.filter(isMissing(`listings/${SLUG}`))).toEqual([]);
  },
);

it('build-site.ts adds product data for search engines if a listing has a price and a photo', async () => {
  await buildIfChanged();
  const offers = [...readPages()]
    .filter(([path]) => path.startsWith('en/listings/'))
    .map(([, page]) => JSON.parse(/ld\+json">(.*)<\/script>/.exec(page)?.[1] ?? ''))
    .filter((data) => data['@type'].includes('Product'))
    .map(({ image, offers }) => image.length > 0 && offers);
  const hasOffer = `status <> 'hidden' AND json_array_length(document, '$.gallery') > 0
    AND document ->> '$.price_from' IS NOT NULL`;
  expect(offers).toHaveLength(listListings(hasOffer).length);
  expect(offers).toContainEqual({
    '@type': 'Offer',
    name: 'share of 1/8 · 6\u00a0weeks a year',
    price: 289000,
    priceCurrency: 'EUR',
    availability: 'https://schema.org/InStock',
  });
});

it('build-site.ts escapes text and links the language versions of a page', async () => {
  const es = '<x>"\'&';
  const text = { en: null, fr: null, es };
  await service().change({
    slug: SLUG,
    title: text,
    description: { ...text, es: `${es}\n\nDos` },
    location_text: text,
    address: es,
    city: es,
    unique_features: [{ icon_slug: 'a', label: { es } }],
  });
  await build();
  const page = readSiteFile(`en/listings/${SLUG}.html`);
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
  expect(readSiteFile('fr/index.html')).toContain(`<meta property="og:locale" content="fr_FR">
<meta property="og:locale:alternate" content="en_GB">
<meta property="og:locale:alternate" content="es_ES">`);
});

it('Cloudflare Pages serves every URL of the site with the right status', async () => {
  const [renamed = '', hidden = ''] = listPublicSlugs().filter((slug) => slug !== SLUG);
  await service().change({ id: listListings(`slug = '${renamed}'`)[0], slug: 'new-name' });
  await service().change({ slug: hidden, status: 'hidden' });
  await build();
  await build('site-files.ts');
  const { origin, stop } = await servePages();
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
    const sitemap = readSiteFile('sitemap.xml');
    const paths = [...sitemap.matchAll(/<loc>https:..www.example.com(.*?)<.loc>/g)].map(
      ([, path = '']) => path,
    );
    const slugs = new Set(paths.map((path) => path.replace(/^.*\//, '')));
    // The URLs of list pages do not end with a slug.
    expect([...slugs].sort()).toEqual(['', ...listPublicSlugs()]);
    expect(paths.filter((path) => path.endsWith(SLUG))).toEqual([`/es/listings/${SLUG}`]);
    expect(sitemap).toContain(
      `<xhtml:link rel="alternate" hreflang="x-default" href="${SITE_URL}/es/listings/${SLUG}"/>`,
    );
    for (const path of paths) expect([path, ...(await visit(path))]).toEqual([path, 200, null]);
  } finally {
    await stop();
  }
});

it('live-page.ts shows the current state of each page', async () => {
  const server = service().start('live-page.ts', 'live', [], { PORT: '0' });
  await expect.poll(() => server.lines).toHaveLength(1);
  const visit = async (path: string) => {
    const response = await fetch(`${server.lines[0]}${path}`);
    return `${response.status} ${await response.text()}`;
  };
  const [listedSlug] = listListings(`status = 'listed'`, 'slug');
  expect(await visit('')).toContain(`<a href="/listings/${listedSlug}">`);
  const first = await visit(`/listings/${SLUG}`);
  expect(first).toContain('From €289,000 · share of 1/8');
  expect(await visit(`/listings/${SLUG}`)).toBe(first);
  expect(service().statuses).toEqual([200, 200, 304]);
  service().faults.push({ status: 500 });
  expect(await visit('/listings/not-visited-yet')).toMatch(/^503 /);
  expect(await visit('/listings/no-such-listing')).toMatch(/^404 /);
});

it('live-page.ts rejects malformed requests without calling the feed', async () => {
  const server = service().start('live-page.ts', 'live', [], { PORT: '0' });
  await expect.poll(() => server.lines).toHaveLength(1);
  const { hostname, port } = new URL(server.lines[0] ?? '');
  const send = async (head: string) => {
    const socket = connect(Number(port), hostname);
    socket.end(`${head} HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n`);
    return (await text(socket)).split('\r\n')[0];
  };
  expect(await send('GET //')).toBe('HTTP/1.1 404 Not Found');
  expect(await send('GET /%')).toBe('HTTP/1.1 404 Not Found');
  expect(await send('GET http://[/')).toBe('HTTP/1.1 404 Not Found');
  expect(await send('DELETE /')).toBe('HTTP/1.1 405 Method Not Allowed');
  expect(service().requests).toEqual([]);
  expect((await fetch(`${server.lines[0]}/`)).status).toBe(200);
});
