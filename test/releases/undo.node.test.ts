/** A deployment is undone by deploying the code of the release before, as the runbook says. */

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';
import { readFixture } from './release.ts';

const NAME = 'events-and-property-feed';

const project = new ProjectCopy();
const cloudflare = new CloudflareStandIn();
beforeAll(() => cloudflare.start());
afterAll(async () => {
  await cloudflare.stop();
  await project.remove();
});

it('src, tools and package.json of the release deploy under the settings, migrations and packages of today', async () => {
  const { directory } = project;
  // `git restore --source=TAG -- src tools package.json`
  for (const name of ['src', 'tools']) rmSync(join(directory, name), { recursive: true });
  execFileSync('tar', ['-x', '-C', directory], { input: readFixture('project.tar') });
  const settings = readFileSync(join(directory, 'wrangler.toml'), 'utf8');

  const { code, stdout, stderr } = await project.run('deploy.ts');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { id, script } = cloudflare.served(NAME);
  expect(stdout).toContain(`Served now: version ${id}`);
  expect(script).toContain('"1.0.0"');
  expect(readFileSync(join(directory, 'wrangler.toml'), 'utf8')).toBe(settings);
});
