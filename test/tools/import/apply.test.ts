/** Tests the transaction of an import, its numbered changes, and imports that lose a race. */

import { beforeEach, describe, expect, it } from 'vitest';
import { UnknownOutcomeError } from '../../../tools/import/write/apply.ts';
import { interceptD1 } from '../../support/interceptor.ts';
import {
  BAY,
  importInto,
  makeFile,
  makeProperty,
  type Property,
} from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
beforeEach(() => imports.clear());

const load = (content: object) => importInto(imports.database, content);
const loadHomes = (...properties: object[]) => load({ properties });
const hidden = (listing: Property) => ({ ...listing, status: 'hidden' });
const renamed = (listing: Property, slug: string) => ({ ...listing, slug });

/** Returns the slugs by the number of their latest change, e.g. `casa-marea 7`. */
const changes = () =>
  imports
    .rows('SELECT slug, change_seq FROM properties ORDER BY change_seq, slug')
    .map(({ slug, change_seq }) => `${slug} ${change_seq ?? ''}`.trim());

function catalogueNumber(): number {
  const [identity] = imports.rows('SELECT catalogue_number FROM database_identity');
  return Number(identity?.catalogue_number);
}

it('numbers the changes in the feed, removals first', async () => {
  const photo = (number: number, web_visible: boolean) => ({
    url: `https://images.example.com/${number}.jpg`,
    section: 'gallery',
    web_visible,
    web_sort_order: number,
  });
  const first = makeProperty({ slug: 'first', location_id: BAY, photos: [photo(1, true)] });
  const unseen = { ...first, photos: [photo(2, false), photo(1, true)] };
  const second = makeProperty({ slug: 'second', amenities: ['wifi'] });
  const never = makeProperty({ slug: 'never', status: 'hidden', location_id: BAY });
  const bay = 'Blue bay';
  const coast = { locations: [{ slug: 'coast', name: { en: 'The coast' } }] };
  const steps: [file: object, number: number, changes: string[]][] = [
    [makeFile([first, second, never]), 1, ['never', 'first 1', 'second 2']],
    [makeFile([first, second, never]), 1, ['never', 'first 1', 'second 2']],
    [makeFile([unseen, second, { ...never, name: 'Other' }]), 1, ['never', 'first 1', 'second 2']],
    [coast, 2, ['never', 'first 1', 'second 2']],
    [makeFile([], { bay }), 3, ['never', 'second 2', 'first 3']],
    [makeFile([renamed(hidden(first), 'secret')], { bay }), 4, ['never', 'second 2', 'secret 4']],
    [{ properties: [renamed(hidden(first), 'secret-2')] }, 4, ['never', 'second 2', 'secret-2 4']],
    [{ properties: [first] }, 5, ['never', 'second 2', 'first 5']],
    [makeFile([], { bay, wifi: 'Fast Wi-Fi' }), 6, ['never', 'first 5', 'second 6']],
    [
      { properties: [renamed(second, 'first'), renamed(hidden(first), 'was-first')] },
      7,
      ['never', 'was-first 7', 'first 8'],
    ],
  ];
  const before = catalogueNumber();
  for (const [file, number, expected] of steps) {
    await load(file);
    const now = { number: catalogueNumber() - before, changes: changes() };
    expect({ file, ...now }).toEqual({ file, number, changes: expected });
  }
});

it('deletes the staged rows of a killed import', async () => {
  const staged = `INSERT INTO import_staging (kind, key, import_id, row) VALUES ('listing', 'x', 'killed', '{}')`;
  await imports.database.prepare(staged).run();
  await loadHomes(makeProperty({ slug: 'one' }));
  expect(changes()).toEqual(['one 1']);
  expect(imports.rows('SELECT kind FROM import_staging')).toEqual([{ kind: 'applied' }]);
});

it('starts again if another import was applied while it found nothing to change', async () => {
  const home = makeProperty({ slug: 'one', price_from: 1 });
  await loadHomes(home);
  let isIntercepted = false;
  const intercepted = interceptD1(imports.database, async (call) => {
    const result = await call();
    // The import has read the listings by now.
    if (!isIntercepted && JSON.stringify(result).includes('"former_slugs":')) {
      isIntercepted = true;
      await loadHomes({ ...home, price_from: 2 });
    }
    return result;
  });
  await importInto(intercepted, { properties: [home] });
  expect(await imports.stored('one')).toMatchObject({ price_from: 1 });
});

