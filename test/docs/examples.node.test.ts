/**
 * The programs in docs/examples and the curl lines of the documents, run against one service behind
 * a proxy with faults.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { v5 } from 'uuid';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { jsonLd } from '../../docs/examples/json-ld.ts';
import { importListings } from '../../tools/import/command.ts';
import { hasChromium, openBrowser } from '../support/node/browser.ts';
import { runImportOn } from '../support/node/in-process.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import type { ServedCopy } from '../support/node/served-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { codeBlocksOf, DOCUMENTS } from './markdown.ts';

const API_KEY = 'dev_key_4f1c09a7b25e4d8391';
const SITE_KEY = 'epf_site_of-the-cards-page';
const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SITE_URL = 'https://www.example.com';
const SLUG = 'casa-ginebrera';
const SOON = { timeout: 20_000 };
const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'examples-'));

/**
 * `lost`: the service handles the request, and its response is lost. A status of 0 is no response.
 */
type Fault = 'lost' | { status: number; headers?: Record<string, string> };

const started: ChildProcess[] = [];
const servers: Server[] = [];
/** The proxy's: requests and statuses of the current client, and faults of its next requests. */
const requests: string[] = [];
const statuses: number[] = [];
const faults: (Fault | undefined)[] = [];
let clients = 0;
let project: ProjectCopy;
let service: ServedCopy;
let proxy = '';
let site = '';

beforeAll(async () => {
  site = await listen(async (request, response) => {
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
  project = await copyWithStore('samples');
  const sha256 = createHash('sha256').update(SITE_KEY).digest('hex');
  const keys = JSON.stringify([{ name: 'site', scopes: ['feed:read'], sha256 }]);
  const vars = [`API_KEY=${API_KEY}`, `API_KEYS='${keys}'`, `CORS_ORIGINS=${site}`];
  project.write('.dev.vars', `ENVIRONMENT=development\n${vars.join('\n')}\n`);
  service = await project.serve();
  proxy = await listen(async (request, response) => {
    if (request.method !== 'OPTIONS') requests.push(`${request.method} ${request.url}`);
    const fault = faults.shift();
    const client = new AbortController();
    response.on('close', () => client.abort());
    const reply =
      typeof fault === 'object'
        ? fault.status > 0 && new Response('{}', fault)
        : await passOn(request, client.signal).catch(() => undefined);
    if (!reply || fault === 'lost') return request.socket.destroy();
    statuses.push(reply.status);
    const { 'content-encoding': _, ...headers } = Object.fromEntries(reply.headers);
    response.writeHead(reply.status, headers);
    return response.end(await reply.text());
  });
  Object.assign(process.env, { API_URL: proxy, API_KEY, SITE_URL, PUBLISH_HOOK_SECRET: SECRET });
  vi.resetModules();
});

/** Ends the programs that a test has started. */
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

// Each test is another client.
beforeEach(() => {
  clients += 1;
  requests.length = 0;
  statuses.length = 0;
  faults.length = 0;
});

afterAll(async () => {
  for (const server of servers) server.close();
  await project?.remove();
  rmSync(directory, { recursive: true });
});

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0);
  servers.push(server);
  await once(server, 'listening');
  return `http://localhost:${z.object({ port: z.int() }).parse(server.address()).port}`;
}

/** Sends a request on as the current client. Rejects when its sender hangs up. */
async function passOn(request: IncomingMessage, signal: AbortSignal): Promise<Response> {
  const { host: _, connection: __, 'content-length': ___, ...rest } = request.headers;
  const headers = z.record(z.string(), z.string()).parse(rest);
  const { method = 'GET' } = request;
  return fetch(`${service.origin}${request.url}`, {
    method,
    headers: { ...headers, 'CF-Connecting-IP': `192.0.2.${clients}` },
    ...(method === 'POST' && { body: Buffer.concat(await request.toArray()) }),
    signal,
  });
}

/** Writes a changed example into its own folder. Returns the path of the program. */
function variantOf(name: string, from: string, to: string): string {
  const folder = mkdtempSync(join(directory, 'variant-'));
  const source = readFileSync(join('docs/examples', name), 'utf8');
  expect(source).toContain(from);
  writeFileSync(join(folder, name), source.replace(from, to));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  copyFileSync('docs/examples/call.ts', join(folder, 'call.ts'));
  return join(folder, name);
}

