/** A drill: a database that is backed up, emptied and restored holds the same rows. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { command as afterTimeTravel } from '../../tools/after-time-travel.ts';
import { command as backup } from '../../tools/backup.ts';
import { restDatabase } from '../../tools/cloudflare/rest-database.ts';
import type { WithDatabase } from '../../tools/database/open.ts';
import { command as eraseEvents } from '../../tools/erase-events.ts';
import { nameOf } from '../../tools/erasure/ledger.ts';
import { command as restore } from '../../tools/restore.ts';
import { Database } from '../support/cloudflare/database.ts';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { runOn, runWith } from '../support/node/in-process.ts';
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

const COMMANDS = {
  backup: (...args: string[]) => runWith(none, backup, ...args),
  restore: (...args: string[]) => runWith(none, restore, ...args),
  'after-time-travel': (...args: string[]) => runWith(none, afterTimeTravel, ...args),
};

/** The view of the service's readers: every page of the feed and of the events. */
async function seenBy(origin: string) {
  const pages: z.infer<typeof known>['data'][] = [];
  const known = z.looseObject({
    next_cursor: z.string().nullish(),
    data: z.array(z.looseObject({ id: z.string() })),
  });
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
let seen: Awaited<ReturnType<typeof seenBy>>;
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
  const written = await source.run('backup.ts');
  expectDone(written);
  expect(written.stdout).toMatch(
    /^backups\/local-[0-9TZ-]+\.sql: \d+ rows, read back and compared\n$/,
  );
  file = join(source.directory, written.stdout.split(':')[0] ?? '');
});
afterAll(async () => {
  await Promise.all(projects.map((project) => project.remove()));
});

/** Opens no database. */
const none: WithDatabase = () => Promise.reject(new Error('the database was opened'));

