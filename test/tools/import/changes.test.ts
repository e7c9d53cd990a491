/** The effect of imports on the list of changes, with the service running: a reader that follows it has the catalogue. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { BAY, fileOf, importInto, propertyOf } from '../../support/node/listings-file.ts';
import type { ProjectCopy } from '../../support/node/project-copy.ts';
import type { ServedCopy } from '../../support/node/served-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

const API_KEY = 'dev_key_of_the_changes_test';

let project: ProjectCopy;
let service: ServedCopy;

beforeAll(async () => {
  project = await copyWithStore('samples');
  const vars = 'FEED_CACHE_SECONDS=0\nRATE_LIMIT_DEFAULT=1000000\n';
  project.write('.dev.vars', `API_KEY=${API_KEY}\nENVIRONMENT=development\n${vars}`);
  service = await project.serve();
});
afterAll(() => project.remove());

const listing = z.looseObject({ id: z.string(), slug: z.string() });
const change = z.object({
  id: z.string(),
  slug: z.string(),
  change: z.enum(['published', 'removed']),
  property: listing.nullable(),
});
const page = z.object({ data: z.array(change), has_more: z.boolean(), resume_cursor: z.string() });
const list = z.object({ data: z.array(listing), next_cursor: z.string().nullable() });

function fetchFeed(path: string): Promise<Response> {
  return fetch(`${service.origin}/api/v1/web/${path}`, { headers: { 'x-api-key': API_KEY } });
}

async function get<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  const response = await fetchFeed(path);
  expect({ path, status: response.status }).toEqual({ path, status: 200 });
  return schema.parse(await response.json());
}

/** A site's copy of the catalogue, kept in step by the changes list. */
class Copy {
  readonly listings = new Map<string, z.infer<typeof listing>>();
  cursor = '';
  pages = 0;

  /** Reads on to the end. Returns the items. */
  async follow(limit = 100): Promise<z.infer<typeof change>[]> {
    const came: z.infer<typeof change>[] = [];
    for (let hasMore = true; hasMore; ) {
      const after = this.cursor && `&after=${this.cursor}`;
      const read = await get(`property-changes?limit=${limit}${after}`, page);
      this.pages += 1;
      for (const { id, property } of read.data) {
        if (property) this.listings.set(id, property);
        else this.listings.delete(id);
      }
      came.push(...read.data);
      this.cursor = read.resume_cursor;
      hasMore = read.has_more;
    }
    return came;
  }

  /** Reads on to the end, and compares the copy with the catalogue. Returns the changes: `published casa-marea`. */
  async changes(limit?: number): Promise<string[]> {
    const came = await this.follow(limit);
    expect(this.listings).toEqual(await catalogue());
    return came.map((each) => `${each.change} ${each.slug}`).sort();
  }
}

/** The public catalogue, as the list gives it. */
async function catalogue() {
  const found = new Map<string, z.infer<typeof listing>>();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const after: string = cursor && `&cursor=${cursor}`;
    const read = await get(`properties?status=listed,coming_soon,sold_out&limit=100${after}`, list);
    for (const each of read.data) found.set(each.id, each);
    cursor = read.next_cursor;
  }
  return found;
}

const load = (content: object) => importInto(service.database, content);

describe('a reader that holds the catalogue', () => {
  const photo = (number: number, web_visible: boolean) => ({
    url: `https://images.example.com/${number}.jpg`,
    section: 'gallery',
    web_visible,
    web_sort_order: number,
  });
  const shown = [photo(1, true)];
  const first = propertyOf({ slug: 'first', location_id: BAY, photos: shown });
  const second = propertyOf({ slug: 'second', amenities: ['wifi'] });
  const never = propertyOf({ slug: 'never', status: 'hidden', location_id: BAY });
  const bay = 'Blue bay';

  it('gets each change that the feed shows, once', async () => {
    const copy = new Copy();
    await load(fileOf([]));
    const all = await copy.changes(7);
    expect(all.length).toBeGreaterThan(50);
    expect(new Set(all).size).toBe(all.length);
    const unseen = { ...first, photos: [photo(2, false), ...shown] };
    const hidden = { ...first, status: 'hidden' };
    const steps: [object, string[]][] = [
      [fileOf([first, second, never]), ['published first', 'published second']],
      [fileOf([first, second, never]), []],
      [fileOf([unseen, second, { ...never, name: 'Other' }]), []],
      [fileOf([], { bay }), ['published first']],
      [fileOf([{ ...hidden, slug: 'now-secret' }], { bay }), ['removed first']],
      [{ properties: [{ ...hidden, slug: 'still-secret' }] }, []],
      [{ properties: [first] }, ['published first']],
    ];
    for (const [file, expected] of steps) {
      await load(file);
      expect({ file, changes: await copy.changes() }).toEqual({ file, changes: expected });
    }
    await load(fileOf([], { bay, wifi: 'Fast Wi-Fi' }));
    const came = await copy.changes();
    expect(came).toContain('published second');
    expect(came).not.toContain('published first');
    await new Copy().changes(1);
  });

  it('ends with exactly the catalogue when imports run side by side while it reads', async () => {
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
      for (const round of process.env.FULL ? [0, 1, 2, 3] : [0, 1]) {
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
      await reader.changes(5);
      expect(await reader.changes()).toEqual([]);
    }
  });
});

it('a reader learns of a rewind of the database by the rejection of its cursor, and begins again', async () => {
  const copy = new Copy();
  await load({ properties: [propertyOf({ slug: 'kept' })] });
  await copy.follow();
  await load({ properties: [propertyOf({ slug: 'undone' })] });
  expect(await copy.changes()).toEqual(['published undone']);
  project.execute(`DELETE FROM properties WHERE slug = 'undone'`);
  const done = await project.run('after-time-travel.ts', '--no-ledger');
  expect(done).toMatchObject({ code: 0, stderr: '' });
  // It gets the place that the reader's cursor has.
  await load({ properties: [propertyOf({ slug: 'other' })] });
  const rejected = await fetchFeed(`property-changes?after=${copy.cursor}`);
  expect(rejected.status).toBe(400);
  expect(await rejected.json()).toMatchObject({
    error: { code: 'invalid_cursor', param: 'after' },
  });
  const came = await new Copy().changes();
  expect(came).toEqual(expect.arrayContaining(['published kept', 'published other']));
  expect(came).not.toContain('published undone');
});
