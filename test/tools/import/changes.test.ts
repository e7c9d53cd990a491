/** The effect of imports on the list of changes, with the service running: a reader that follows it has the catalogue. */

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { readListingsFile } from '../../../tools/import/file.ts';
import { importListings } from '../../../tools/import/import.ts';
import { BAY, fileOf, type Property, propertyOf } from '../../support/node/listings-file.ts';
import { type LocalImports, openLocalImports } from '../../support/node/local-imports.ts';
import type { Finished, ProjectCopy } from '../../support/node/project-copy.ts';
import type { ServedCopy } from '../../support/node/served-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

const API_KEY = 'dev_key_of_the_changes_test';

let project: ProjectCopy;
let service: ServedCopy;
let imports: LocalImports;

beforeAll(async () => {
  project = await copyWithStore('samples');
  project.write('.dev.vars', `API_KEY=${API_KEY}\nENVIRONMENT=development\nFEED_CACHE_SECONDS=0\n`);
  service = await project.serve();
  imports = await openLocalImports(project);
});
afterAll(async () => {
  await imports.close();
  await project.remove();
});

const listing = z.looseObject({ id: z.string(), slug: z.string() });
const change = z.object({
  id: z.string(),
  slug: z.string(),
  change: z.enum(['published', 'removed']),
  property: listing.nullable(),
});
const page = z.object({
  data: z.array(change),
  has_more: z.boolean(),
  resume_cursor: z.string(),
});
const list = z.object({ data: z.array(listing), next_cursor: z.string().nullable() });

async function get(path: string): Promise<unknown> {
  const response = await fetch(`${service.origin}/api/v1/web/${path}`, {
    // Each read has its own client address, so that the rate limit refuses none.
    headers: {
      'x-api-key': API_KEY,
      'CF-Connecting-IP': `10.${Array.from(randomUUID().slice(0, 3), (c) => parseInt(c, 16)).join('.')}`,
    },
  });
  expect({ path, status: response.status }).toEqual({ path, status: 200 });
  return response.json();
}

/** A site's copy of the catalogue, kept in step by the changes list. */
class Copy {
  readonly listings = new Map<string, z.infer<typeof listing>>();
  cursor = '';
  pages = 0;

  /** Reads on to the end. Returns the items. */
  async follow(limit = 100): Promise<z.infer<typeof change>[]> {
    const came: z.infer<typeof change>[] = [];
    for (;;) {
      const after = this.cursor && `&after=${this.cursor}`;
      const { data, has_more, resume_cursor } = page.parse(
        await get(`property-changes?limit=${limit}${after}`),
      );
      this.pages += 1;
      for (const { id, property } of data) {
        if (property) this.listings.set(id, property);
        else this.listings.delete(id);
      }
      came.push(...data);
      this.cursor = resume_cursor;
      if (!has_more) return came;
    }
  }
}

/** The public catalogue, as the list gives it. */
async function catalogue() {
  const found = new Map<string, z.infer<typeof listing>>();
  let cursor: string | null = '';
  while (cursor !== null) {
    const { data, next_cursor }: z.infer<typeof list> = list.parse(
      await get(
        `properties?status=listed,coming_soon,sold_out&limit=100${cursor && `&cursor=${cursor}`}`,
      ),
    );
    for (const each of data) found.set(each.id, each);
    cursor = next_cursor;
  }
  return found;
}

let files = 0;
function load(content: object, ...options: string[]): Promise<Finished> {
  files += 1;
  return imports.run(project.write(`file-${files}.json`, content), ...options);
}

async function loadWell(content: object, ...options: string[]): Promise<string> {
  const finished = await load(content, ...options);
  expect(finished).toMatchObject({ code: 0, stderr: '' });
  return finished.stdout;
}

/** Imports listings without the command, which does not run side by side in one process. */
async function loadBeside(properties: readonly Property[]): Promise<void> {
  const read = readListingsFile(Buffer.from(JSON.stringify({ properties })));
  if (read.kind !== 'read') throw new Error('the file cannot be read');
  const outcome = await importListings(read, {
    database: imports.database,
    publicSiteUrl: 'https://www.example.com',
    isDryRun: false,
    pruning: 'none',
    onProgress: () => undefined,
  });
  expect(outcome.kind).toBe('accepted');
}

const briefly = (came: z.infer<typeof change>[]) =>
  came.map((each) => `${each.change} ${each.slug}`).sort();