describe('backup and restore', () => {
  it('bring an empty working copy into the same state, but for the events that the ledger lists', async () => {
    const target = clone();
    const [first, second] = source.rows(EVENTS);
    const [original] = source.rows(IDENTITY);
    const line = (aggregate: string, last_event_id: unknown, year = 2030, lineage?: string) =>
      JSON.stringify({
        lineage: lineage ?? original?.lineage,
        aggregate: nameOf({ type: 'booking', id: aggregate }),
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
    // No erased payload reached the restored database at any time.
    const state = join(target.directory, '.wrangler/state/v3/d1/miniflare-D1DatabaseObject');
    const bytes = readdirSync(state).map((name) => readFileSync(join(state, name), 'latin1'));
    expect(bytes.join('')).not.toContain('ann@example.com');

    const [own] = target.rows(IDENTITY);
    expect(own?.lineage).toBe(original?.lineage);
    expect(own?.generation).not.toBe(original?.generation);
    expect(target.rows(LISTINGS)).toEqual(source.rows(LISTINGS));
    const erasedAt = '2030-01-01T00:00:00.000Z';
    const isErased = ({ id }: Record<string, unknown>) => id === second?.id;
    const erasedRow = { payload: '{}', erased_at: Date.parse(erasedAt) };
    expect(target.rows(EVENTS)).toEqual(
      source.rows(EVENTS).map((row) => (isErased(row) ? { ...row, ...erasedRow } : row)),
    );
    const service = await target.serve();
    const erasedEvent = { payload: {}, erased_at: erasedAt };
    expect(await seenBy(service.origin)).toEqual(
      seen.map((page) => page.map((item) => (isErased(item) ? { ...item, ...erasedEvent } : item))),
    );
    expect(seen.flat().length).toBeGreaterThan(45);
    const again = await runOn(service.database, restore, file, '--no-ledger');
    expectDone(again);
    expect(again.stdout).toContain('An earlier run has restored');
    expect(target.rows(IDENTITY)).toEqual([own]);
    // A new event follows the restored ones.
    await send(service.origin, 'booking-4', {});
    await service.stop();
    expect(target.rows('SELECT max(seq) AS last, count(*) AS n FROM events')).toEqual([
      { last: 4, n: 4 },
    ]);
  });

  it('refuse a database that holds rows, and change nothing', async () => {
    const taken = new Database('taken');
    taken.migrate();
    taken.sqlite.exec(
      `INSERT INTO amenities (slug, label) VALUES ('wifi', '{}'); INSERT INTO d1_migrations (name) VALUES ('own')`,
    );
    const rows = () => [taken.rows('SELECT * FROM amenities'), taken.rows(EVENTS)];
    const before = rows();
    const { code, stdout, stderr } = await runOn(taken.binding, restore, file, '--no-ledger');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/the database holds rows already .*: it must be empty/);
    expect(stderr).toContain('Nothing was changed.');
    expect(rows()).toEqual(before);
    taken.sqlite.close();
  });

  it('refuse a file that is cut short, altered or no backup, and open no database', async () => {
    const text = readFileSync(file, 'utf8');
    const cases: [string, string][] = [
      [text.slice(0, text.length / 2), 'is cut short'],
      [text.slice(0, text.lastIndexOf('-- end')), 'is cut short'],
      [text.replace(`'booking-1'`, `'booking-9'`), 'was altered or is damaged'],
      ['hello\n', 'is no backup'],
      ['', 'is no backup'],
    ];
    for (const [content, message] of cases) {
      const path = source.write('broken.sql', content);
      const { code, stderr } = await runWith(none, restore, path, '--no-ledger');
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
      expect(stderr).toContain('Nothing was changed.');
    }
    const nowhere = join(source.directory, 'nowhere');
    const missing = await runWith(none, restore, nowhere, '--no-ledger');
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringContaining('there is no file'),
    ]);
    const silent = await runWith(none, restore, file, '--ledger', nowhere);
    expect(silent.code).toBe(1);
    expect(silent.stderr).toMatch(
      /there is no ledger .*: name it with --ledger FILE, or say --no-ledger/,
    );
    expect(silent.stderr).toContain('Nothing was changed.');
  });

  it.each<[keyof typeof COMMANDS, string[], string]>([
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
  ])('%s refuses %j with 2', async (name, args, message) => {
    const { code, stderr } = await COMMANDS[name](...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it('replace no file', async () => {
    const path = source.write('kept.sql', 'mine');
    const kept = await runWith(none, backup, '--out', path);
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
  afterAll(async () => {
    vi.unstubAllEnvs();
    await cloudflare.stop();
  });

  /** The database of production. Its calls are repeated without pauses. */
  const production = () =>
    restDatabase(cloudflare.openAccount(), cloudflare.account.database(NAME).uuid);
  const restoreHere = () => runOn(production(), restore, file, '--no-ledger', '--remote');

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
    const failed = await restoreHere();
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain(
      'The database may hold a part of the backup. Run the same command again: it goes on.',
    );
    const unfinished = await runOn(
      production(),
      backup,
      ...['--remote', '--out', join(project.directory, 'unfinished.sql')],
    );
    expect(unfinished.stderr).toContain('a restore of this database is not finished');
    const anna = ['--aggregate-type', 'booking', '--aggregate-id', 'booking-1'];
    for (const refused of [
      await project.run('import-listings.ts', project.write('homes.json', {}), '--remote'),
      await runOn(production(), eraseEvents, ...anna, '--remote'),
      await runOn(production(), afterTimeTravel, '--no-ledger', '--remote'),
    ]) {
      expect([refused.code, refused.stderr]).toEqual([
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
    const finished = await restoreHere();
    expect(finished).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Restored \d+ rows/),
    });
    cloudflare.faults = [];
    const again = await restoreHere();
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('An earlier run') });
    const generation = () => cloudflare.account.database(NAME).rows(IDENTITY)[0]?.generation;
    const before = generation();
    expectDone(await runOn(production(), afterTimeTravel, '--no-ledger', '--remote'));
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
  });

  it('make no file while Cloudflare does not answer, and say so in a few lines', async () => {
    cloudflare.faults = [{ request: /\/query$/, body: /rowid/, status: 503 }];
    const out = join(project.directory, 'none.sql');
    const { code, stderr } = await runOn(production(), backup, '--remote', '--out', out);
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
