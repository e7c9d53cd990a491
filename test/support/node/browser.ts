/** Debian's Chromium, for the tests of pages; and axe, which looks for faults that shut people out. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import * as z from 'zod';

const CHROMIUM = '/usr/bin/chromium';

/** The tests of pages are skipped where this is false. */
export const hasChromium = existsSync(CHROMIUM);

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
}

const findings = z.array(z.object({ id: z.string(), html: z.string() }));

/** Returns every finding of axe on the page, with the first element that it is about. */
export async function axeFindings(page: Page) {
  await page.evaluate(readFileSync(join('node_modules', 'axe-core', 'axe.min.js'), 'utf8'));
  const run = `axe.run().then(({ violations }) => violations
    .map(({ id, nodes }) => ({ id, html: nodes[0].html })))`;
  return findings.parse(await page.evaluate(run));
}
