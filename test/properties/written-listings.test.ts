/** The columns that an import writes for the list of changes and for the cards, seen in the store. */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { readListingsFile } from '../../tools/import/file.ts';
import { importListings } from '../../tools/import/import.ts';
import { findPublicIds } from '../../tools/import/store.ts';
import { type Property, propertyOf } from '../support/node/listings-file.ts';
import { tapD1 } from '../support/tap.ts';

const SITE = 'https://www.example.com';

type Circumstances = { publicSiteUrl?: string; database?: D1Database };

/** Imports listings. Returns how many of them the feed shows otherwise from then on. */
async function load(
  properties: readonly object[],
  { publicSiteUrl = SITE, database = env.DB }: Circumstances = {},
): Promise<number> {
  const read = readListingsFile(new TextEncoder().encode(JSON.stringify({ properties })));
  if (read.kind !== 'read') throw new Error('the file cannot be read');
  const outcome = await importListings(read, {
    database,
    publicSiteUrl,
    isDryRun: false,
    pruning: 'none',
    onProgress: () => undefined,
  });
  if (outcome.kind !== 'accepted') throw new Error(JSON.stringify(outcome.problems));
  return outcome.changes;
}

const row = z.object({
  slug: z.string(),
  status: z.string(),
  change_seq: z.int().nullable(),
  document: z.string().nullable(),
  card: z.string().nullable(),
  former_slugs: z.string().transform((text): unknown => JSON.parse(text)),
});

/** The stored listings in the order of their changes. */
async function stored() {
  const { results } = await env.DB.prepare(
    'SELECT * FROM properties ORDER BY change_seq, slug',
  ).all();
  return results.map((each) => row.parse(each));
}

/** The slugs of the stored listings in the order of their changes, each with its place. */
async function places() {
  return (await stored()).map(({ slug, change_seq }) => [slug, change_seq]);
}

const hidden = (listing: Property) => ({ ...listing, status: 'hidden' });
const renamed = (listing: Property, slug: string) => ({ ...listing, slug });

beforeEach(async () => {
  for (const table of ['properties', 'import_staging']) await env.DB.exec(`DELETE FROM ${table}`);
});

