/**
 * The transaction of an import: the places of changes, readers that follow them, and imports side
 * by side.
 */

import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { readChanges } from '../../../src/properties/changes.ts';
import {
  BAY,
  fileOf,
  importInto,
  type Property,
  propertyOf,
} from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { tapD1 } from '../../support/tap.ts';

const SITE = 'https://www.example.com';

const imports = openMemoryImports();
beforeEach(() => imports.clear());

const listing = z.looseObject({ id: z.string(), slug: z.string() });
const change = z.object({
  id: z.string(),
  slug: z.string(),
  change: z.enum(['published', 'removed']),
  property: listing.nullable(),
});
const page = z.object({ data: z.array(change), has_more: z.boolean() });

/** The database with sessions, which the REST API has not. */
const withSessions = (database: D1Database) =>
  new Proxy(database, {
    get: (target, name) => (name === 'withSession' ? () => target : Reflect.get(target, name)),
  });

/** A site's copy of the catalogue, kept in step by the list of changes. */
class Copy {
  readonly listings = new Map<string, z.infer<typeof listing>>();
  after: Awaited<ReturnType<typeof readChanges>>['place'] | undefined;
  pages = 0;

  /** Reads on to the end. Returns the changes: `published casa-marea`. */
  async follow(limit = 100): Promise<string[]> {
    const changes: string[] = [];
    for (let hasMore = true; hasMore; ) {
      const request = { limit, after: this.after, locale: undefined };
      const { json, place } = await readChanges(withSessions(imports.database), SITE, request);
      const { data, has_more } = page.parse(JSON.parse(json));
      for (const { id, slug, change, property } of data) {
        changes.push(`${change} ${slug}`);
        if (property) this.listings.set(id, property);
        else this.listings.delete(id);
      }
      this.after = place;
      this.pages += 1;
      hasMore = has_more;
    }
    return changes.sort();
  }
}

/** The public catalogue, as it is stored. */
function catalogue() {
  const rows = imports.rows(`SELECT document FROM properties WHERE status <> 'hidden'`);
  const listings = rows.map(({ document }) => listing.parse(JSON.parse(String(document))));
  return new Map(listings.map((each) => [each.id, each]));
}

const load = (content: object) => importInto(imports.database, content);
const loadHomes = (...properties: object[]) => load({ properties });

it('a reader that follows gets each change that the feed shows, once', async () => {
  const photo = (number: number, web_visible: boolean) => ({
    url: `https://images.example.com/${number}.jpg`,
    section: 'gallery',
    web_visible,
    web_sort_order: number,
  });
  const first = propertyOf({ slug: 'first', location_id: BAY, photos: [photo(1, true)] });
  const unseen = { ...first, photos: [photo(2, false), photo(1, true)] };
  const hidden = { ...first, status: 'hidden' };
  const second = propertyOf({ slug: 'second', amenities: ['wifi'] });
  const never = propertyOf({ slug: 'never', status: 'hidden', location_id: BAY });
  const bay = 'Blue bay';
  const steps: [object, string[]][] = [
    [fileOf([first, second, never]), ['published first', 'published second']],
    [fileOf([first, second, never]), []],
    [fileOf([unseen, second, { ...never, name: 'Other' }]), []],
    [fileOf([], { bay }), ['published first']],
    [fileOf([{ ...hidden, slug: 'now-secret' }], { bay }), ['removed first']],
    [{ properties: [{ ...hidden, slug: 'still-secret' }] }, []],
    [{ properties: [first] }, ['published first']],
    [fileOf([], { bay, wifi: 'Fast Wi-Fi' }), ['published second']],
  ];
  const copy = new Copy();
  for (const [file, expected] of steps) {
    await load(file);
    expect({ file, changes: await copy.follow() }).toEqual({ file, changes: expected });
    expect(copy.listings).toEqual(catalogue());
  }
});

