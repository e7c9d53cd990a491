/** The lines of the runbook that run wrangler itself, against a stand-in of Cloudflare. */

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';
const isFull = process.env.FULL === '1';

/**
 * The lines in the order of the runbook, but those that a person runs, and those of staging:
 * drill.test.ts runs these.
 */
const text = readFileSync('docs/operate/runbook.md', 'utf8');
const named = [...text.matchAll(/(?:`|^)npx wrangler ([^`\n]+)/gm)].map(([, line = '']) => line);
const LINES = [...new Set(named)].filter((line) => !/staging|typo|^login$/.test(line));

describe.runIf(isFull)('wrangler', () => {
  let cloudflare: CloudflareStandIn;
  let project: ProjectCopy;

  beforeAll(async () => {
    cloudflare = await new CloudflareStandIn().start();
    project = new ProjectCopy();
    project.environment = cloudflare.environment;
    expect(await project.run('deploy.ts')).toMatchObject({ code: 0, stderr: '' });
  });
  afterAll(async () => {
    await project.remove();
    await cloudflare.stop();
  });

  it.each(LINES)('understands %s', async (line) => {
    const id = cloudflare.account.namespaces[0]?.id ?? 'none';
    const args = line
      .replace('BOOKMARK', 'a-bookmark')
      .replace(/\bID\b/, id)
      .split(' ');
    const { code, stderr } = await project.wrangler(args, 'key-1');
    expect({ code, stderr, unknown: cloudflare.unknown }).toEqual({
      code: 0,
      stderr: '',
      unknown: [],
    });
    if (line.includes('restore')) {
      const asked = cloudflare.requests.filter((name) => name.endsWith('/time_travel/restore'));
      expect(asked).toHaveLength(1);
    }
  });

  it('has deleted all but the database that it has created again', () => {
    expect(LINES.length).toBeGreaterThan(8);
    const { databases, namespaces, workers } = cloudflare.account;
    expect([databases.length, namespaces, [...workers.keys()]]).toEqual([1, [], []]);
    expect(cloudflare.account.database(NAME).location).toBe('weur');
  });
});