describe('the previous slugs of a listing', () => {
  const home = makeProperty({ slug: 'one' });
  const other = makeProperty({ slug: 'other' });

  function previousSlugs(slug: string): unknown {
    const [row] = imports.rows(`SELECT former_slugs FROM properties WHERE slug = '${slug}'`);
    return JSON.parse(String(row?.former_slugs));
  }

  it('are its public slugs, newest first, without slugs from hidden periods', async () => {
    await loadHomes(home);
    for (const slug of ['two', 'three', 'one']) await loadHomes(renamed(home, slug));
    expect(previousSlugs('one')).toEqual(['three', 'two']);
    for (const slug of ['four', 'five']) await loadHomes(hidden(renamed(home, slug)));
    expect(previousSlugs('five')).toEqual(['three', 'two']);
    await loadHomes(renamed(home, 'six'));
    expect(previousSlugs('six')).toEqual(['one', 'three', 'two']);
  });

  it('permanently lose a slug that another listing takes, even in a swap', async () => {
    await loadHomes(home, other);
    await loadHomes(renamed(home, 'other'), renamed(other, 'one'));
    expect([previousSlugs('one'), previousSlugs('other')]).toEqual([[], []]);
    await loadHomes(renamed(home, 'two'));
    await loadHomes(renamed(home, 'three'), renamed(other, 'other'));
    expect([previousSlugs('three'), previousSlugs('other')]).toEqual([['two'], ['one']]);
    await loadHomes(renamed(other, 'elsewhere'));
    expect(previousSlugs('three')).toEqual(['two']);
  });

  it('number at most 20', async () => {
    await loadHomes(home);
    const previous = Array.from({ length: 20 }, (_, index) => `former-${index}`);
    const statement = imports.database.prepare('UPDATE properties SET former_slugs = ?');
    await statement.bind(JSON.stringify(previous)).run();
    await loadHomes(renamed(home, 'two'));
    await loadHomes({ ...renamed(home, 'two'), name: 'Other' });
    expect(previousSlugs('two')).toEqual(['one', ...previous.slice(0, 19)]);
  });
});

it('reads each listing of a large catalogue once, page by page', async () => {
  await loadHomes(makeProperty({ slug: 'old', status: 'hidden' }));
  await imports.database
    .prepare(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
       INSERT INTO properties (id, slug, status, display_order, rendering, source)
       SELECT 'id-' || i, 'slug-' || i, iif(i % 6 = 0, 'hidden', 'listed'), i, '',
         json_set(source, '$.id', 'id-' || i, '$.slug', 'slug-' || i) FROM n, properties`,
    )
    .run();
  const { stderr } = await imports.load(
    { properties: [makeProperty({ slug: 'new' })] },
    '--prune',
    '--dry-run',
  );
  expect(stderr).toContain('would hide 10000 of the 10000 public listings');
});

describe('an import that loses a race', () => {
  const first = makeProperty({ slug: 'first', location_id: BAY });
  const second = makeProperty({ slug: 'second', location_id: BAY });

  /** Renames the bay while another import adds a listing there. Returns the number of round trips. */
  async function renameOvertakenAt(trip: number): Promise<number> {
    imports.clear();
    await load(makeFile([first]));
    let trips = 0;
    const database = interceptD1(imports.database, async (call) => {
      trips += 1;
      if (trips === trip) await loadHomes(second);
      return call();
    });
    await importInto(database, makeFile([], { bay: 'Blue bay' }));
    return trips;
  }

  it('changes the rows of the other import, no matter when that was applied', async () => {
    let trips = Number.POSITIVE_INFINITY;
    for (let trip = 1; trip <= trips; trip += 1) {
      trips = Math.min(trips, await renameOvertakenAt(trip));
      const rows = imports.rows(
        `SELECT slug, source->>'$.location.name.en' AS place, document->>'$.location.name.en' AS shown,
           count(*) OVER (PARTITION BY change_seq) AS sharing
         FROM properties ORDER BY slug`,
      );
      const same = { place: 'Blue bay', shown: 'Blue bay', sharing: 1 };
      const expected = ['first', 'second'].map((slug) => ({ slug, ...same }));
      expect({ trip, rows }).toEqual({ trip, rows: expected });
    }
    expect(trips).toBeGreaterThan(4);
  });

  it('gives up after ten attempts', async () => {
    let round = 0;
    const database = interceptD1(imports.database, async (call) => {
      round += 1;
      await loadHomes(makeProperty({ slug: `round-${round}` }));
      return call();
    });
    const intercepted = importInto(database, { properties: [makeProperty({ slug: 'mine' })] });
    await expect(intercepted).rejects.toThrow(
      'other imports were applied during each of the 10 attempts',
    );
  });

  it('reports an unknown outcome if the response to its commit is lost', async () => {
    let isLost = false;
    const database = interceptD1(imports.database, async (call) => {
      const results = await call();
      if (isLost || changes().length === 0) return results;
      isLost = true;
      await loadHomes(second);
      throw new Error('the response is lost');
    });
    const unknown = importInto(database, makeFile([first]));
    await expect(unknown).rejects.toBeInstanceOf(UnknownOutcomeError);
  });
});
