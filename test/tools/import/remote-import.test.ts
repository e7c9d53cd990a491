/** Tests of `import-listings --remote` with a fake Cloudflare that fails at each call. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAccount } from '../../../tools/cloudflare/account.ts';
import { command as importCommand } from '../../../tools/commands/import-listings.ts';
import { createRestDatabase } from '../../../tools/database/open.ts';
import { Database } from '../../support/cloudflare/database.ts';
import { ACCOUNT_ID, FakeCloudflare } from '../../support/cloudflare/fake-cloudflare.ts';
import { runImportOn } from '../../support/node/in-process.ts';
import { makeFile, makeProperty } from '../../support/node/listings-file.ts';
import { type Finished, ProjectCopy } from '../../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';
const APPLY = /'applied', ''/;
const LISTINGS = 'SELECT slug, document, rendering FROM properties ORDER BY slug';

let cloudflare: FakeCloudflare;
let project: ProjectCopy;
let file: string;

beforeEach(async () => {
  project = new ProjectCopy();
  const listings = ['one', 'two'].map((slug) =>
    makeProperty({ slug, amenities: ['wifi'], beds: 2 }),
  );
  file = project.write('listings.json', makeFile(listings));
  cloudflare = await new FakeCloudflare().start();
  for (const name of [NAME, `${NAME}-staging`]) {
    cloudflare.databases.push(new Database(name).migrate());
  }
});
afterEach(async () => {
  cloudflare.stop();
  await project.remove();
});

/** Runs `import-listings` in this process on a remote database. Retries do not wait. */
async function loadInto(name: string, ...options: string[]): Promise<Finished> {
  const account = await openAccount(ACCOUNT_ID, [0, 0, 0, 0]);
  const { uuid } = cloudflare.database(name);
  return runImportOn(createRestDatabase(account, uuid), importCommand, file, ...options);
}
const load = (...options: string[]) => loadInto(NAME, ...options);

const rows = (name = NAME) => cloudflare.database(name).rows(LISTINGS);
const stored = () => rows().map(({ slug }) => slug);

describe('import-listings --remote', () => {
  it("uses the environment's database and vars with a token for D1 only", async () => {
    const args = [file, '--remote', '--env', 'staging'];
    const { code, stdout, stderr } = await project.run('import-listings.ts', ...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/\nTo undo it: .* --many --remote --env staging\n$/);
    const [row] = rows(`${NAME}-staging`);
    expect([stored(), row?.slug]).toEqual([[], 'one']);
    expect(JSON.parse(String(row?.document))).toMatchObject({ beds: 2 });
    expect(String(row?.rendering)).toContain('https://staging.example.com');
    expect(cloudflare.requests.filter((name) => /workers|kv/.test(name))).toEqual([]);
  });

  it('names the command that migrates an outdated database', async () => {
    const name = `${NAME}-staging`;
    const { sqlite } = cloudflare.database(name);
    sqlite.exec('DELETE FROM d1_migrations WHERE id = (SELECT max(id) FROM d1_migrations)');
    const { stderr } = await loadInto(name, '--remote', '--env', 'staging');
    expect(stderr).toContain(
      'the remote database does not have all migrations. Run `npm run deploy -- --env staging` first.',
    );
  });

  it('finds out from the store whether its transaction succeeded if every response is lost', async () => {
    let isAfter = false;
    cloudflare.fault = (_, body) => (APPLY.test(body) ? { status: 502, isAfter } : undefined);
    const failed = await load();
    expect([failed.code, stored()]).toEqual([1, []]);
    expect(failed.stderr).toMatch(
      / Cloudflare gave no usable .*HTTP 502\nNothing was changed\.\n$/,
    );
    isAfter = true;
    expect((await load()).stdout).toContain('2 listings: 2 added');
    expect(stored()).toEqual(['one', 'two']);
  });

  it('prints the next step if the outcome is unknown', async () => {
    // Every response is lost, beginning with the transaction's.
    let isGone = false;
    cloudflare.fault = (_, body) => {
      isGone ||= APPLY.test(body);
      return isGone ? { status: 502, isAfter: true } : undefined;
    };
    const undo = join(project.directory, 'undo.json');
    const { code, stderr } = await load('--undo', undo);
    expect([code, stored(), existsSync(undo)]).toEqual([1, ['one', 'two'], true]);
    expect(stderr).toContain(
      'It is not known whether the listings were changed. Run the same command again',
    );
    expect(stderr).not.toContain('Nothing was changed');
    cloudflare.fault = () => undefined;
    expect((await load()).stdout).toContain('2 listings: 0 added');
  });

  it('succeeds even if any single API call fails once', async () => {
    await load();
    const calls = cloudflare.requests.length;
    for (let skip = 0; skip < calls; skip += 1) {
      for (const isAfter of [false, true]) {
        const { sqlite } = cloudflare.database(NAME);
        for (const table of ['properties', 'locations', 'amenities', 'import_staging']) {
          sqlite.exec(`DELETE FROM ${table}`);
        }
        let passed = 0;
        cloudflare.fault = () => {
          passed += 1;
          return passed === skip + 1 ? { status: 502, isAfter } : undefined;
        };
        const { code } = await load();
        expect([skip, isAfter, code, stored()]).toEqual([skip, isAfter, 0, ['one', 'two']]);
      }
    }
  });
});
