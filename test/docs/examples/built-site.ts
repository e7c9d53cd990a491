/** The site that build-site.ts builds, for the tests of its pages. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { useTestService } from '../../support/node/example-service.ts';

const service = useTestService();

/** A listing with every field. */
export const SLUG = 'casa-ginebrera';
export const SITE_URL = 'https://www.example.com';
const FOLDER = 'built';

/** Returns the ids or slugs of the listings that meet a condition of SQL. */
export const listListings = (condition: string, column: 'id' | 'slug' = 'id') =>
  service()
    .rows(`SELECT ${column} AS value FROM properties WHERE ${condition} ORDER BY 1`)
    .map(({ value }) => String(value));

export const listPublicSlugs = () => listListings(`status <> 'hidden'`, 'slug');

/** Returns the slug of a listed listing with few fields. */
export const findOtherSlug = () =>
  listListings(`status = 'listed' AND slug <> '${SLUG}'`, 'slug')[0];

/** Runs a program in the folder of the site. Returns the lines of its errors. */
export async function build(program = 'build-site.ts'): Promise<string[]> {
  const { ended, errors } = service().start(program, FOLDER);
  expect(await ended, errors.join()).toEqual([0, null]);
  return errors;
}

let builtVersion: unknown;

/** Builds the site if the catalogue has changed since the last call. */
export async function buildIfChanged(): Promise<void> {
  const [row] = service().rows('SELECT catalogue_version FROM database_identity');
  if (builtVersion !== row?.catalogue_version) await build();
  builtVersion = row?.catalogue_version;
}

/** Returns the text of a file of the site. */
export function readSiteFile(path: string): string {
  return readFileSync(join(service().makeFolder(FOLDER), 'site', path), 'utf8');
}

/** Returns the pages of the site, by the path of their file. */
export function readPages(): Map<string, string> {
  const site = join(service().makeFolder(FOLDER), 'site');
  const names = readdirSync(site, { recursive: true, encoding: 'utf8' });
  const pages = names.filter((name) => name.endsWith('.html'));
  return new Map(pages.map((name) => [name, readSiteFile(name)]));
}

/** Serves the site as Cloudflare Pages does. Returns the origin and a function that stops it. */
export async function servePages() {
  const folder = service().makeFolder(FOLDER);
  // Wrangler looks for its configuration from its own folder too.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const config =
    'name = "site"\npages_build_output_dir = "site"\ncompatibility_date = "2026-11-01"\n';
  writeFileSync(join(folder, 'wrangler.toml'), config);
  const links = ['--preserve-symlinks', '--preserve-symlinks-main'];
  const wrangler = join('node_modules', 'wrangler', 'wrangler-dist', 'cli.js');
  const args = [...links, wrangler, 'pages', 'dev', '--ip', '127.0.0.1', '--port', '0'];
  // Otherwise wrangler writes to the user's home.
  const env = { ...process.env, XDG_CONFIG_HOME: folder };
  const child = spawn(process.execPath, args, { cwd: folder, env, detached: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (printed: string) => {
      output += printed;
    });
  }
  const parseOrigin = () => /Ready on (http:\S+)/.exec(output)?.[1];
  await expect.poll(parseOrigin).toBeDefined();
  const stop = async () => {
    process.kill(-Number(child.pid), 'SIGKILL');
    await once(child, 'close');
  };
  return { origin: parseOrigin() ?? '', stop };
}
