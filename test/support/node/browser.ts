/** Opens pages in Chromium and checks their accessibility with axe. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { inject } from 'vitest';
import * as z from 'zod';
import { copyWithStore } from './stores.ts';

/** Whether Chromium is installed. If not, tests that open pages are skipped. */
export const hasChromium = existsSync('/usr/bin/chromium');

/** Connects to the browser that this test run shares. Closing the connection closes its pages. */
export async function openBrowser(): Promise<Browser> {
  const response = await fetch(inject('browserUrl'));
  const endpoint = await response.text();
  if (!response.ok) throw new Error(`Chromium did not start: ${endpoint}`);
  return chromium.connect(endpoint);
}

export type Samples = Awaited<ReturnType<typeof openSamples>>;

/** Serves the sample listings and connects to the browser. */
export async function openSamples() {
  const project = await copyWithStore('samples');
  const [service, browser] = await Promise.all([project.serve(), openBrowser()]);
  return {
    service,
    /** Opens a page. Records its console messages and the origins that it requests. */
    async openPage() {
      const page = await browser.newPage();
      /** Errors and warnings in the page's console. */
      const complaints: string[] = [];
      const requested = new Set<string>();
      page.setDefaultTimeout(110_000);
      page.on('console', (message) => {
        // Tests abort requests for photos on purpose.
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
 * Returns the accessibility violations that axe finds, each with the first element that causes it.
 * `context` limits the check to a part of the page.
 */
export async function findViolations(page: Page, context = 'document') {
  await page.evaluate(readFileSync(join('node_modules', 'axe-core', 'axe.min.js'), 'utf8'));
  const run = `axe.run(${context}).then(({ violations }) => violations
    .map(({ id, nodes }) => ({ id, html: nodes[0].html })))`;
  return violations.parse(await page.evaluate(run));
}
