/** The programs of docs/examples that read the listings, and the curl lines of the documents. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { command as importCommand } from '../../tools/import-listings.ts';
import { hasChromium, openBrowser } from '../support/node/browser.ts';
import { runImportOn } from '../support/node/in-process.ts';
import { API_KEY, exampleOf, listen, SOON, useRig } from './example-rig.ts';
import { codeBlocksOf, DOCUMENTS } from './markdown.ts';

const SITE_KEY = 'epf_site_of-the-cards-page';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SITE_URL = 'https://www.example.com';
const SLUG = 'casa-ginebrera';
const servers: Server[] = [];
let site = '';

vi.stubEnv('SITE_URL', SITE_URL);
vi.stubEnv('PUBLISH_HOOK_SECRET', SECRET);

const rig = useRig(async () => {
  site = await listen(servers, async (request, response) => {
    const { url = '', method = '' } = request;
    if (method === 'GET') {
      response.setHeader('Content-Type', 'text/html');
      response.end(url === '/' ? cardsPage() : '');
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

afterAll(() => {
  vi.unstubAllEnvs();
  for (const server of servers) server.close();
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
  const program = rig().variantOf('keep-copy.ts', 'limit=100', 'limit=10');
  const killed = rig().start(program, 'copy');
  await expect.poll(copied, SOON).toEqual(publicIds());
  killed.child.kill('SIGKILL');
  await rig().change({ slug: SLUG, city: 'Sóller' });
  const keeper = rig().start(program, 'copy');
  await expect.poll(() => keeper.lines[0], SOON).toBe(`published ${SLUG}`);
  const hidden = anotherListed();
  await rig().change({ slug: hidden, status: 'hidden' });
  await expect.poll(() => keeper.lines, SOON).toContain(`removed ${hidden}`);
  await expect.poll(copied, SOON).toEqual(publicIds());

  const [undone = ''] = publicIds();
  const before = copied();
  // After the rejected cursor, the third page of the new pass comes a second late.
  const late = { status: 503, headers: { 'Retry-After': '1' } };
  rig().faults.push(undefined, undefined, undefined, late);
  rig().statuses.length = 0;
  await rig().rewind(`DELETE FROM properties WHERE id = '${undone}'`);
  await expect.poll(() => rig().statuses, SOON).toContain(503);
  expect(copied()).toEqual(before);
  await expect.poll(copied, SOON).toEqual(publicIds());
});

it('build-site.ts has a page for each public listing in each language, transfers only what has changed, and agrees with the sitemap', async () => {
  const folder = join(rig().folderOf('built'), 'site');
  const pages = () =>
    new Map(
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.html'))
        .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
    );
  const build = () => rig().runOnce(exampleOf('build-site.ts'), 'built');
  // A proxy's date, which is cut to a second.
  const later = new Date(Date.now() + 2_000).toUTCString();
  rig().faults.push({ status: 503, headers: { 'Retry-After': later } });
  expect((await build()).stderr).toMatch(/ 503, next attempt in [12] s$/m);
  const first = pages();
  await build();
  expect(rig().statuses).toEqual([503, 200, 304]);
  expect(pages()).toEqual(first);

  const title = { en: null, fr: null, es: 'Casa <nueva>' };
  const description = { en: null, fr: null, es: 'Uno\n\nDos' };
  await rig().change({ slug: SLUG, title, description });
  await rig().change({ slug: anotherListed(), status: 'hidden' });
  await build();
  const page = pages().get(`en/${SLUG}.html`);
  expect(page).toContain('<h2 lang="es">Casa &#60;nueva&#62;</h2>');
  expect(page).toContain('<div lang="es">Uno<br><br>Dos</div>');
  const slugs = listingsWhere(`status <> 'hidden'`, 'slug');
  const expected = ['en', 'es', 'fr'].flatMap((at) => slugs.map((slug) => `${at}/${slug}.html`));
  const found = [...pages().keys()].filter((name) => !name.endsWith('/index.html'));
  expect(found.sort()).toEqual(expected.sort());

  await rig().runOnce(exampleOf('site-files.ts'), 'built');
  const sitemap = readFileSync(join(folder, 'sitemap.xml'), 'utf8');
  const listed = [...sitemap.matchAll(/<loc>https:..www.example.com.(.*?)<.loc>/g)];
  expect(listed.map(([, name]) => name).sort()).toEqual(expected);
});

it('live-page.ts shows each page as it is now, and the latest one while the feed fails', async () => {
  const server = rig().start(exampleOf('live-page.ts'), 'live', [], { PORT: '0' });
  await expect.poll(() => server.lines, SOON).toHaveLength(1);
  const visit = async (path: string) => {
    const response = await fetch(`${server.lines[0]}${path}`);
    return `${response.status} ${await response.text()}`;
  };
  const fail = (times: number) => rig().faults.push(...Array(times).fill({ status: 500 }));
  expect(await visit('')).toContain(`200 <ul><li><a href="/`);
  const first = await visit(`/${SLUG}`);
  expect(first).toMatch(/^200 <h1>/);
  expect(await visit(`/${SLUG}`)).toBe(first);
  expect(rig().statuses).toEqual([200, 200, 304]);
  fail(2);
  expect(await visit(`/${SLUG}`)).toBe(first);
  expect(await visit('/not-visited-yet')).toMatch(/^503 /);
  expect(await visit('/no-such-home')).toMatch(/^404 /);
});

it('listings.json is a file that an import takes', async () => {
  const file = exampleOf('listings.json');
  const done = await runImportOn(rig().service.database, importCommand, file, '--dry-run');
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('New: casa-marea') });
});

function cardsPage(): string {
  const html = readFileSync('docs/examples/cards.html', 'utf8');
  expect(html).toContain('http://localhost:3001');
  return html.replace('http://localhost:3001', rig().origin).replace('KEY_OF_THE_SCRIPT', SITE_KEY);
}

it.skipIf(!hasChromium)(
  'cards.html shows the listed homes in each language, and filters them without a request',
  async () => {
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      const complaints: string[] = [];
      await page.route('https://images.example.com/**', (route) => route.fulfill({ body: '' }));
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
      });
      await page.goto(site);
      for (const language of ['fr', 'en']) {
        await page.click(`button[lang=${language}]`);
        await page.waitForSelector(`main[lang=${language}]`);
        expect(await page.locator('h2').count()).toBe(listingsWhere(`status = 'listed'`).length);
        expect(rig().requests.at(-1)).toContain(`&locale=${language}`);
      }
      const sent = rig().requests.length;
      await page.fill('input[name=bedrooms]', '3');
      const fitting = `status = 'listed' AND source ->> '$.bedrooms' >= 3`;
      expect(await page.locator('main a').count()).toBe(listingsWhere(fitting).length);
      expect([rig().requests.length, complaints]).toEqual([sent, []]);
    } finally {
      await browser.close();
    }
  },
);

/** Blocks of `sh` are run as they stand. Blocks of `bash` are only read. */
const scripts = DOCUMENTS.filter((path) => path !== 'README.md').flatMap((path) =>
  codeBlocksOf(path, 'sh')
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

// Last: the listing has another slug afterwards.
it('renew-pages.ts shows an import after a signed hook and not before, and finds a renamed listing, which site-files.ts redirects to', async () => {
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

  await rig().runOnce(exampleOf('site-files.ts'), 'files');
  const redirects = readFileSync(join(rig().folderOf('files'), 'site/_redirects'), 'utf8');
  expect(redirects).toBe(
    ['en', 'es', 'fr'].map((at) => `/${at}/${SLUG}.html /${at}/casa-nueva.html 301\n`).join(''),
  );
});
