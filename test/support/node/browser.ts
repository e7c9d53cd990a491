/**
 * Debian's Chromium, for the tests of pages; and axe, which looks for faults that shut people out.
 */

import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import * as z from 'zod';
import { copyWithStore } from './stores.ts';

const CHROMIUM = '/usr/bin/chromium';

/** The tests of pages are skipped where this is false. */
export const hasChromium = existsSync(CHROMIUM);

export function openBrowser(): Promise<Browser> {
  // Chromium keeps reports of crashes there, and nothing else.
  const env = { ...process.env, XDG_CONFIG_HOME: tmpdir() };
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'], env });
}

export type Opened = Awaited<ReturnType<typeof openSamples>>;

/** Opens a page of the service with the sample listings. */
export async function openSamples() {
  const project = await copyWithStore('samples');
  const [service, browser] = await Promise.all([project.serve(), openBrowser()]);
  const page = await browser.newPage();
  /** The errors and warnings of the page's console. */
  const complaints: string[] = [];
  /** The origins that the page has requested. */
  const requested = new Set<string>();
  page.setDefaultTimeout(110_000);
  page.on('console', (message) => {
    // A photo that a test does not let the page load.
    if (message.text().includes('net::ERR_FAILED')) return;
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) requested.add(new URL(request.url()).origin);
  });
  const close = async () => {
    await browser.close();
    await project.remove();
  };
  return { project, service, page, complaints, requested, close };
}

const findings = z.array(z.object({ id: z.string(), html: z.string() }));

/**
 * Returns every finding of axe on the page, or in a context of axe, with the first element that it
 * is about.
 */
export async function axeFindings(page: Page, context = 'document') {
  await page.evaluate(readFileSync(join('node_modules', 'axe-core', 'axe.min.js'), 'utf8'));
  const run = `axe.run(${context}).then(({ violations }) => violations
    .map(({ id, nodes }) => ({ id, html: nodes[0].html })))`;
  return findings.parse(await page.evaluate(run));
}
