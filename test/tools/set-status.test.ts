/** `set-status` run as a program: it sets the status of listings, and nothing else of them. */

import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { fileOf, propertyOf } from '../support/node/listings-file.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

const SET_STATUS = 'set-status.ts';
const NAME = 'events-and-property-feed';
const HOME = 'casa-ginebrera';

let project: ProjectCopy;
beforeAll(async () => {
  project = await copyWithStore('samples');
});
afterAll(() => project.remove());

/** Returns the stored listings, without their statuses. */
const sources = () =>
  project.rows(`SELECT json_remove(source, '$.status') AS source FROM properties ORDER BY id`);
const statusesOf = (...slugs: string[]) =>
  slugs.map(
    (slug) => project.rows(`SELECT status FROM properties WHERE slug = '${slug}'`)[0]?.status,
  );

describe('the program set-status', () => {
  it('says what would change with --dry-run, and writes nothing', async () => {
    const dry = await project.run(SET_STATUS, 'hidden', HOME, '--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(dry.stdout).toContain(
      `Dry run: nothing was written. An import would give:\n${HOME}: status "listed" → "hidden"\n`,
    );
    expect(statusesOf(HOME)).toEqual(['listed']);
  });

  it('sets the status of several listings, one of them named twice, and nothing else of them', async () => {
    const before = sources();
    const hidden = await project.run(SET_STATUS, 'hidden', HOME, HOME, 'casa-nopal');
    expect(hidden).toMatchObject({ code: 0, stderr: '' });
    // The second one was hidden before.
    expect(hidden.stdout).toContain('2 listings: 0 added, 1 changed, 1 unchanged\n');
    expect(statusesOf(HOME, 'casa-nopal')).toEqual(['hidden', 'hidden']);
    const shown = await project.run(SET_STATUS, 'listed', HOME);
    expect(shown).toMatchObject({ code: 0, stderr: '' });
    expect(statusesOf(HOME, 'casa-nopal')).toEqual(['listed', 'hidden']);
    expect(sources()).toEqual(before);
  });

  it('is refused without a slug', async () => {
    const { code, stdout, stderr } = await project.run(SET_STATUS, 'hidden');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(
      'Name a status and a slug.\n\nUsage: npm run set-status -- STATUS SLUG',
    );
  });

  it('does its work when the reader of its output has ended', () => {
    const line = `node tools/${SET_STATUS} sold_out ${HOME} | head -c 1`;
    const { status, stderr } = spawnSync('bash', ['-c', `set -o pipefail; ${line}`], {
      cwd: project.directory,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(statusesOf(HOME)).toEqual(['sold_out']);
  });

  it('sets the status in the deployed database with --remote, and in the one of --env', async () => {
    const cloudflare = await new CloudflareStandIn().start();
    try {
      const names = [NAME, `${NAME}-staging`];
      for (const name of names) cloudflare.account.createDatabase(name).migrate();
      project.environment = cloudflare.environment;
      const file = project.write('remote.json', fileOf([propertyOf({ slug: 'far-away' })]));
      for (const options of [['--remote'], ['--remote', '--env', 'staging']]) {
        await project.run('import-listings.ts', file, ...options);
      }
      const statuses = () =>
        names.map((name) =>
          cloudflare.account.database(name).rows('SELECT status FROM properties'),
        );
      const staged = await project.run(
        SET_STATUS,
        'hidden',
        'far-away',
        '--remote',
        '--env',
        'staging',
      );
      expect(staged).toMatchObject({ code: 0, stderr: '' });
      expect(statuses()).toEqual([[{ status: 'listed' }], [{ status: 'hidden' }]]);
      const live = await project.run(SET_STATUS, 'sold_out', 'far-away', '--remote');
      expect(live).toMatchObject({ code: 0, stderr: '' });
      expect(statuses()).toEqual([[{ status: 'sold_out' }], [{ status: 'hidden' }]]);
      expect(cloudflare.unknown).toEqual([]);
    } finally {
      project.environment = {};
      await cloudflare.stop();
    }
  });
});
