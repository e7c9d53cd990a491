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

const findings = z.array(
  z.object({ id: z.string(), impact: z.string().nullable(), html: z.string() }),
);

/** Returns the findings of axe on the page, with the first element of each: all, or those of one impact. */
export async function axeFindings(page: Page, impact?: 'critical') {
  await page.evaluate(readFileSync(join('node_modules', 'axe-core', 'axe.min.js'), 'utf8'));
  // Contrast takes half of the time, and is serious at most.
  const options = { rules: { 'color-contrast': { enabled: impact === undefined } } };
  const run = `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations
    .map(({ id, impact, nodes }) => ({ id, impact, html: nodes[0].html })))`;
  const all = findings.parse(await page.evaluate(run));
  return all.filter((finding) => impact === undefined || finding.impact === impact);
}