it('readers end with exactly the catalogue when imports run side by side while they read', async () => {
  const ids = Array.from({ length: 60 }, () => randomUUID());
  const batch = (part: number, round: number) =>
    ids.slice(part * 10, part * 10 + 25).map((id, index) =>
      propertyOf({
        id,
        slug: `beside-${id}`,
        name: `Part ${part} of round ${round}`,
        status: (index + part + round) % 4 === 0 ? 'hidden' : 'listed',
      }),
    );
  const readers = [new Copy(), new Copy(), new Copy()];
  let isRunning = true;
  const loadRounds = async () => {
    for (const round of [0, 1, 2, 3]) {
      await Promise.all([0, 1, 2, 3].map((part) => load({ properties: batch(part, round) })));
    }
  };
  const loading = loadRounds().finally(() => {
    isRunning = false;
  });
  while (isRunning) {
    for (const [index, reader] of readers.entries()) await reader.follow(3 + index);
  }
  await loading;
  expect(readers.reduce((sum, { pages }) => sum + pages, 0)).toBeGreaterThan(10);
  for (const reader of [...readers, new Copy()]) {
    await reader.follow(5);
    expect(reader.listings).toEqual(catalogue());
  }
});

/**
 * The slugs of the stored listings in the order of their changes, each with its place: `casa-marea
 * 7`.
 */
const places = () =>
  imports
    .rows('SELECT slug, change_seq FROM properties ORDER BY change_seq, slug')
    .map(({ slug, change_seq }) => `${slug} ${change_seq ?? ''}`.trim());

const hidden = (listing: Property) => ({ ...listing, status: 'hidden' });
const renamed = (listing: Property, slug: string) => ({ ...listing, slug });

describe('the places of changes', () => {
  const a = propertyOf({ slug: 'a' });
  const b = propertyOf({ slug: 'b' });
  const c = propertyOf({ slug: 'c' });

  it('follow the newest place one by one, even when killed imports have left rows staged', async () => {
    const staged = `INSERT INTO import_staging (kind, key, import_id, row) VALUES ('listing', 'x', 'killed', '{}')`;
    await imports.database.prepare(staged).run();
    await loadHomes(a, b, hidden(c));
    expect(places()).toEqual(['c', 'a 1', 'b 2']);
    await loadHomes(a, { ...b, name: 'Other' }, c);
    expect(places()).toEqual(['a 1', 'b 3', 'c 4']);
    expect(imports.rows('SELECT kind FROM import_staging')).toEqual([{ kind: 'applied' }]);
  });

  it('of one import begin with its removals, so that a slug is free before another listing gets it', async () => {
    await loadHomes(a, b, c);
    await loadHomes(renamed(b, 'a'), c, hidden(renamed(a, 'was-a')));
    expect(places()).toEqual(['c 3', 'was-a 4', 'a 5']);
  });
});