describe('the places of changes', () => {
  const a = propertyOf({ slug: 'a' });
  const b = propertyOf({ slug: 'b' });
  const c = propertyOf({ slug: 'c' });

  it('follow the newest place one by one, even when killed imports have left rows staged', async () => {
    await env.DB.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
       INSERT INTO import_staging (kind, key, import_id, row) SELECT 'property', i, 'killed', '{}' FROM n`
        .split('\n')
        .join(' '),
    );
    await load([a, b, hidden(c)]);
    expect(await places()).toEqual([
      ['c', null],
      ['a', 1],
      ['b', 2],
    ]);
    await load([a, { ...b, name: 'Other' }, c]);
    expect(await places()).toEqual([
      ['a', 1],
      ['b', 3],
      ['c', 4],
    ]);
  });

  it('of one import begin with its removals, so that a slug is free before another listing gets it', async () => {
    await load([a, b, c]);
    await load([renamed(b, 'a'), c, hidden(renamed(a, 'was-a'))]);
    expect(await places()).toEqual([
      ['c', 3],
      ['was-a', 4],
      ['a', 5],
    ]);
  });
});

describe('a listing whose rendering was interrupted', () => {
  const BATCH = 100;
  const homes = Array.from({ length: 3 * BATCH }, (_, index) => propertyOf({ slug: `h${index}` }));

  /** Imports the homes, and breaks off after a batch of them is rendered. */
  async function breakOff(): Promise<void> {
    let isApplied = false;
    let renderings = 0;
    const database = tapD1(env.DB, async (call, method) => {
      if (method === 'batch') isApplied = true;
      if (isApplied && method === 'run') renderings += 1;
      if (renderings > 1) throw new Error('killed');
      return call();
    });
    await load(homes, { database });
    expect((await stored()).filter(({ document }) => document !== null).length).toBe(BATCH);
  }

  it.each(['https://www.example.com', 'https://new.example.com'])(
    'is told of when it is rendered, for %s as well',
    async (publicSiteUrl) => {
      await breakOff();
      const told = Math.max(...(await stored()).map(({ change_seq }) => change_seq ?? 0));
      await load(homes, { publicSiteUrl });
      const after = await stored();
      const news = after.filter(({ change_seq }) => (change_seq ?? 0) > told);
      // A site that read the list in between has none of the addresses that the service gives now.
      expect(news.length).toBe(publicSiteUrl === SITE ? 2 * BATCH : 3 * BATCH);
      expect(after.every(({ document }) => document?.includes(publicSiteUrl))).toBe(true);
    },
  );
});

it('the ids of public listings come page by page, each once', async () => {
  let rows = 0;
  const database = tapD1(env.DB, async (call) => {
    const results = await call();
    rows = Math.max(rows, ...results.map((each) => each.results.length));
    return results;
  });
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 24000)
     INSERT INTO properties (id, slug, status, display_order, rendering, source)
     SELECT 'id-' || i, 'slug-' || i, iif(i % 6 = 0, 'hidden', 'listed'), i, '', '{}' FROM n`,
  ).run();
  expect(new Set(await findPublicIds(database)).size).toBe(20_000);
  expect(rows).toBe(10_000);
});

describe('the card of a listing', () => {
  it('is written with its document, and gone when it is hidden', async () => {
    const home = propertyOf({ slug: 'home', bedrooms: 3, beds: 4 });
    await load([home]);
    const [first] = await stored();
    expect(JSON.parse(first?.card ?? '')).toMatchObject({ object: 'property_card', bedrooms: 3 });
    expect(JSON.parse(first?.card ?? '')).not.toHaveProperty('beds');
    await load([hidden(home)]);
    expect((await stored())[0]).toMatchObject({ document: null, card: null });
  });
});

describe('the former slugs of a listing', () => {
  const home = propertyOf({ slug: 'one' });
  const other = propertyOf({ slug: 'other' });

  async function formerSlugs(slug: string) {
    return (await stored()).find((each) => each.slug === slug)?.former_slugs;
  }

  it('are the slugs under which it was public, newest first', async () => {
    await load([home, other]);
    expect(await formerSlugs('one')).toEqual([]);
    await load([renamed(home, 'two')]);
    await load([renamed(home, 'three')]);
    expect(await formerSlugs('three')).toEqual(['two', 'one']);
    await load([{ ...renamed(home, 'three'), name: 'Other' }]);
    expect(await formerSlugs('three')).toEqual(['two', 'one']);
    await load([renamed(home, 'one')]);
    expect(await formerSlugs('one')).toEqual(['three', 'two']);
    expect(await formerSlugs('other')).toEqual([]);
  });

  it('have the last public slug of a listing that was hidden in between, and no slug that it had while hidden', async () => {
    await load([home]);
    await load([hidden(renamed(home, 'two'))]);
    expect(await formerSlugs('two')).toEqual([]);
    await load([hidden(renamed(home, 'three'))]);
    await load([renamed(home, 'four')]);
    expect(await formerSlugs('four')).toEqual(['one']);
  });

  it('lose a slug that another listing takes, for good', async () => {
    await load([home]);
    await load([renamed(home, 'two')]);
    await load([renamed(home, 'three'), renamed(other, 'one')]);
    expect(await formerSlugs('three')).toEqual(['two']);
    await load([renamed(other, 'elsewhere')]);
    expect(await formerSlugs('three')).toEqual(['two']);
    expect(await formerSlugs('elsewhere')).toEqual(['one']);
  });

  it('are empty for two listings that have swapped their slugs', async () => {
    await load([home, other]);
    await load([renamed(home, 'other'), renamed(other, 'one')]);
    expect(await formerSlugs('one')).toEqual([]);
    expect(await formerSlugs('other')).toEqual([]);
  });

  it('are at most 20', async () => {
    await load([home]);
    const former = Array.from({ length: 20 }, (_, index) => `former-${index}`);
    const statement = env.DB.prepare(`UPDATE properties SET former_slugs = ? WHERE slug = 'one'`);
    await statement.bind(JSON.stringify(former)).run();
    await load([renamed(home, 'two')]);
    expect(await formerSlugs('two')).toEqual(['one', ...former.slice(0, 19)]);
  });
});
