/** `import-listings --remote` against a stand-in of Cloudflare that fails at each call. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { restDatabase } from '../../../tools/cloudflare/rest-database.ts';
import { importListings } from '../../../tools/import/command.ts';
import { loadInto } from '../../../tools/import/load-listings.ts';
import { CloudflareStandIn } from '../../support/cloudflare/stand-in.ts';
import { runHere } from '../../support/node/in-process.ts';
import { fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { type Finished, ProjectCopy } from '../../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';
const APPLY = { request: /\/query$/, body: /'applied', ''/ };
const FORGET_MIGRATION = 'DELETE FROM d1_migrations WHERE id = (SELECT max(id) FROM d1_migrations)';
const LISTINGS = 'SELECT slug FROM properties ORDER BY slug';

let cloudflare: CloudflareStandIn;
let project: ProjectCopy;
let file: string;

beforeAll(() => {
  project = new ProjectCopy();
  const listings = ['one', 'two'].map((slug) => propertyOf({ slug, amenities: ['wifi'], beds: 2 }));
  file = project.write('listings.json', fileOf(listings));
});
beforeEach(async () => {
  cloudflare = await new CloudflareStandIn().start();
  project.environment = cloudflare.environment;
  for (const name of [NAME, `${NAME}-staging`]) cloudflare.account.createDatabase(name).migrate();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  expect(cloudflare.unknown).toEqual([]);
  await cloudflare.stop();
});
afterAll(() => project.remove());

/** Runs the program. */
function run(...options: string[]): Promise<Finished> {
  return project.run('import-listings.ts', file, '--remote', ...options);
}

/**
 * Runs the command in this process, on the database of production, and repeats its calls without
 * pauses.
 */
function load(): Promise<Finished> {
  const { uuid } = cloudflare.account.database(NAME);
  const database = restDatabase(cloudflare.openAccount(), uuid);
  const open = { database, close: async () => {} };
  const run = (request: Parameters<typeof importListings.run>[0]) =>
    importListings.run(request, (read, options) =>
      loadInto(open, read, 'https://example.com', options),
    );
  return runHere({ ...importListings, run }, file, '--remote');
}

function stored(name = NAME): unknown[] {
  return cloudflare.account
    .database(name)
    .rows(LISTINGS)
    .map(({ slug }) => slug);
}

describe('a remote import', () => {
  it('finds the database by its name, and needs the right to D1 only', async () => {
    cloudflare.account.subdomain = null;
    cloudflare.faults = [{ request: /\/(workers|storage)\//, status: 403 }];
    expect(await run('--env', 'staging')).toMatchObject({ code: 0, stderr: '' });
    expect([stored(), stored(`${NAME}-staging`)]).toEqual([[], ['one', 'two']]);
    const [row] = cloudflare.account
      .database(`${NAME}-staging`)
      .rows('SELECT display_order, type, location_id, document, rendering FROM properties');
    expect(row).toMatchObject({ display_order: 0, type: null, location_id: null });
    expect(JSON.parse(String(row?.document))).toMatchObject({ beds: 2 });
    // The vars of staging are used, and nothing of the account is read.
    expect(String(row?.rendering)).toContain('https://staging.example.com');
    expect(cloudflare.account.subdomain).toBeNull();
    expect(cloudflare.requests.filter((name) => /workers|kv/.test(name))).toEqual([]);
  });

  it('reads back that it is done when every response to its transaction is lost', async () => {
    cloudflare.faults = [{ ...APPLY, status: 502, isAfter: true }];
    const { code, stdout } = await load();
    expect([code, stored()]).toEqual([0, ['one', 'two']]);
    expect(stdout).toContain('2 listings: 2 added');
  });

  it('says that nothing was changed when it has read that back', async () => {
    cloudflare.faults = [{ ...APPLY, status: 502 }];
    const { code, stderr } = await load();
    expect([code, stored()]).toEqual([1, []]);
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/is repeated\.$/),
      expect.stringMatching(
        /^(The import failed: )?Cloudflare gave no usable response to POST .*HTTP 502$/,
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

  it.each<[message: string, prepare: () => void]>([
    [
      'lack the permissions "Account · D1 · Edit"',
      () => {
        cloudflare.faults = [{ request: /\/d1\//, status: 403 }];
      },
    ],
    [
      `the account has no D1 database ${NAME}-staging: run \`npm run deploy -- --env staging\` first`,
      () => cloudflare.account.databases.splice(0),
    ],
    [
      'the remote database lacks migrations: run `npm run deploy -- --env staging` first',
      () => cloudflare.account.database(`${NAME}-staging`).sqlite.exec(FORGET_MIGRATION),
    ],
  ])('names the right or resource that it lacks: %s', async (message, prepare) => {
    prepare();
    const { code, stderr } = await run('--env', 'staging');
    expect(code).toBe(1);
    expect(stderr).toContain(message);
    expect(stderr).toContain('Nothing was changed.');
  });

  it('succeeds when any one of its calls fails once, before or after its effect', async () => {
    await load();
    const calls = cloudflare.requests.length;
    for (let skip = 0; skip < calls; skip += 1) {
      for (const isAfter of [false, true]) {
        const database = cloudflare.account.database(NAME).sqlite;
        for (const table of ['properties', 'locations', 'amenities', 'import_staging']) {
          database.exec(`DELETE FROM ${table}`);
        }
        cloudflare.faults = [{ request: /./, status: 502, times: 1, skip, isAfter }];
        const one = await load();
        expect([skip, isAfter, one.code, stored()]).toEqual([skip, isAfter, 0, ['one', 'two']]);
        cloudflare.faults = [];
      }
    }
  });
});
