/** The files of docs/guides/site-recipes.md: compiled under strict rules, and run against the service while listings change. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type LocalImports, openLocalImports } from '../support/node/local-imports.ts';
import { claimPort } from '../support/node/port.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { codeBlocksOf } from './markdown.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const API_KEY = 'dev_key_of_the_recipes';
const SITE_URL = 'https://www.example.com';
const SLUG = 'casa-ginebrera';
const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'site-'));
const program = process.execPath;

/** The types of Next.js and React that the files use, and their replacements when the files run. */
const MODULES = {
  'next/index': [
    `export namespace MetadataRoute { type Sitemap = { url: string; lastModified?: string | Date }[] }
     export type NextConfig = { images?: { remotePatterns?: URL[] } };
     declare global { interface RequestInit { next?: { tags?: string[]; revalidate?: number | false } } }`,
    '',
  ],
  'next/cache': [
    'export function revalidateTag(tag: string, profile: string | { expire?: number }): undefined;',
    'exports.revalidateTag = (tag, { expire }) => expire === 0 && expireTag(tag);',
  ],
  'next/navigation': [
    'export function notFound(): never; export function permanentRedirect(url: string): never;',
    `exports.notFound = () => { throw { status: 404 }; };
     exports.permanentRedirect = (location) => { throw { status: 308, location }; };`,
  ],
  'next/image': [
    `type Props = { src: string; alt: string; fill?: boolean; sizes?: string; style?: object };
     export default function Image(props: Props): string;`,
    `exports.__esModule = true;
     exports.default = ({ src, alt, sizes }) =>
       '<img src="' + src + '" alt="' + alt + '" sizes="' + sizes + '">';`,
  ],
  'react/jsx-runtime': [
    `export namespace JSX {
       type Element = string;
       type ElementType = string | ((props: never) => string);
       interface IntrinsicAttributes { key?: string }
       interface IntrinsicElements { [tag: string]: object }
     }
     export const jsx: unknown, jsxs: unknown;`,
    `exports.jsx = exports.jsxs = (type, props) => {
       if (typeof type === 'function') return type(props);
       const inner = props.dangerouslySetInnerHTML?.__html ?? [props.children].flat(9).filter(Boolean).join('');
       return '<' + type + '>' + inner + '</' + type + '>';
     };`,
  ],
};

/** The files by the paths in their first lines. */
const files = ['ts', 'tsx']
  .flatMap((language) => codeBlocksOf('docs/guides/site-recipes.md', language))
  .map((code) => ({ path: z.string().parse(/^\/\/ (\S+)\n/.exec(code)?.[1]), code }));

let project: ProjectCopy;
let imports: LocalImports;
let feed = '';
let site: ChildProcess;
let origin = '';

function write(path: string, content: string): void {
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  writeFileSync(join(directory, path), content);
}

beforeAll(async () => {
  project = await copyWithStore('samples');
  project.write('.dev.vars', `API_KEY=${API_KEY}\nENVIRONMENT=development\n`);
  feed = (await project.serve()).origin;
  imports = await openLocalImports(project);
  process.env.PUBLISH_HOOK_SECRET = SECRET;

  for (const { path, code } of files) write(path, code);
  for (const [name, [types, code]] of Object.entries(MODULES)) {
    write(`node_modules/${name}.d.ts`, z.string().parse(types));
    write(`node_modules/${name}.js`, z.string().parse(code));
  }
  for (const name of ['standardwebhooks', '@types']) {
    symlinkSync(realpathSync(join('node_modules', name)), join(directory, 'node_modules', name));
  }
  write('package.json', '{ "type": "module" }');
  write('out/package.json', '{ "type": "commonjs" }');
  const { stdout } = await run('npm', ['run', '-s', 'openapi'], { maxBuffer: 1e8 });
  write('openapi.json', stdout);
  const generator = resolve('node_modules/.bin/openapi-typescript');
  await run(generator, ['openapi.json', '--output', 'lib/api.d.ts'], { cwd: directory });
});