describe('the former slugs of a listing', () => {
  const home = propertyOf({ slug: 'one' });
  const other = propertyOf({ slug: 'other' });

  function formerSlugs(slug: string): unknown {
    const [row] = imports.rows(`SELECT former_slugs FROM properties WHERE slug = '${slug}'`);
    return JSON.parse(String(row?.former_slugs));
  }

  it('are the slugs under which it was public, newest first', async () => {
    await loadHomes(home, other);
    expect(formerSlugs('one')).toEqual([]);
    await loadHomes(renamed(home, 'two'));
    await loadHomes(renamed(home, 'three'));
    await loadHomes({ ...renamed(home, 'three'), name: 'Other' });
    expect(formerSlugs('three')).toEqual(['two', 'one']);
    await loadHomes(renamed(home, 'one'));
    expect(formerSlugs('one')).toEqual(['three', 'two']);
    expect(formerSlugs('other')).toEqual([]);
  });

  it('have the last public slug of a listing that was hidden in between, and no slug that it had while hidden', async () => {
    await loadHomes(home);
    await loadHomes(hidden(renamed(home, 'two')));
    expect(formerSlugs('two')).toEqual([]);
    await loadHomes(hidden(renamed(home, 'three')));
    await loadHomes(renamed(home, 'four'));
    expect(formerSlugs('four')).toEqual(['one']);
  });

  it('lose a slug that another listing takes, also in a swap, for good', async () => {
    await loadHomes(home, other);
    await loadHomes(renamed(home, 'other'), renamed(other, 'one'));
    expect([formerSlugs('one'), formerSlugs('other')]).toEqual([[], []]);
    imports.clear();
    await loadHomes(home);
    await loadHomes(renamed(home, 'two'));
    await loadHomes(renamed(home, 'three'), renamed(other, 'one'));
    expect(formerSlugs('three')).toEqual(['two']);
    await loadHomes(renamed(other, 'elsewhere'));
    expect(formerSlugs('three')).toEqual(['two']);
    expect(formerSlugs('elsewhere')).toEqual(['one']);
  });

  it('are at most 20', async () => {
    await loadHomes(home);
    const former = Array.from({ length: 20 }, (_, index) => `former-${index}`);
    const statement = imports.database.prepare('UPDATE properties SET former_slugs = ?');
    await statement.bind(JSON.stringify(former)).run();
    await loadHomes(renamed(home, 'two'));
    expect(formerSlugs('two')).toEqual(['one', ...former.slice(0, 19)]);
  });
});

it('the heads of a large catalogue are read page by page, each once', async () => {
  await imports.database
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
       INSERT INTO properties (id, slug, status, display_order, rendering, source)
       SELECT 'id-' || i, 'slug-' || i, iif(i % 6 = 0, 'hidden', 'listed'), i, '', '{}' FROM n`,
    )
    .run();
  const { stderr } = await imports.load({ properties: [] }, '--prune', '--dry-run');
  expect(stderr).toContain('leaves out 10000 of the 10000 public listings');
});

const first = propertyOf({ slug: 'first', location_id: BAY });
const second = propertyOf({ slug: 'second', location_id: BAY });

/**
 * Renames the bay, while another import adds a listing there before one of the round trips. Returns
 * their number.
 */
async function renameOvertakenAt(trip: number): Promise<number> {
  imports.clear();
  await load(fileOf([first]));
  let trips = 0;
  const database = tapD1(imports.database, async (call) => {
    trips += 1;
    if (trips === trip) await importInto(imports.database, { properties: [second] });
    return call();
  });
  await importInto(database, fileOf([], { bay: 'Blue bay' }));
  return trips;
}

it('an import that another one overtakes at any moment changes the rows that the other one has stored', async () => {
  let trips = Number.POSITIVE_INFINITY;
  for (let trip = 1; trip <= trips; trip += 1) {
    trips = Math.min(trips, await renameOvertakenAt(trip));
    const rows = imports.rows(
      `SELECT slug, source->>'$.location.name.en' AS place, document->>'$.location.name.en' AS shown
       FROM properties ORDER BY slug`,
    );
    expect({ trip, rows }).toEqual({
      trip,
      rows: [
        { slug: 'first', place: 'Blue bay', shown: 'Blue bay' },
        { slug: 'second', place: 'Blue bay', shown: 'Blue bay' },
      ],
    });
    expect(imports.rows('SELECT count(DISTINCT change_seq) AS places FROM properties')).toEqual([
      { places: 2 },
    ]);
  }
  expect(trips).toBeGreaterThan(4);
});

it('an import that is overtaken again and again gives up', async () => {
  let round = 0;
  const database = tapD1(imports.database, async (call) => {
    round += 1;
    await load({ properties: [{ ...second, location_id: null, name: `Round ${round}` }] });
    return call();
  });
  const overtaken = importInto(database, { properties: [{ ...first, location_id: null }] });
  await expect(overtaken).rejects.toThrow('other imports were applied meanwhile');
});
