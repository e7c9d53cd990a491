/** Pages in Chromium, and axe, which finds what excludes people with a disability. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { inject } from 'vitest';
import * as z from 'zod';
import { copyWithStore } from './stores.ts';

/** Whether Chromium is installed. Otherwise the tests of pages are skipped. */
export const hasChromium = existsSync('/usr/bin/chromium');

/** Connects to the browser of this run. Closing the connection closes its pages. */
export async function openBrowser(): Promise<Browser> {
  const response = await fetch(inject('browserUrl'));
  const endpoint = await response.text();
  if (!response.ok) throw new Error(`Chromium did not start: ${endpoint}`);
  return chromium.connect(endpoint);
}

export type Samples = Awaited<ReturnType<typeof openSamples>>;

/** Serves the sample listings, for tests of pages. */
export async function openSamples() {
  const project = await copyWithStore('samples');
  const [service, browser] = await Promise.all([project.serve(), openBrowser()]);
  return {
    service,
    /** Opens a page, and records what its console prints and which origins it requests. */
    async openPage() {
      const page = await browser.newPage();
      /** The errors and warnings of the page's console. */
      const complaints: string[] = [];
      /** The origins that the page has requested. */
      const requested = new Set<string>();
      page.setDefaultTimeout(110_000);
      page.on('console', (message) => {
        // A test has aborted the request of a photo.
        if (message.text().includes('net::ERR_FAILED')) return;
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('request', (request) => {
        if (!request.url().startsWith('data:')) requested.add(new URL(request.url()).origin);
      });
      return { page, complaints, requested };
    },
    async close() {
      await browser.close();
      await project.remove();
    },
  };
}

const violations = z.array(z.object({ id: z.string(), html: z.string() }));

/**
 * Returns the violations that axe finds on the page, or in a context of axe, each with the first
 * element that has it.
 */
export async function findViolations(page: Page, context = 'document') {
  await page.evaluate(readFileSync(join('node_modules', 'axe-core', 'axe.min.js'), 'utf8'));
  const run = `axe.run(${context}).then(({ violations }) => violations
    .map(({ id, nodes }) => ({ id, html: nodes[0].html })))`;
  return violations.parse(await page.evaluate(run));
}
