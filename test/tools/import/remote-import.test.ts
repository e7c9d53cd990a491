/** `import-listings --remote` against a stand-in of Cloudflare that fails at each call. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { restDatabase } from '../../../tools/database/rest-database.ts';
import { importListings } from '../../../tools/import/command.ts';
import { CloudflareStandIn } from '../../support/cloudflare/stand-in.ts';
import { runImportOn } from '../../support/node/in-process.ts';
import { fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { type Finished, ProjectCopy } from '../../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';
const APPLY = { request: /\/query$/, body: /'applied', ''/ };
const LISTINGS = 'SELECT slug, document, rendering FROM properties ORDER BY slug';

let cloudflare: CloudflareStandIn;
let project: ProjectCopy;
let file: string;

beforeEach(async () => {
  project = new ProjectCopy();
  const listings = ['one', 'two'].map((slug) => propertyOf({ slug, amenities: ['wifi'], beds: 2 }));
  file = project.write('listings.json', fileOf(listings));
  cloudflare = await new CloudflareStandIn().start();
  project.environment = cloudflare.environment;
  for (const name of [NAME, `${NAME}-staging`]) cloudflare.account.createDatabase(name).migrate();
});
afterEach(async () => {
  expect(cloudflare.unknown).toEqual([]);
  await cloudflare.stop();
  await project.remove();
});

/** Runs the command in this process, on the database of production. */
function load(): Promise<Finished> {
  const { uuid } = cloudflare.account.database(NAME);
  return runImportOn(restDatabase(cloudflare.openAccount(), uuid), importListings, file);
}

const rows = (name = NAME) => cloudflare.account.database(name).rows(LISTINGS);
const stored = () => rows().map(({ slug }) => slug);

describe('a remote import', () => {
  it('finds the database by its name, needs the right to D1 only, and takes the vars of --env', async () => {
    cloudflare.faults = [{ request: /\/(workers|storage)\//, status: 403 }];
    const run = () => project.run('import-listings.ts', file, '--remote', '--env', 'staging');
    expect(await run()).toMatchObject({ code: 0, stderr: '' });
    const [row] = rows(`${NAME}-staging`);
    expect([stored(), row?.slug]).toEqual([[], 'one']);
    expect(JSON.parse(String(row?.document))).toMatchObject({ beds: 2 });
    expect(String(row?.rendering)).toContain('https://staging.example.com');
    expect(cloudflare.requests.filter((name) => /workers|kv/.test(name))).toEqual([]);
    const { sqlite } = cloudflare.account.database(`${NAME}-staging`);
    sqlite.exec('DELETE FROM d1_migrations WHERE id = (SELECT max(id) FROM d1_migrations)');
    expect((await run()).stderr).toContain(
      'the remote database lacks migrations: run `npm run deploy -- --env staging` first',
    );
  });

  it('reads back that it is done when every response to its transaction is lost', async () => {
    cloudflare.faults = [{ ...APPLY, status: 502, isAfter: true }];
    expect((await load()).stdout).toContain('2 listings: 2 added');
    expect(stored()).toEqual(['one', 'two']);
  });

  it('says that nothing was changed when it has read that back', async () => {
    cloudflare.faults = [{ ...APPLY, status: 502 }];
    const { code, stderr } = await load();
    expect([code, stored()]).toEqual([1, []]);
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/is repeated\.$/),
      expect.stringMatching(
        /^(The import failed: )?Cloudflare gave no usable response .*HTTP 502$/,
      ),
      'Nothing was changed.',
    ]);
  });

  it('says that the outcome is not known, and names the next command, when it cannot be read back', async () => {
    // Every call from the transaction on is lost.
    cloudflare.failFrom(APPLY.body);
    const { code, stderr } = await load();
    expect([code, stored()]).toEqual([1, ['one', 'two']]);
    expect(stderr).toContain(
      'It is not known whether the listings were changed. Run the same command again',
    );
    expect(stderr).not.toContain('Nothing was changed');
    cloudflare.faults = [];
    expect((await load()).stdout).toContain('2 listings: 0 added');
  });

  it('succeeds when any one of its calls fails once, before or after its effect', async () => {
    await load();
    const calls = cloudflare.requests.length;
    for (let skip = 0; skip < calls; skip += 1) {
      for (const isAfter of [false, true]) {
        const { sqlite } = cloudflare.account.database(NAME);
        for (const table of ['properties', 'locations', 'amenities', 'import_staging']) {
          sqlite.exec(`DELETE FROM ${table}`);
        }
        cloudflare.faults = [{ request: /./, status: 502, times: 1, skip, isAfter }];
        const { code } = await load();
        expect([skip, isAfter, code, stored()]).toEqual([skip, isAfter, 0, ['one', 'two']]);
        cloudflare.faults = [];
      }
    }
  });
});