const exampleOf = (name: string) => resolve('docs/examples', name);

function folderOf(name: string): string {
  const cwd = join(directory, name);
  mkdirSync(cwd, { recursive: true });
  return cwd;
}

/** Starts a program that runs until it is killed. Returns it with the lines that it prints. */
function start(program: string, folder: string, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['--no-warnings', program], {
    cwd: folderOf(folder),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  started.push(child);
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const ended = once(child, 'close');
  return { child, lines, ended, ids: () => lines.map((line) => line.split(' ')[0] ?? '') };
}

/** Runs a program to its end. */
const runOnce = (program: string, folder: string, ...args: string[]) =>
  run(process.execPath, ['--no-warnings', program, ...args], { cwd: folderOf(folder) });

/** Changes the listings, as an editor does. */
async function change(record: object, ...options: string[]): Promise<void> {
  const file = project.write('patch.json', { properties: [record] });
  const done = await runImportOn(service.database, importListings, file, '--patch', ...options);
  expect(done).toMatchObject({ code: 0 });
}

/** Undoes changes as a rewind does, after which the database has a new generation. */
async function rewind(undo: string): Promise<void> {
  const { database } = service;
  const renew = database.prepare('UPDATE database_identity SET generation = ?');
  await database.batch([database.prepare(undo), renew.bind(crypto.randomUUID())]);
}

const eventOf = (idempotency_key: string, aggregate_id: string) => ({
  idempotency_key,
  event_type: 'booking.cancelled',
  aggregate_id,
  aggregate_type: 'booking',
  payload: {},
});

/**
 * Stores events as a batch: KV does not know the key of an event that is undone. Returns the ids.
 */
async function post(...keys: string[]): Promise<string[]> {
  const response = await fetch(`${service.origin}/api/public/events/ingest/batch`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify({ events: keys.map((key) => eventOf(key, 'followed')) }),
  });
  const result = z.object({ outcome: z.literal('accepted'), event: z.object({ id: z.string() }) });
  const { data } = z.object({ data: z.array(result) }).parse(await response.json());
  return data.map(({ event }) => event.id);
}

const storedEvents = (where = '1') =>
  project.rows(`SELECT id FROM events WHERE ${where} ORDER BY seq`).map(({ id }) => String(id));

describe('follow-events.ts', () => {
  const FOLLOW = exampleOf('follow-events.ts');

  it('loses nothing when it is killed, and repeats the one event whose id was not written', async () => {
    const keys = Array.from({ length: 120 }, (_, index) => `followed-${index}`);
    const ids = [...(await post(...keys.slice(0, 60))), ...(await post(...keys.slice(60)))];
    const kill = `if (event.id === '${ids[104]}') process.kill(process.pid, 'SIGKILL');`;
    const killed = start(
      variantOf('follow-events.ts', 'handled.add(event.id);', kill),
      'follow-killed',
    );
    await killed.ended;
    expect(killed.ids()).toEqual(ids.slice(0, 105));
    const again = start(FOLLOW, 'follow-killed');
    await expect.poll(again.ids, SOON).toEqual(ids.slice(104));
  });

  it('begins at the time that it gets after a rewind, and skips the events that it has handled', async () => {
    const since = new Date().toISOString();
    const [undone = ''] = await post('undone');
    const follower = start(FOLLOW, 'follow-rewound');
    await expect.poll(() => follower.ids().at(-1), SOON).toBe(undone);
    await rewind(`DELETE FROM events WHERE id = '${undone}'`);
    await follower.ended;
    const [missed = ''] = await post('missed');
    expect(await post('undone')).toEqual([undone]);
    await expect(runOnce(FOLLOW, 'follow-rewound')).rejects.toMatchObject({
      stderr: expect.stringContaining('invalid_cursor'),
    });
    const again = start(FOLLOW, 'follow-rewound', { SINCE: since });
    const [newest = ''] = await post('newest');
    await expect.poll(again.ids, SOON).toEqual([missed, newest]);
  });
});

