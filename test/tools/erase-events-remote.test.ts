/** `npm run erase-events -- --remote` against a stand-in of Cloudflare that fails. */

import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { restDatabase } from '../../tools/cloudflare/rest-database.ts';
import { command } from '../../tools/erase-events.ts';
import { nameOf } from '../../tools/erasure/ledger.ts';
import { CloudflareStandIn, type Fault } from '../support/cloudflare/stand-in.ts';
import { runOn } from '../support/node/in-process.ts';
import { type Finished, ProjectCopy } from '../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';
const STAGING = `${NAME}-staging`;
const OF_ANNA = ['--aggregate-type', 'booking', '--aggregate-id', 'anna'];
const PAYLOADS = 'SELECT payload FROM events ORDER BY seq';
const ERASURE = { request: /\/query$/, body: /UPDATE events/ };

let cloudflare: CloudflareStandIn;
let project: ProjectCopy;

let ledgerFile: string;

beforeAll(() => {
  project = new ProjectCopy();
  ledgerFile = join(project.directory, 'erasures.jsonl');
});
beforeEach(async () => {
  cloudflare = await new CloudflareStandIn().start();
  project.environment = cloudflare.environment;
  for (const name of [NAME, STAGING]) {
    const database = cloudflare.account.createDatabase(name);
    database.migrate();
    const insert = database.sqlite.prepare(
      `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
       VALUES (?, 'booking.created', 'booking', ?, 1000, '{"note":"personal"}')`,
    );
    for (const [id, aggregate] of Object.entries({ e1: 'anna', e2: 'bert', e3: 'anna' })) {
      insert.run(id, aggregate);
    }
  }
});
afterEach(async () => {
  vi.unstubAllEnvs();
  expect(cloudflare.unknown).toEqual([]);
  await cloudflare.stop();
  rmSync(ledgerFile, { force: true });
});
afterAll(() => project.remove());

/** Runs the program. */
const run = (...options: string[]): Promise<Finished> =>
  project.run('erase-events.ts', ...options, '--remote');

/** Runs the command in this process, on the database of production, and repeats its calls without pauses. */
function erase(...options: string[]): Promise<Finished> {
  const { uuid } = cloudflare.account.database(NAME);
  const database = restDatabase(cloudflare.openAccount(), uuid);
  return runOn(database, command, ...options, '--remote', '--ledger', ledgerFile);
}

function payloads(name = NAME): unknown[] {
  return cloudflare.account
    .database(name)
    .rows(PAYLOADS)
    .map(({ payload }) => payload);
}

const KEPT = '{"note":"personal"}';
const ERASED = ['{}', KEPT, '{}'];
const UNTOUCHED = [KEPT, KEPT, KEPT];

/** The ledger's lines, without the times. */
function ledger(): unknown[] {
  if (!existsSync(ledgerFile)) return [];
  return readFileSync(ledgerFile, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => ({ ...JSON.parse(line), erased_at: undefined }));
}

const lineOf = (name: string) => ({
  lineage: cloudflare.account.database(name).rows('SELECT lineage FROM database_identity')[0]
    ?.lineage,
  aggregate: nameOf({ type: 'booking', id: 'anna' }),
  last_event_id: 'e3',
});