describe('a reader that holds the catalogue', () => {
  const copy = new Copy();
  const web = photo(1, true);
  const first = propertyOf({ slug: 'first', location_id: BAY, photos: [web] });
  const second = propertyOf({ slug: 'second', amenities: ['wifi'] });
  const never = propertyOf({ slug: 'never', status: 'hidden', location_id: BAY });

  it('has it after its first read, and then gets no change', async () => {
    await loadWell(fileOf([]));
    const came = await copy.follow(7);
    expect(new Set(came.map(({ id }) => id)).size).toBe(came.length);
    expect(copy.listings).toEqual(await catalogue());
    expect(copy.listings.size).toBeGreaterThan(50);
    expect(await copy.follow()).toEqual([]);
  });

  it('gets new listings that are public, once', async () => {
    await loadWell(fileOf([first, second, never]));
    expect(briefly(await copy.follow())).toEqual(['published first', 'published second']);
    expect(copy.listings).toEqual(await catalogue());
  });

  it('gets no change by the same file, or by a change that the feed does not show', async () => {
    await loadWell(fileOf([first, second, never]));
    const unseen = { ...first, photos: [photo(2, false), web] };
    expect(await loadWell(fileOf([unseen, second, { ...never, name: 'Other' }]))).toContain(
      '3 listings: 0 added, 2 changed, 1 unchanged',
    );
    expect(await copy.follow()).toEqual([]);
  });

  it('gets the public listings that show a changed location or amenity', async () => {
    await loadWell({ ...fileOf([], { bay: 'Blue bay' }) });
    expect(briefly(await copy.follow())).toEqual(['published first']);
    await loadWell({ ...fileOf([], { bay: 'Blue bay', wifi: 'Fast Wi-Fi' }) });
    const came = briefly(await copy.follow());
    expect(came).toContain('published second');
    expect(came).not.toContain('published first');
    expect(copy.listings).toEqual(await catalogue());
  });

  it('gets a tombstone with the slug that was public, and the listing when it comes back', async () => {
    await loadWell(
      fileOf([{ ...first, slug: 'now-secret', status: 'hidden' }], {
        bay: 'Blue bay',
        wifi: 'Fast Wi-Fi',
      }),
    );
    const removed = await copy.follow();
    expect(removed).toEqual([{ id: first.id, slug: 'first', change: 'removed', property: null }]);
    await loadWell({ properties: [{ ...first, slug: 'still-secret', status: 'hidden' }] });
    expect(await copy.follow()).toEqual([]);
    const late = new Copy();
    await late.follow(1);
    expect(late.listings).toEqual(await catalogue());
    await loadWell({ properties: [first] });
    expect(briefly(await copy.follow())).toEqual(['published first']);
    expect(copy.listings).toEqual(await catalogue());
  });

  it('ends with exactly the catalogue when imports run side by side while it reads', async () => {
    const ids = Array.from({ length: 60 }, () => randomUUID());
    const batch = (part: number, round: number): Property[] =>
      ids.slice(part * 10, part * 10 + 25).map((id, index) =>
        propertyOf({
          id,
          slug: `beside-${id}`,
          name: `Part ${part} of round ${round}`,
          status: (index + part + round) % 4 === 0 ? 'hidden' : 'listed',
        }),
      );
    let isOver = false;
    let pagesMeanwhile = 0;
    const readers = [copy, new Copy(), new Copy()];
    const pagesBefore = copy.pages;
    const loadRounds = async () => {
      for (const round of process.env.FULL ? [0, 1, 2, 3] : [0, 1]) {
        await Promise.all([0, 1, 2, 3].map((part) => loadBeside(batch(part, round))));
      }
    };
    const loading = loadRounds().finally(() => {
      isOver = true;
      pagesMeanwhile = readers.reduce((sum, { pages }) => sum + pages, -pagesBefore);
    });
    while (!isOver) {
      for (const [index, reader] of readers.entries()) await reader.follow(3 + index);
    }
    await loading;
    expect(pagesMeanwhile).toBeGreaterThan(10);
    const expected = await catalogue();
    for (const reader of [...readers, new Copy()]) {
      await reader.follow(5);
      expect(reader.listings).toEqual(expected);
      expect(await reader.follow()).toEqual([]);
    }
  });
});

describe('the places of changes', () => {
  const home = propertyOf({ slug: 'clocks' });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('follow one another, whatever time the clocks of imports have', async () => {
    const copy = new Copy();
    vi.useFakeTimers({ toFake: ['Date'] });
    for (const clock of ['1965-01-01', '2199-12-31', '2001-09-09', '+275760-09-13']) {
      await copy.follow();
      vi.setSystemTime(new Date(clock));
      await loadWell({ properties: [{ ...home, name: `Changed in ${clock}` }] });
      expect(briefly(await copy.follow())).toEqual(['published clocks']);
    }
  });
});

describe('a set-back of the database', () => {
  it('is told to a reader by the refusal of its cursor, and the reader begins again with the catalogue', async () => {
    const copy = new Copy();
    await loadWell({ properties: [propertyOf({ slug: 'kept' })] });
    await copy.follow();
    await loadWell({ properties: [propertyOf({ slug: 'undone' })] });
    expect(briefly(await copy.follow())).toEqual(['published undone']);
    project.execute(`DELETE FROM properties WHERE slug = 'undone'`);
    const done = await project.run('after-time-travel.ts', '--no-ledger');
    expect(done).toMatchObject({ code: 0, stderr: '' });
    // It gets the place that the reader's cursor stands at.
    await loadWell({ properties: [propertyOf({ slug: 'other' })] });
    const refused = await fetch(
      `${service.origin}/api/v1/web/property-changes?after=${copy.cursor}`,
      { headers: { 'x-api-key': API_KEY } },
    );
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: { code: 'invalid_cursor', param: 'after' },
    });
    const again = new Copy();
    const came = briefly(await again.follow());
    expect(came).toEqual(expect.arrayContaining(['published kept', 'published other']));
    expect(came).not.toContain('published undone');
    expect(again.listings).toEqual(await catalogue());
  });
});

function photo(number: number, web_visible: boolean) {
  const id = `00000000-0000-4000-8000-00000000000${number}`;
  const url = `https://images.example.com/${number}.jpg`;
  return { id, url, section: 'gallery', web_visible, web_sort_order: number };
}