describe('send-events.ts', () => {
  const SEND = exampleOf('send-events.ts');

  it('sends the events that have not arrived, when it is killed and run again', async () => {
    const keys = Array.from({ length: 450 }, (_, index) => `sent-ü-${index}`);
    const [held = ''] = keys.slice(420);
    await post(held);
    const file = join(directory, 'events.jsonl');
    writeFileSync(file, keys.map((key) => `${JSON.stringify(eventOf(key, 'sent'))}\n`).join(''));
    // The response to the third batch is lost, and the program is killed before it sends it again.
    const rejected = { status: 429, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } };
    faults.push(rejected, undefined, undefined, undefined, 'lost');
    const child = spawn(process.execPath, ['--no-warnings', SEND, file], { stdio: 'ignore' });
    started.push(child);
    await expect.poll(() => storedEvents("aggregate_id = 'sent'").length, SOON).toBe(300);
    child.kill('SIGKILL');
    await once(child, 'close');

    faults.push(undefined, undefined, undefined, undefined, 'lost');
    const { stdout, stderr } = await runOnce(SEND, 'send', file);
    expect(stdout.trim().split('\n')).toEqual([
      '0: 100 have arrived, 0 to send',
      '100: 100 have arrived, 0 to send',
      '200: 100 have arrived, 0 to send',
      '300: 0 have arrived, 100 to send',
      '400: 0 have arrived, 50 to send',
    ]);
    expect(stderr.trim()).toBe(`${held} idempotency_key_in_use`);
    expect(storedEvents("aggregate_id = 'sent'")).toEqual(
      keys.filter((key) => key !== held).map((key) => v5(key, NAMESPACE)),
    );
  });

  it('ends with the reason when an event is not valid', async () => {
    const file = join(directory, 'wrong.jsonl');
    writeFileSync(file, JSON.stringify({ ...eventOf('wrong', 'wrong'), event_type: 'unknown' }));
    await expect(runOnce(SEND, 'send', file)).rejects.toMatchObject({
      stderr: expect.stringContaining('events.0.event_type'),
    });
  });
});

it('outbox.ts sends each event once in its order, and sets aside an event that is rejected', async () => {
  const OUTBOX = exampleOf('outbox.ts');
  const rows = () => {
    const database = new DatabaseSync(join(directory, 'outbox/bookings.sqlite'), {
      timeout: 5_000,
    });
    const found = database.prepare('SELECT key, problem FROM outbox ORDER BY seq').all();
    database.close();
    return found.map(({ key, problem }) => [key, String(problem)]);
  };
  await runOnce(OUTBOX, 'outbox', 'bk_7', '4');
  await runOnce(OUTBOX, 'outbox', 'bk_8', '0');
  await runOnce(OUTBOX, 'outbox', 'bk_9', '2');
  const kill = "process.kill(process.pid, 'SIGKILL')";
  await start(variantOf('outbox.ts', 'remove.run(Number(row.seq))', kill), 'outbox').ended;

  faults.push(undefined, undefined, 'lost');
  const sender = start(OUTBOX, 'outbox');
  await expect
    .poll(rows, SOON)
    .toEqual([['bk_8-created', expect.stringContaining('payload.guests')]]);
  expect(statuses).toEqual([202, 200, 400, 200]);
  expect(storedEvents("aggregate_id IN ('bk_7', 'bk_8', 'bk_9')")).toEqual(
    ['bk_7-created', 'bk_9-created'].map((key) => v5(key, NAMESPACE)),
  );

  faults.push({ status: 401, headers: { 'X-Should-Retry': 'false' } });
  await runOnce(OUTBOX, 'outbox', 'bk_10', '2');
  await sender.ended;
  expect(rows()[1]).toEqual(['bk_10-created', 'null']);
});

