/** Wrangler knows each of its commands in the runbook, with their options. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runWrangler } from '../../tools/cloudflare/wrangler.ts';

const text = readFileSync('docs/operate/runbook.md', 'utf8');
const named = [...text.matchAll(/(?:`|^)npx wrangler ([^`\n]+)/gm)].map(([, line = '']) => line);
const LINES = [...new Set(named)].filter((line) => !/^(deploy|login)$/.test(line));

// Each start of wrangler takes two seconds.
describe.runIf(process.env.FULL === '1')('wrangler', () => {
  it.each(LINES)('understands %s', async (line) => {
    expect(LINES.length).toBeGreaterThan(8);
    // Nothing listens there: wrangler fails at its first call, and earlier for an unknown option.
    const environment = {
      CLOUDFLARE_API_BASE_URL: 'http://127.0.0.1:1',
      CLOUDFLARE_API_TOKEN: 'none',
      CLOUDFLARE_ACCOUNT_ID: 'a'.repeat(32),
    };
    const { isDone, output } = await runWrangler(line.split(' '), { environment });
    expect(isDone).toBe(false);
    expect(output).toMatch(/fetch failed|ECONNREFUSED|request to the Cloudflare API failed/);
  });
});
