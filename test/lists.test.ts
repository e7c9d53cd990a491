/** What is true of every list: it is complete, in order and stable, and its cursors are its own. */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { createOpenApiDocument } from '../src/api-document.ts';
import { expectError, expectStatus, get } from './support/http.ts';
import { sourceOf, storeListings } from './support/listings.ts';
import { type List, lists, storeRow } from './support/lists.ts';

const COUNT = 30;

type Item = { id?: string; slug?: string };
type Page = { data: Item[]; has_more: boolean; next_cursor: string | null };

const keyOf = ({ id, slug }: Item) => id ?? slug ?? '';

beforeAll(async () => {
  // Three listings have each display order. The clock of the events goes backwards.
  for (let index = 1; index <= COUNT; index += 1) {
    await storeRow(index, Math.floor(-index / 3), index % 3 === 0 ? null : `place-${index}`);
  }
  await storeListings(env.DB, [
    sourceOf({ type: 'beach', status: 'hidden' }),
    sourceOf({ type: 'beach', status: 'coming_soon' }),
    sourceOf({ type: 'ski' }),
  ]);
});

async function readPage({ path }: List, query: string): Promise<Page> {
  const response = await get(`${path}?${query}`);
  await expectStatus(response, 200);
  return response.json();
}

/** Reads a list to its end. Returns the ids on each page. */
async function readAll(list: List, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const after: string = cursor && `&${list.pager ?? 'cursor'}=${cursor}`;
    const page = await readPage(list, `${list.query}&limit=${limit}${after}`);
    expect(page.has_more).toBe(page.next_cursor !== null);
    pages.push(page.data.map(keyOf));
    cursor = page.next_cursor;
  }
  return pages;
}

async function idsOf({ sql }: List): Promise<string[]> {
  const { results } = await env.DB.prepare(sql).all<Item>();
  return results.map(keyOf);
}

it('every list of the API is tested', () => {
  const { paths = {} } = createOpenApiDocument();
  const pages = (path: string) =>
    paths[path]?.get?.parameters?.some((each) => 'name' in each && each.name === 'limit');
  const tested = new Set(lists.map(({ path }) => path));
  expect([...tested].sort()).toEqual(Object.keys(paths).filter(pages).sort());
});

describe.each(lists)('$path?$query', (list) => {
  const { query, pager = 'cursor' } = list;

  it('is complete and in order, and a full last page has no cursor', async () => {
    const ids = await idsOf(list);
    expect(ids.length).toBeGreaterThanOrEqual(COUNT);
    for (const limit of [7, ids.length - 1, ids.length, 100]) {
      const pages = await readAll(list, limit);
      expect(pages.flat()).toEqual(ids);
      expect(pages).toHaveLength(Math.ceil(ids.length / limit));
      expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true);
    }
  });

  it('has 25 items on a page unless limit is sent', async () => {
    expect((await readPage(list, query)).data).toHaveLength(25);
  });

  it('accepts a cursor with another limit and with the same filters in another form', async () => {
    const { next_cursor } = await readPage(list, `${query}&limit=3`);
    const next = await readPage(list, `${list.same}&limit=4&${pager}=${next_cursor}`);
    expect(next.data.map(keyOf)).toEqual((await idsOf(list)).slice(3, 7));
  });

  it('rejects a cursor of other filters or of another list', async () => {
    const { next_cursor } = await readPage(list, `${query}&limit=3`);
    const targets = [
      ...list.others.map((other) => ({ ...list, query: other })),
      ...lists.filter(({ path }) => path !== list.path),
    ];
    for (const target of targets) {
      const param = target.pager ?? 'cursor';
      const response = await get(`${target.path}?${target.query}&${param}=${next_cursor}`);
      expect((await expectError(response, 400, 'invalid_cursor')).param).toBe(param);
    }
  });

  it('repeats and misses nothing when a row is added between two pages', async () => {
    const before = await idsOf(list);
    const first = await readPage(list, `${query}&limit=10`);
    // It is the head of most lists, and the end of two.
    await storeRow(0, -100, `a-${crypto.randomUUID()}`);
    const second = await readPage(list, `${query}&limit=100&${pager}=${first.next_cursor}`);
    const seen = [...first.data, ...second.data].map(keyOf);
    const added = (await idsOf(list)).filter((id) => !before.includes(id));
    expect(seen.filter((id) => !added.includes(id))).toEqual(before);
    expect(new Set(seen).size).toBe(seen.length);
  });
});
