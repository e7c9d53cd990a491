/** The lines of the runbook that run wrangler itself, against a stand-in of Cloudflare. */

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';
const isFull = process.env.FULL === '1';

/** The lines in an order in which each finds its resources. drill.test.ts runs the drills. */
const LINES = [
  'secret put API_KEY --env=',
  'deployments list --env=',
  `d1 time-travel info ${NAME} --timestamp 2026-11-21T12:00:00Z`,
  `d1 time-travel restore ${NAME} --bookmark BOOKMARK`,
  'kv namespace list',
  'delete --env=',
  `d1 delete ${NAME}`,
  `d1 create ${NAME} --location weur`,
  'kv namespace delete --namespace-id ID',
];
const ELSEWHERE = [
  'secret put API_KEY --env=staging',
  `d1 delete ${NAME}-staging`,
  `d1 create ${NAME}-staging --location weur`,
];
/** The lines that are not to be run, or need a person. */
const NOT_RUN = ['deploy --env typo', 'login'];

const text = readFileSync('docs/operate/runbook.md', 'utf8');
const told = [...text.matchAll(/(?:`|^)npx wrangler ([^`\n]+)/gm)].map(([, line = '']) => line);

it('the lines are those of the runbook', () => {
  expect([...new Set(told)].sort()).toEqual([...LINES, ...ELSEWHERE, ...NOT_RUN].sort());
});

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
      expect(cloudflare.account.database(NAME).restoredTo).toBe('a-bookmark');
    }
  });

  it('has deleted all but the database that it has created anew', () => {
    const { databases, namespaces, workers } = cloudflare.account;
    expect([databases.length, namespaces, [...workers.keys()]]).toEqual([1, [], []]);
    expect(cloudflare.account.database(NAME).location).toBe('weur');
  });
});
