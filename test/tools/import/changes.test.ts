/** The effect of imports on the list of changes: a reader that follows it has the catalogue. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import { readChanges } from '../../../src/properties/changes.ts';
import { BAY, fileOf, importInto, propertyOf } from '../../support/node/listings-file.ts';
import { type MemoryImports, openMemoryImports } from '../../support/node/memory-imports.ts';

const SITE = 'https://www.example.com';

let imports: MemoryImports;
beforeAll(() => {
  imports = openMemoryImports();
});
beforeEach(() => imports.clear());
afterAll(() => imports.close());

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
