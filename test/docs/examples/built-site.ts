/** Builds and serves the site of build-site.ts for the tests of its pages. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { useTestService } from '../../support/node/example-service.ts';

const service = useTestService();

/** The slug of a listing that has a value in every field. */
export const SLUG = 'casa-ginebrera';
export const SITE_URL = 'https://www.example.com';
const FOLDER = 'built';

/** Returns the ids or slugs of the listings that meet an SQL condition. */
export const listListings = (condition: string, column: 'id' | 'slug' = 'id') =>
  service()
    .rows(`SELECT ${column} AS value FROM properties WHERE ${condition} ORDER BY 1`)
    .map(({ value }) => String(value));

export const listPublicSlugs = () => listListings(`status <> 'hidden'`, 'slug');

/** Returns the slug of another listed listing, which has few fields. */
export const findOtherSlug = () =>
  listListings(`status = 'listed' AND slug <> '${SLUG}'`, 'slug')[0];

/**
 * Runs a program in the site's folder and expects success. Returns the lines of its error output.
 */
export async function build(program = 'build-site.ts'): Promise<string[]> {
  const { ended, errors } = service().start(program, FOLDER);
  expect(await ended, errors.join()).toEqual([0, null]);
  return errors;
}

let builtVersion: unknown;

/** Builds the site unless the catalogue is unchanged since the last call. */
export async function buildIfChanged(): Promise<void> {
  const [row] = service().rows('SELECT catalogue_version FROM database_identity');
  if (builtVersion !== row?.catalogue_version) await build();
  builtVersion = row?.catalogue_version;
}

export function readSiteFile(path: string): string {
  return readFileSync(join(service().makeFolder(FOLDER), 'site', path), 'utf8');
}

/** Returns the site's HTML pages by file path. */
export function readPages(): Map<string, string> {
  const site = join(service().makeFolder(FOLDER), 'site');
  const names = readdirSync(site, { recursive: true, encoding: 'utf8' });
  const pages = names.filter((name) => name.endsWith('.html'));
  return new Map(pages.map((name) => [name, readSiteFile(name)]));
}

/**
 * Serves the site with the local version of Cloudflare Pages. Returns the origin and a function
 * that stops the server.
 */
export async function servePages() {
  const folder = service().makeFolder(FOLDER);
  // Wrangler also searches for its configuration from the folder in which it is installed.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const config =
    'name = "site"\npages_build_output_dir = "site"\ncompatibility_date = "2026-11-01"\n';
  writeFileSync(join(folder, 'wrangler.toml'), config);
  const links = ['--preserve-symlinks', '--preserve-symlinks-main'];
  const wrangler = join('node_modules', 'wrangler', 'wrangler-dist', 'cli.js');
  const args = [...links, wrangler, 'pages', 'dev', '--ip', '127.0.0.1', '--port', '0'];
  // Otherwise wrangler writes to the user's home directory.
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