describe('keep-copy.ts', () => {
  const KEEP = exampleOf('keep-copy.ts');
  const copied = () => {
    const file = join(directory, 'copy/copy.json');
    if (!existsSync(file)) return [];
    const copy = z.object({ listings: z.record(z.string(), z.unknown()) });
    return Object.keys(copy.parse(JSON.parse(readFileSync(file, 'utf8'))).listings).sort();
  };
  const publicIds = () =>
    project
      .rows(`SELECT id FROM properties WHERE status <> 'hidden' ORDER BY id`)
      .map(({ id }) => String(id));

  it('continues where it was killed, follows the catalogue, and starts over after a rewind', async () => {
    const kill = "if (existsSync(FILE)) process.kill(process.pid, 'SIGKILL');";
    const killed = start(
      variantOf('keep-copy.ts', '  store(copy);', `${kill} store(copy);`),
      'copy',
    );
    await expect.poll(copied, SOON).toEqual(publicIds());
    await change({ slug: SLUG, city: 'Sóller' });
    await killed.ended;
    const keeper = start(KEEP, 'copy');
    await expect.poll(() => keeper.lines, SOON).toEqual([`published ${SLUG}`]);
    await change({ slug: SLUG, status: 'hidden' });
    await expect.poll(() => keeper.lines.at(-1), SOON).toBe(`removed ${SLUG}`);
    await expect.poll(copied, SOON).toEqual(publicIds());

    await change({ slug: SLUG, status: 'listed' });
    await expect.poll(copied, SOON).toEqual(publicIds());
    const [undone = ''] = publicIds();
    await rewind(`DELETE FROM properties WHERE id = '${undone}'`);
    await expect.poll(copied, SOON).toEqual(publicIds());
    expect(copied()).not.toContain(undone);
  });
});

describe('build-site.ts', () => {
  const build = async () => {
    statuses.length = 0;
    await runOnce(exampleOf('build-site.ts'), 'built');
    return [...statuses];
  };
  const pages = () =>
    new Map(
      readdirSync(join(directory, 'built/site'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.html'))
        .map((name) => [name, readFileSync(join(directory, 'built/site', name), 'utf8')]),
    );

  it('builds a page for each listing in each language, then transfers only what has changed', async () => {
    faults.push({ status: 500, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } });
    expect(await build()).toEqual([500, 200]);
    const first = pages();
    expect(first.size).toBeGreaterThan(3 * 40);
    expect(await build()).toEqual([304]);
    expect(pages()).toEqual(first);

    const texts = { title: { en: null, fr: null, es: 'Casa <nueva>' } };
    const description = { en: null, fr: null, es: 'Uno\n\nDos' };
    await change({ slug: SLUG, ...texts, description });
    expect(await build()).toEqual([200]);
    const page = pages().get(`en/${SLUG}.html`);
    expect(page).toContain('<h2 lang="es">Casa &#60;nueva&#62;</h2>');
    expect(page).toContain('<div lang="es">Uno<br><br>Dos</div>');
    const changed = [...pages()].filter(([name, page]) => first.get(name) !== page);
    // The listing's own pages, and the list pages that show it.
    expect(changed).toHaveLength(6);
  });
});

describe('renew-pages.ts', () => {
  const notify = () => ['--notify', `${site}/feed-changed`];

  it('shows an import at the next visit after a signed hook, and not before', async () => {
    const { getCards, getListing } = await import('../../docs/examples/renew-pages.ts');
    const titleOf = async () => (await getListing(SLUG))?.title.en;
    await change({ slug: SLUG, title: { en: 'Before' } });
    expect(await titleOf()).toBe('Before');
    await change({ slug: SLUG, title: { en: 'After' } });
    const forged = await fetch(`${site}/feed-changed`, { method: 'POST', body: '{"slugs":null}' });
    expect([forged.status, await titleOf()]).toEqual([401, 'Before']);
    await change({ slug: SLUG, title: { en: 'Later' } }, ...notify());
    expect(await titleOf()).toBe('Later');
    const cards = await getCards();
    expect(cards.find(({ slug }) => slug === SLUG)?.title.en).toBe('Later');
    expect(await getListing('no-such-home')).toBeNull();
    const sent = requests.length;
    expect([await titleOf(), await getCards()]).toEqual(['Later', cards]);
    expect(requests).toHaveLength(sent);
  });

  it('finds the new slug of a renamed listing, which site-files.ts redirects to', async () => {
    const { findRenamed, getListing } = await import('../../docs/examples/renew-pages.ts');
    const [{ id } = {}] = project.rows(`SELECT id FROM properties WHERE slug = '${SLUG}'`);
    await change({ id, slug: 'casa-nueva' }, ...notify());
    expect(await getListing(SLUG)).toBeNull();
    expect(await findRenamed(SLUG)).toBe('casa-nueva');

    await runOnce(exampleOf('site-files.ts'), 'files');
    const written = (name: string) => readFileSync(join(directory, 'files/site', name), 'utf8');
    expect(written('sitemap.xml')).toMatch(
      new RegExp(`<loc>${SITE_URL}/fr/casa-nueva.html</loc><lastmod>20[^<]+Z</lastmod>`),
    );
    expect(written('_redirects')).toBe(
      ['en', 'es', 'fr'].map((at) => `/${at}/${SLUG}.html /${at}/casa-nueva.html 301\n`).join(''),
    );
    await change({ id, slug: SLUG });
  });
});

it('listings.json is a file that an import takes', async () => {
  const file = exampleOf('listings.json');
  const done = await runImportOn(service.database, importListings, file, '--dry-run');
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('New: casa-marea') });
});

