/** A drill: a database that is backed up, emptied and restored holds the same rows. */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { type Finished, ProjectCopy } from '../support/node/project-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

const NAME = 'events-and-property-feed';
const DEV_KEY = 'dev_key_4f1c09a7b25e4d8391';
const headers = { 'x-api-key': DEV_KEY };
const EVENTS = 'SELECT * FROM events ORDER BY seq';
const LISTINGS = 'SELECT * FROM properties ORDER BY id';
const IDENTITY = 'SELECT lineage, generation FROM database_identity';

const projects: ProjectCopy[] = [];

function clone(): ProjectCopy {
  const project = new ProjectCopy();
  projects.push(project);
  return project;
}

function expectDone(finished: Finished): void {
  expect(finished).toMatchObject({ code: 0, stderr: '' });
}

function nameOf(type: string, id: string): string {
  return createHash('sha256')
    .update(JSON.stringify([type, id]))
    .digest('hex');
}

/** The view of the service's readers: every page of the feed and of the events. */
async function seenBy(origin: string): Promise<unknown[]> {
  const pages: unknown[] = [];
  const known = z.looseObject({ next_cursor: z.string().nullish(), data: z.array(z.unknown()) });
  for (const path of ['/api/v1/web/properties', '/api/v1/events']) {
    let cursor = '';
    do {
      const response = await fetch(`${origin}${path}?limit=25${cursor}`, { headers });
      const page = known.parse(await response.json());
      pages.push(page.data);
      cursor = page.next_cursor ? `&cursor=${encodeURIComponent(page.next_cursor)}` : '';
    } while (cursor !== '');
  }
  return pages;
}

async function send(origin: string, aggregate: string, payload: object): Promise<void> {
  const response = await fetch(`${origin}/api/public/events/ingest`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      event_type: 'booking.created',
      aggregate_type: 'booking',
      aggregate_id: aggregate,
      payload,
    }),
  });
  expect(response.status).toBe(202);
}

let source: ProjectCopy;
let seen: unknown[];
let file: string;

beforeAll(async () => {
  source = await copyWithStore('samples');
  projects.push(source);
  const service = await source.serve();
  await send(service.origin, 'booking-1', {
    guests: 2,
    note: "l'été\nat \u0001\u2028 noon; -- '' --",
  });
  await send(service.origin, 'booking-2', { guests: 3, guest_email: 'ann@example.com' });
  await send(service.origin, 'booking-3', {});
  seen = await seenBy(service.origin);
  await service.stop();
  const backup = await source.run('backup.ts');
  expectDone(backup);
  expect(backup.stdout).toMatch(
    /^backups\/local-[0-9TZ-]+\.sql: \d+ rows, read back and compared\n$/,
  );
  file = join(source.directory, backup.stdout.split(':')[0] ?? '');
});
afterAll(async () => {
  await Promise.all(projects.map((project) => project.remove()));
});

