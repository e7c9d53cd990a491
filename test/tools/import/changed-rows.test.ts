/** The columns that an import writes for the list of changes and for the cards, seen in the store. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Property, propertyOf } from '../../support/node/listings-file.ts';
import { type MemoryImports, openMemoryImports } from '../../support/node/memory-imports.ts';

let imports: MemoryImports;
beforeAll(() => {
  imports = openMemoryImports();
});
afterEach(() => imports.clear());
afterAll(() => imports.close());

async function load(properties: readonly object[]): Promise<void> {
  expect(await imports.load({ properties })).toMatchObject({ code: 0, stderr: '' });
}

/** The slugs of the stored listings in the order of their changes, each with its place: `casa-marea 7`. */
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
    await load([a, b, hidden(c)]);
    expect(places()).toEqual(['c', 'a 1', 'b 2']);
    await load([a, { ...b, name: 'Other' }, c]);
    expect(places()).toEqual(['a 1', 'b 3', 'c 4']);
    expect(imports.rows('SELECT kind FROM import_staging')).toEqual([{ kind: 'applied' }]);
  });

  it('of one import begin with its removals, so that a slug is free before another listing gets it', async () => {
    await load([a, b, c]);
    await load([renamed(b, 'a'), c, hidden(renamed(a, 'was-a'))]);
    expect(places()).toEqual(['c 3', 'was-a 4', 'a 5']);
  });
});

it('the card of a listing is written with its document, and gone when the listing is hidden', async () => {
  const home = propertyOf({ slug: 'home', bedrooms: 3, beds: 4 });
  await load([home]);
  const [row] = imports.rows('SELECT card FROM properties');
  const card = JSON.parse(String(row?.card));
  expect(card).toMatchObject({ object: 'property_card', bedrooms: 3 });
  expect(card).not.toHaveProperty('beds');
  await load([hidden(home)]);
  expect(imports.rows('SELECT document, card FROM properties')).toEqual([
    { document: null, card: null },
  ]);
});

describe('the former slugs of a listing', () => {
  const home = propertyOf({ slug: 'one' });
  const other = propertyOf({ slug: 'other' });

  function formerSlugs(slug: string): unknown {
    const [row] = imports.rows(`SELECT former_slugs FROM properties WHERE slug = '${slug}'`);
    return JSON.parse(String(row?.former_slugs));
  }

  it('are the slugs under which it was public, newest first', async () => {
    await load([home, other]);
    expect(formerSlugs('one')).toEqual([]);
    await load([renamed(home, 'two')]);
    await load([renamed(home, 'three')]);
    await load([{ ...renamed(home, 'three'), name: 'Other' }]);
    expect(formerSlugs('three')).toEqual(['two', 'one']);
    await load([renamed(home, 'one')]);
    expect(formerSlugs('one')).toEqual(['three', 'two']);
    expect(formerSlugs('other')).toEqual([]);
  });

  it('have the last public slug of a listing that was hidden in between, and no slug that it had while hidden', async () => {
    await load([home]);
    await load([hidden(renamed(home, 'two'))]);
    expect(formerSlugs('two')).toEqual([]);
    await load([hidden(renamed(home, 'three'))]);
    await load([renamed(home, 'four')]);
    expect(formerSlugs('four')).toEqual(['one']);
  });

  it('lose a slug that another listing takes, also in a swap, for good', async () => {
    await load([home, other]);
    await load([renamed(home, 'other'), renamed(other, 'one')]);
    expect([formerSlugs('one'), formerSlugs('other')]).toEqual([[], []]);
    imports.clear();
    await load([home]);
    await load([renamed(home, 'two')]);
    await load([renamed(home, 'three'), renamed(other, 'one')]);
    expect(formerSlugs('three')).toEqual(['two']);
    await load([renamed(other, 'elsewhere')]);
    expect(formerSlugs('three')).toEqual(['two']);
    expect(formerSlugs('elsewhere')).toEqual(['one']);
  });

  it('are at most 20', async () => {
    await load([home]);
    const former = Array.from({ length: 20 }, (_, index) => `former-${index}`);
    const statement = imports.database.prepare('UPDATE properties SET former_slugs = ?');
    await statement.bind(JSON.stringify(former)).run();
    await load([renamed(home, 'two')]);
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