it('json-ld.ts describes a share, leaves out what is null, and ends no script element', async () => {
  const response = await fetch(`${service.origin}/api/v1/web/properties/${SLUG}?fresh=true`, {
    headers: { 'x-api-key': API_KEY },
  });
  const listing = await response.json<Parameters<typeof jsonLd>[0]>();
  const title = { en: 'A </script> in a title' };
  const json = jsonLd({ ...listing, title, price_from: 98_000, latitude: null }, 'en');
  expect(json).not.toMatch(/<|null/);
  expect(JSON.parse(json)).toMatchObject({
    '@type': ['Accommodation', 'Product'],
    name: title.en,
    offers: { price: 98_000, priceCurrency: 'EUR' },
  });
});

function cardsPage(): string {
  const html = readFileSync('docs/examples/cards.html', 'utf8');
  expect(html).toContain('http://localhost:3001');
  return html.replace('http://localhost:3001', proxy).replace('KEY_OF_THE_SCRIPT', SITE_KEY);
}

it.skipIf(!hasChromium)(
  'cards.html shows the listed homes in each language, and filters them without a request',
  async () => {
    const listed = project
      .rows(`SELECT slug, source FROM properties WHERE status = 'listed'`)
      .map(({ slug, source }) => ({
        slug: String(slug),
        ...prices.parse(JSON.parse(String(source))),
      }));
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
      for (const language of ['fr', 'es', 'en']) {
        await page.click(`button[lang=${language}]`);
        await page.waitForSelector(`main[lang=${language}]`);
        expect(await page.locator('h2').count()).toBe(listed.length);
        expect(requests.at(-1)).toContain(`&locale=${language}`);
      }
      const sent = requests.length;
      await page.fill('input[name=price]', '150000');
      await page.fill('input[name=bedrooms]', '3');
      const links = await page
        .locator('main a')
        .evaluateAll((all) => all.map((link) => link.getAttribute('href')?.split('/').at(-1)));
      const fitting = listed.filter(
        ({ price_from, bedrooms }) => (price_from ?? 1e9) <= 150_000 && (bedrooms ?? 0) >= 3,
      );
      expect(links.sort()).toEqual(fitting.map(({ slug }) => slug).sort());
      expect([requests.length, complaints]).toEqual([sent, []]);
    } finally {
      await browser.close();
    }
  },
);

const prices = z.object({
  price_from: z.number().nullable().default(null),
  bedrooms: z.number().nullable().default(null),
});

/** Blocks of `sh` are run as they stand. Blocks of `bash` are only read. */
const scripts = DOCUMENTS.filter((path) => path !== 'README.md').flatMap((path) =>
  codeBlocksOf(path, 'sh')
    .filter((script) => script.includes('curl '))
    .map((script) => ({ path, script })),
);

it.each(scripts)('the curl lines of $path work unchanged: $script', async ({ script }) => {
  expect(script).toContain('http://localhost:3001/');
  const ours = script
    .replaceAll('http://localhost:3001', service.origin)
    .replaceAll('curl ', `curl -f -H 'CF-Connecting-IP: 192.0.2.${clients}' `);
  const { stdout } = await run('sh', ['-ec', ours], { cwd: project.directory });
  if (script.includes('If-None-Match')) expect(stdout).toBe('304\n');
  else expect(stdout).toMatch(/^\{"object":/);
});