describe('backup and restore', () => {
  it('bring an empty working copy into the same state, as readers of the service see it', async () => {
    const target = clone();
    const restored = await target.run('restore.ts', file, '--no-ledger');
    expectDone(restored);
    expect(restored.stdout).toContain('Erased again: 0 events');
    const [own] = target.rows(IDENTITY);
    const [original] = source.rows(IDENTITY);
    expect(own?.lineage).toBe(original?.lineage);
    expect(own?.generation).not.toBe(original?.generation);
    for (const query of [EVENTS, LISTINGS]) expect(target.rows(query)).toEqual(source.rows(query));
    const service = await target.serve();
    expect(await seenBy(service.origin)).toEqual(seen);
    expect(seen.flat().length).toBeGreaterThan(45);
    // A new event follows the restored ones.
    await send(service.origin, 'booking-4', {});
    await service.stop();
    expect(target.rows('SELECT max(seq) AS last, count(*) AS n FROM events')).toEqual([
      { last: 4, n: 4 },
    ]);
    const again = await target.run('restore.ts', file, '--no-ledger');
    expectDone(again);
    expect(again.stdout).toContain('An earlier run has restored');
    expect(target.rows(IDENTITY)).toEqual([own]);
    const taken = await source.run('restore.ts', file, '--no-ledger');
    expect(taken).toMatchObject({ code: 1, stdout: '' });
    expect(taken.stderr).toMatch(/the database holds rows already .*: it must be empty/);
    expect(taken.stderr).toContain('Nothing was changed.');
  });

  it('keep the events of the ledger erased, and spare later ones', async () => {
    const target = clone();
    const [first, second] = source.rows(EVENTS);
    const own = source.rows(IDENTITY)[0]?.lineage;
    const line = (aggregate: string, last_event_id: unknown, year = 2030, lineage = own) =>
      JSON.stringify({
        lineage,
        aggregate: nameOf('booking', aggregate),
        last_event_id,
        erased_at: `${year}-01-01T00:00:00.000Z`,
      });
    target.write(
      'erasures.jsonl',
      // The second came before the events of booking-3; the third is of another lineage.
      `${[line('booking-2', second?.id), line('booking-3', first?.id, 2001), line('booking-1', first?.id, 2030, '0'.repeat(32))].join('\n')}\n`,
    );
    const restored = await target.run('restore.ts', file);
    expectDone(restored);
    expect(restored.stdout).toContain('Erased again: 1 event.');
    const payloads = target.rows(EVENTS).map(({ payload }) => payload);
    const before = source.rows(EVENTS).map(({ payload }) => payload);
    expect(payloads).toEqual([before[0], '{}', before[2]]);
    // No erased payload reached the restored database at any time.
    const state = join(target.directory, '.wrangler/state/v3/d1/miniflare-D1DatabaseObject');
    const bytes = readdirSync(state).map((name) => readFileSync(join(state, name), 'latin1'));
    expect(bytes.join('')).not.toContain('ann@example.com');
  });

  it('refuse a file that is cut short, altered or no backup, and change nothing', async () => {
    const target = clone();
    const text = readFileSync(file, 'utf8');
    const cases: [string, string][] = [
      [text.slice(0, text.length / 2), 'is cut short'],
      [text.slice(0, text.lastIndexOf('-- end')), 'is cut short'],
      [text.replace(`'booking-1'`, `'booking-9'`), 'was altered or is damaged'],
      ['hello\n', 'is no backup'],
      ['', 'is no backup'],
    ];
    for (const [content, message] of cases) {
      const path = target.write('broken.sql', content);
      const { code, stderr } = await target.run('restore.ts', path, '--no-ledger');
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
      expect(stderr).toContain('Nothing was changed.');
    }
    expect(existsSync(join(target.directory, '.wrangler/state/v3/d1'))).toBe(false);
    const none = await target.run('restore.ts', 'nowhere.sql');
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('there is no file')]);
    const silent = await target.run('restore.ts', file);
    expect(silent.code).toBe(1);
    expect(silent.stderr).toMatch(
      /there is no ledger .*: name it with --ledger FILE, or say --no-ledger/,
    );
    expect(silent.stderr).toContain('Nothing was changed.');
  });

  it.each([
    ['backup', ['--every'], "Unknown option '--every'"],
    ['backup', ['--env', 'staging'], '--env needs --remote'],
    ['restore', [], 'Name one backup'],
    [
      'restore',
      ['a.sql', '--ledger', 'b.jsonl', '--no-ledger'],
      '--ledger and --no-ledger exclude each other',
    ],
    ['after-time-travel', ['--no-ledgers'], "Unknown option '--no-ledgers'"],
    [
      'restore',
      ['a.sql', '--remote', '--env', 'moon'],
      '--env "moon": wrangler.toml defines no such environment',
    ],
  ])('%s refuses %j with 2', async (program, args, message) => {
    const { code, stderr } = await source.run(`${program}.ts`, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('leave no file behind when the database cannot be read, and replace none', async () => {
    const path = source.write('kept.sql', 'mine');
    const kept = await source.run('backup.ts', '--out', path);
    expect([kept.code, kept.stderr]).toEqual([1, expect.stringContaining('exists already')]);
    expect(readFileSync(path, 'utf8')).toBe('mine');
  });
});

describe('backup and restore of a deployed database', () => {
  let cloudflare: CloudflareStandIn;
  let project: ProjectCopy;

  beforeAll(async () => {
    cloudflare = await new CloudflareStandIn().start();
    cloudflare.account.createDatabase(NAME);
    // One without tables, and one that was deployed and has no rows.
    cloudflare.account.createDatabase(`${NAME}-staging`).migrate();
    project = clone();
    project.environment = cloudflare.environment;
  });
  afterAll(() => cloudflare.stop());

  it('restore into a new database, resume after a failure in the middle, and need the right to D1 only', async () => {
    cloudflare.faults = [
      { request: /\/(workers|storage)\//, status: 403 },
      {
        request: /\/query$/,
        body: /INSERT OR IGNORE INTO \\"properties/,
        status: 502,
        isAfter: true,
      },
    ];
    const failed = await project.run('restore.ts', file, '--no-ledger', '--remote');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain(
      'The database may hold a part of the backup. Run the same command again: it goes on.',
    );
    const unfinished = await project.run('backup.ts', '--remote');
    expect(unfinished.stderr).toContain('a restore of this database is not finished');
    const homes = project.write('homes.json', { properties: [] });
    for (const [program = '', ...args] of [
      ['import-listings.ts', homes],
      ['erase-events.ts', '--aggregate-type', 'booking', '--aggregate-id', 'booking-1'],
      ['after-time-travel.ts', '--no-ledger'],
    ]) {
      const refused = await project.run(program, ...args, '--remote');
      expect([program, refused.code, refused.stderr]).toEqual([
        program,
        1,
        expect.stringContaining(
          'a restore of this database is not finished: run `npm run restore` again with the same file',
        ),
      ]);
    }
    // The last call is carried out, and its answer lost.
    const last = { request: /\/query$/, body: /DROP TABLE IF EXISTS/, status: 502, times: 1 };
    cloudflare.faults = [
      { request: /\/(workers|storage)\//, status: 403 },
      { ...last, isAfter: true },
    ];
    const finished = await project.run('restore.ts', file, '--no-ledger', '--remote');
    expect(finished).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Restored \d+ rows/),
    });
    cloudflare.faults = [];
    const again = await project.run('restore.ts', file, '--no-ledger', '--remote');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('An earlier run') });
    const generation = () => cloudflare.account.database(NAME).rows(IDENTITY)[0]?.generation;
    const before = generation();
    expectDone(await project.run('after-time-travel.ts', '--no-ledger', '--remote'));
    expect(generation()).not.toBe(before);
    cloudflare.faults = [{ request: /\/(workers|storage)\//, status: 403 }];
    const { account } = cloudflare;
    for (const query of [EVENTS, LISTINGS]) {
      expect(account.database(NAME).rows(query)).toEqual(source.rows(query));
    }

    const out = join(project.directory, 'remote.sql');
    expectDone(await project.run('backup.ts', '--remote', '--out', out));
    expectDone(await project.run('restore.ts', out, '--no-ledger', '--remote', '--env', 'staging'));
    expect(account.database(`${NAME}-staging`).rows(EVENTS)).toEqual(source.rows(EVENTS));
    expect(cloudflare.unknown).toEqual([]);
    rmSync(out);
  });

  it('make no file while Cloudflare does not answer, and say so in a few lines', async () => {
    cloudflare.faults = [{ request: /\/query$/, body: /rowid/, status: 503 }];
    const out = join(project.directory, 'none.sql');
    const { code, stderr } = await project.run('backup.ts', '--remote', '--out', out);
    expect(code).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      'Cloudflare: its API answered with HTTP 503. The request is repeated.',
      expect.stringMatching(
        /^There is no backup: Cloudflare gave no usable answer to POST .*, 5 times/,
      ),
    ]);
    expect(readdirSync(project.directory).filter((name) => name.startsWith('none'))).toEqual([]);
  });
});