afterAll(async () => {
  delete process.env.PUBLISH_HOOK_SECRET;
  site?.kill();
  await imports?.close();
  await project?.remove();
  rmSync(directory, { recursive: true, force: true });
});

it('compiles under strict rules', async () => {
  const options =
    '--strict --singleThreaded --exactOptionalPropertyTypes --noUncheckedIndexedAccess'.split(' ');
  const others = ['--target', 'es2024', '--types', 'node', '--rootDir', '.', '--outDir', 'out'];
  const modules = ['--moduleResolution', 'bundler', '--jsx', 'react-jsx', '--module'];
  const compile = (format: string, paths: string[]) =>
    run(resolve('node_modules/.bin/tsc'), [...options, ...others, ...modules, format, ...paths], {
      cwd: directory,
    }).catch((error: unknown) => z.object({ stdout: z.string() }).parse(error));
  const [programs, parts] = [/^[\w-]+\.ts$/, /\//].map((form) =>
    files.map(({ path }) => path).filter((path) => form.test(path)),
  );
  expect((await compile('commonjs', parts ?? [])).stdout).toBe('');
  expect((await compile('esnext', programs ?? [])).stdout).toBe('');
});

describe('the site of Next.js', () => {
  beforeAll(async () => {
    const port = await claimPort();
    origin = `http://localhost:${port}`;
    site = spawn(program, ['--no-warnings', resolve('test/support/node/next-stand-in.ts')], {
      cwd: join(directory, 'out'),
      env: {
        ...process.env,
        ...{ PORT: String(port), API_URL: feed, API_KEY, SITE_URL, PUBLISH_HOOK_SECRET: SECRET },
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (site.stdout) await once(site.stdout, 'data');
  });

  async function visit(path: string): Promise<{ status: number; body: string; location: string }> {
    const response = await fetch(`${origin}${path}`, { redirect: 'manual' });
    const location = response.headers.get('location') ?? '';
    return { status: response.status, body: await response.text(), location };
  }

  /** Changes a listing, as an editor does. */
  async function change(record: object, ...options: string[]): Promise<void> {
    const file = project.write('patch.json', { properties: [record] });
    const done = await imports.run(file, '--patch', ...options);
    expect(done).toMatchObject({ code: 0 });
  }
  const notified = () => ['--notify', `${origin}/feed-changed`];

  it('shows the catalogue and a listing in each language, its photos with their sizes', async () => {
    const pages = [];
    for (const language of ['en', 'es', 'fr']) {
      const overview = await visit(`/${language}`);
      expect(overview.body.split('<h2>').length).toBeGreaterThan(40);
      pages.push(await visit(`/${language}/listings/${SLUG}`));
    }
    expect(pages.map(({ body }) => /<h1>(.*)<\/h1>/.exec(body)?.[1])).toEqual([
      'Stone house above the cove at Deià',
      'Casa de piedra sobre la cala de Deià',
      'Maison de pierre au-dessus de la crique de Deià',
    ]);
    expect(pages[0]?.body).toMatch(/<img src="https:[^"]+" alt="[^"]+" sizes="[^"]*100vw">/);
    expect((await visit(`/de/listings/${SLUG}`)).status).toBe(404);
    expect((await visit('/en/listings/no-such-home')).status).toBe(404);
  });

  it('tells search engines of the share, its price and the home', async () => {
    const { body } = await visit(`/en/listings/${SLUG}`);
    const [, json = ''] = /<script>(.*)<\/script>/.exec(body) ?? [];
    expect(JSON.parse(json)).toMatchObject({
      '@context': 'https://schema.org',
      '@type': ['Accommodation', 'Product'],
      name: 'Stone house above the cove at Deià',
      url: `${SITE_URL}/en/listings/${SLUG}`,
      offers: { '@type': 'Offer', priceCurrency: 'EUR' },
    });
    expect(json).not.toContain('null');
  });

  it('shows an import at the next visit, and no answer of a cache', async () => {
    // The service caches this answer for a minute.
    const cached = `${feed}/api/v1/web/properties/${SLUG}`;
    await fetch(cached, { headers: { 'x-api-key': API_KEY } });
    await change({ slug: SLUG, title: { en: 'A </script> in a title' } }, ...notified());
    const { body } = await visit(`/en/listings/${SLUG}`);
    expect(body).toContain('<h1>A </script> in a title</h1>');
    expect(body).toContain('"name":"A \\u003c/script>');
    expect((await visit('/en')).body).toContain('<h2>A </script> in a title</h2>');
  });

  it('keeps its pages while no hook comes, and refuses a hook that is not signed', async () => {
    await change({ slug: SLUG, title: { en: 'Untold' } });
    const body = '{"type":"feed.changed","changes":1,"slugs":null,"resume_cursor":"x"}';
    const forged = await fetch(`${origin}/feed-changed`, { method: 'POST', body });
    expect(forged.status).toBe(401);
    expect((await visit(`/en/listings/${SLUG}`)).body).not.toContain('Untold');

    const now = new Date();
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': new Webhook(SECRET).sign('msg_1', now, body),
    };
    const signed = await fetch(`${origin}/feed-changed`, { method: 'POST', body, headers });
    expect(signed.status).toBe(204);
    expect((await visit(`/en/listings/${SLUG}`)).body).toContain('<h1>Untold</h1>');
  });

  it('redirects a renamed listing, and has none that is hidden', async () => {
    const [{ id } = {}] = project.rows(`SELECT id FROM properties WHERE slug = '${SLUG}'`);
    await change({ id, slug: 'casa-nueva' }, ...notified());
    expect(await visit(`/es/listings/${SLUG}`)).toMatchObject({
      status: 308,
      location: `${SITE_URL}/es/listings/casa-nueva`,
    });
    expect((await visit('/es/listings/casa-nueva')).status).toBe(200);
    await change({ id, status: 'hidden' }, ...notified());
    expect((await visit('/es/listings/casa-nueva')).status).toBe(404);
    expect((await visit(`/es/listings/${SLUG}`)).status).toBe(404);
    await change({ id, status: 'listed' }, ...notified());
    expect((await visit('/es/listings/casa-nueva')).status).toBe(200);
  });

  it('has each page in its sitemap, with the time at which its listing changed', async () => {
    const entries = z
      .array(z.object({ url: z.string(), lastModified: z.string() }))
      .parse(JSON.parse((await visit('/sitemap.xml')).body));
    const expected = project
      .rows(`SELECT slug, changed_at FROM properties WHERE status <> 'hidden'`)
      .flatMap(({ slug, changed_at }) =>
        ['en', 'es', 'fr'].map((language) => ({
          url: `${SITE_URL}/${language}/listings/${slug}`,
          lastModified: new Date(Number(changed_at)).toISOString(),
        })),
      );
    expect(new Set(entries)).toEqual(new Set(expected));
    expect(new Set(entries.map(({ lastModified }) => lastModified)).size).toBeGreaterThan(1);
  });
});

it('writes the sitemap and the redirects of a static site', async () => {
  const env = { ...process.env, API_URL: feed, API_KEY, SITE_URL };
  await run(program, ['--no-warnings', 'site-files.ts'], { cwd: directory, env });
  const sitemap = readFileSync(join(directory, 'site/sitemap.xml'), 'utf8');
  const [{ changed_at } = {}] = project.rows(
    `SELECT changed_at FROM properties WHERE slug = 'casa-nueva'`,
  );
  const changed = new Date(Number(changed_at)).toISOString();
  expect(sitemap).toContain(
    `<url><loc>${SITE_URL}/fr/casa-nueva.html</loc><lastmod>${changed}</lastmod></url>`,
  );
  expect(sitemap).not.toContain(SLUG);
  expect(readFileSync(join(directory, 'site/_redirects'), 'utf8')).toBe(
    ['en', 'es', 'fr'].map((at) => `/${at}/${SLUG}.html /${at}/casa-nueva.html 301\n`).join(''),
  );
});
