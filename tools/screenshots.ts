/**
 * `npm run screenshots`: makes the pictures of the development pages in docs/images, from the sample listings.
 * It serves a scratch copy of the project on a free port, and needs Chromium.
 *
 * Exits with 0 when every picture was written, 1 when one could not be made, 2 for invalid arguments.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { PROJECT_DIRECTORY, UserError } from './command-line/project.ts';
import { findFreePort } from './development/port.ts';

const USAGE = `Usage: npm run screenshots

Makes docs/images/*.png: the preview and the API page, with the sample listings. It needs Chromium.`;
const CHROMIUM = '/usr/bin/chromium';
const IMAGES = join(PROJECT_DIRECTORY, 'docs', 'images');
/** The files that the service needs. The scratch copy has its own store. */
const COPIED = ['src', 'tools', 'migrations', 'package.json', 'wrangler.toml', '.dev.vars.example'];
const READY_DEADLINE_MS = 120_000;
/** The service is killed when it has not stopped by this time. */
const STOP_DEADLINE_MS = 5_000;

const DESK = { viewport: { width: 1200, height: 940 } };
const PHONE = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 1.5 };

type Picture = {
  name: string;
  path: string;
  options: BrowserContextOptions;
  /** Waits until the page shows everything. */
  settle: (page: Page) => Promise<unknown>;
};

const isCatalogueRead = (page: Page) =>
  page
    .getByRole('status')
    .getByText(/listings/)
    .waitFor();
const isListingRead = (page: Page) => page.locator('.head').waitFor();

const PICTURES: readonly Picture[] = [
  { name: 'preview', path: '/preview', options: DESK, settle: isCatalogueRead },
  {
    name: 'preview-missing-dark',
    path: '/preview?lang=fr&missing=title.fr',
    options: { ...DESK, colorScheme: 'dark' },
    settle: isCatalogueRead,
  },
  {
    name: 'preview-listing',
    path: '/preview/listings/casa-nopal?lang=fr',
    options: { viewport: { width: 1200, height: 1300 } },
    settle: isListingRead,
  },
  { name: 'preview-phone', path: '/preview?lang=es', options: PHONE, settle: isCatalogueRead },
  {
    name: 'api-page',
    path: '/api/docs',
    options: DESK,
    settle: async (page) => {
      const operation = page.locator('.opblock[id$="-listProperties"]');
      await operation.locator('.opblock-summary-control').click();
      await operation.locator('.parameters').first().waitFor();
      // The focus ring would be part of the picture.
      await page.evaluate('document.activeElement.blur(); scrollBy(0, -24)');
    },
  },
];

/** `npm run screenshots`. */
export const command: Command<unknown> = {
  usage: USAGE,
  parse: (args) => readArguments('screenshots', args, {}),
  run: makePictures,
};

if (import.meta.main) await runCommand(command);

/** Serves a scratch copy, makes every picture, then ends the service and removes the copy. Returns 0. */
async function makePictures(): Promise<number> {
  if (!existsSync(CHROMIUM)) throw new UserError(`there is no ${CHROMIUM}: install chromium`);
  const directory = mkdtempSync(join(tmpdir(), 'screenshots-'));
  let service: ChildProcess | undefined;
  let browser: Browser | undefined;
  try {
    for (const name of COPIED) {
      cpSync(join(PROJECT_DIRECTORY, name), join(directory, name), { recursive: true });
    }
    symlinkSync(join(PROJECT_DIRECTORY, 'node_modules'), join(directory, 'node_modules'));
    const port = await findFreePort();
    service = spawn(process.execPath, ['tools/dev.ts'], {
      cwd: directory,
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await untilReady(service);
    // Loaded here, because it takes seconds, and `--help` does without it.
    const { chromium } = await import('playwright-core');
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    mkdirSync(IMAGES, { recursive: true });
    for (const picture of PICTURES) {
      await makePicture(browser, `http://localhost:${port}`, picture);
    }
    return 0;
  } finally {
    await browser?.close();
    if (service !== undefined) await stop(service);
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function makePicture(browser: Browser, origin: string, picture: Picture): Promise<void> {
  const { name, path, options, settle } = picture;
  const file = join(IMAGES, `${name}.png`);
  const context = await browser.newContext({ ...options, reducedMotion: 'reduce' });
  const page = await context.newPage();
  // The photos of the sample listings do not exist. Aborted at once, they give the same picture without a network.
  await page.route('https://*.example.com/**', (route) => route.abort());
  await page.goto(`${origin}${path}`);
  await settle(page);
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: file });
  await context.close();
  console.log(`docs/images/${name}.png: ${Math.round(statSync(file).size / 1_000)} kB`);
}

/** Waits until `dev` says that the service is ready. */
async function untilReady(service: ChildProcess): Promise<void> {
  let output = '';
  const isReady = new Promise<boolean>((resolve) => {
    const onOutput = (data: Buffer) => {
      output += data.toString();
      if (output.includes('\nReady. Try:')) resolve(true);
    };
    service.stdout?.on('data', onOutput);
    service.stderr?.on('data', onOutput);
    service.once('exit', () => resolve(false));
    setTimeout(() => resolve(false), READY_DEADLINE_MS).unref();
  });
  if (!(await isReady)) throw new UserError(`the service did not become ready:\n${output}`);
}

async function stop(service: ChildProcess): Promise<void> {
  if (service.exitCode !== null) return;
  const hasEnded = new Promise((resolve) => service.once('exit', resolve));
  service.kill('SIGTERM');
  const deadline = setTimeout(() => service.kill('SIGKILL'), STOP_DEADLINE_MS * 2);
  await hasEnded;
  clearTimeout(deadline);
}