describe('a remote erasure', () => {
  it('finds the database by its name, needs the right to D1 only, and is done once', async () => {
    cloudflare.account.subdomain = null;
    cloudflare.faults = [{ request: /\/(workers|storage)\//, status: 403 }];
    expect(await run(...OF_ANNA, '--env', 'staging')).toEqual({
      code: 0,
      stdout: `Erased 2 events; 0 of its 2 events had been erased before. The ledger is ${ledgerFile}.\n`,
      stderr: '',
    });
    expect([payloads(), payloads(STAGING)]).toEqual([UNTOUCHED, ERASED]);
    expect(ledger()).toEqual([lineOf(STAGING)]);
    expect(cloudflare.account.subdomain).toBeNull();
    expect(cloudflare.requests.filter((name) => /workers|kv/.test(name))).toEqual([]);
  });

  it('writes nothing, neither there nor in the ledger, with --dry-run', async () => {
    const { code, stdout } = await erase(...OF_ANNA, '--dry-run');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'Dry run: 2 events would be erased; 0 of its 2 events had been erased before.\n',
    });
    expect([payloads(), ledger()]).toEqual([UNTOUCHED, []]);
  });

  it.each<[string, Fault]>([
    ['a 502 after it was carried out', { ...ERASURE, status: 502, times: 1, isAfter: true }],
    ['a 502 before it was carried out', { ...ERASURE, status: 502, times: 1 }],
    ['a connection that breaks', { ...ERASURE, status: 0, times: 1, isAfter: true }],
    ['nothing but 502s after it was carried out', { ...ERASURE, status: 502, isAfter: true }],
  ])('is done, reported and in the ledger when it meets %s', async (_, fault) => {
    cloudflare.faults = [fault];
    const { code, stdout, stderr } = await erase(...OF_ANNA);
    expect([code, payloads(), ledger()]).toEqual([0, ERASED, [lineOf(NAME)]]);
    expect(stdout).toContain('Erased 2 events; 0 of its 2 events had been erased before.');
    expect(stderr).toMatch(/^Cloudflare: .* The request is repeated\.\n$/);
  });

  it('says that nothing was changed when it has read that back', async () => {
    cloudflare.faults = [{ ...ERASURE, status: 502 }];
    const { code, stdout, stderr } = await erase(...OF_ANNA);
    expect([code, stdout, payloads(), ledger()]).toEqual([1, '', UNTOUCHED, []]);
    expect(stderr.trimEnd().split('\n')).toEqual([
      'Cloudflare: its API answered with HTTP 502. The request is repeated.',
      expect.stringMatching(/^Cloudflare gave no usable answer to POST .*, 5 times: .*HTTP 502$/),
      'Nothing was changed.',
    ]);
  });

  it('says that the outcome is not known, and what to run, when it cannot be read back', async () => {
    cloudflare.failFrom(ERASURE.body);
    const lost = await erase(...OF_ANNA);
    expect([lost.code, lost.stdout, payloads(), ledger()]).toEqual([1, '', ERASED, []]);
    expect(lost.stderr).toMatch(
      /\nIt is not known whether anything was erased: run the command again\.\n$/,
    );
    expect(lost.stderr).not.toContain('Nothing was changed');
    cloudflare.heal();
    const again = await erase(...OF_ANNA);
    expect([again.code, ledger()]).toEqual([0, [lineOf(NAME)]]);
    expect(again.stdout).toContain('Erased 0 events; 2 of its 2 events had been erased before.');
  });

  it('names the environment in the command to run when the database lacks a migration', async () => {
    cloudflare.account
      .database(STAGING)
      .sqlite.exec('DELETE FROM d1_migrations WHERE id = (SELECT max(id) FROM d1_migrations)');
    const { code, stdout, stderr } = await run(...OF_ANNA, '--env', 'staging');
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'the database lacks migrations: run `npm run deploy -- --env staging` first\nNothing was changed.\n',
    });
    expect([payloads(STAGING), ledger()]).toEqual([UNTOUCHED, []]);
  });
});

it('an erasure waits until a restore of the database is finished', async () => {
  cloudflare.account.database(NAME).sqlite.exec('CREATE TABLE _restore_under_way (hash text)');
  const { code, stderr } = await erase(...OF_ANNA);
  expect([code, payloads()]).toEqual([1, UNTOUCHED]);
  expect(stderr).toMatch(
    /^a restore of this database is not finished: run `npm run restore` again /,
  );
});

describe('an erasure again', () => {
  it('repeats the erasures of the ledger in a database that was set back, and spares later events', async () => {
    expect((await erase(...OF_ANNA)).code).toBe(0);
    const { sqlite } = cloudflare.account.database(NAME);
    sqlite.exec(`UPDATE events SET payload = '${KEPT}', erased_at = NULL`);
    sqlite.exec(
      `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
       VALUES ('e4', 'booking.created', 'booking', 'anna', 4102444800000, '{"note":"later"}')`,
    );
    const before = ledger();
    expect(await erase('--again')).toEqual({
      code: 0,
      stdout: `Erased again, by the ledger ${ledgerFile}: 2 events.\n`,
      stderr: '',
    });
    expect(payloads()).toEqual([...ERASED, '{"note":"later"}']);
    expect([payloads(STAGING), ledger()]).toEqual([UNTOUCHED, before]);
    rmSync(ledgerFile);
    const none = await erase('--again');
    expect(none).toMatchObject({
      code: 1,
      stderr: `there is no ledger ${ledgerFile}\nNothing was changed.\n`,
    });
  });
});
