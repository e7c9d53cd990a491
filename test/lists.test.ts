/** Checks that every list is complete, in order and stable, and that it accepts only its own cursors. */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { document, getQueryNames } from './support/documented.ts';
import { expectError, expectStatus, get, readAllPages } from './support/http.ts';
import { makeListing, storeListings } from './support/listings.ts';

type List = {
  path: string;
  query: string;
  /** An equivalent query in a different form. */
  same: string;
  /** Queries with different filters. */
  others: string[];
  /** SQL that selects the ids of the list in order. */
  sql: string;
  pager?: string;
};

const EVENTS = {
  path: '/api/v1/events',
  sql: `select id from events where type in ('booking.created', 'booking.cancelled')
    and aggregate_type = 'booking' and created_at > 3 order by seq`,
};
const LISTINGS = {
  query: 'type=beach&status=listed,sold_out',
  same: 'status=sold_out&status=listed,listed&type=beach',
  others: ['type=beach', 'type=ski&status=listed,sold_out', 'status=listed,sold_out'],
  sql: `select id from properties where type = 'beach' and status in ('listed', 'sold_out')
    order by display_order, id`,
};

const lists: List[] = [
  {
    ...EVENTS,
    query:
      'type=booking.created,booking.cancelled&aggregate_type=booking&created_after=1970-01-01T00:00:00.003Z',
    same: 'created_after=1970-01-01T02:00:00.0030%2B02:00&aggregate_type=booking&type=booking.cancelled&type=booking.created',
    others: ['', 'type=booking.created', 'order=asc'],
    sql: `${EVENTS.sql} desc`,
  },
  {
    ...EVENTS,
    query:
      'order=asc&type=booking.created,booking.cancelled&aggregate_type=booking&created_after=1970-01-01T00:00:00.003Z',
    same: 'created_after=1970-01-01T00:00:00.003Z&type=booking.cancelled,booking.created&aggregate_type=booking&order=asc',
    others: ['order=asc', 'order=desc'],
  },
  { path: '/api/v1/web/properties', ...LISTINGS },
  { path: '/api/v1/web/property-cards', ...LISTINGS },
  {
    path: '/api/v1/web/property-changes',
    query: '',
    same: 'locale=en',
    others: [],
    sql: `select id from properties where status <> 'hidden' order by change_seq`,
    pager: 'after',
  },
  {
    path: '/api/v1/web/locations',
    query: '',
    same: 'locale=en',
    others: [],
    sql: 'select id from locations order by slug is null, slug, id',
  },
];

/** Stores an event, a location and a listing. An event with a higher index has an earlier time. */
async function storeRow(index: number, display_order: number, slug: string | null) {
  const id = crypto.randomUUID();
  const type = index % 2 === 0 ? 'booking.created' : 'booking.cancelled';
  await env.DB.batch([
    env.DB.prepare(
      `insert into events (id, type, aggregate_type, aggregate_id, created_at, payload)
       values (?, ?, 'booking', 'b', ?, '{}')`,
    ).bind(id, type, 34 - index),
    env.DB.prepare(`insert into locations (id, slug, name) values (?, ?, '{}')`).bind(id, slug),
  ]);
  const status = index % 2 === 0 ? 'listed' : 'sold_out';
  await storeListings(env.DB, [makeListing({ type: 'beach', status, display_order })]);
}

const COUNT = 30;

type Item = { id: string };
type Page = { data: Item[]; has_more: boolean; next_cursor: string | null };

const idsIn = (items: readonly Item[]) => items.map(({ id }) => id);

beforeAll(async () => {
  // Three listings share each display order. Each event is earlier than the event before it.
  for (let index = 1; index <= COUNT; index += 1) {
    await storeRow(index, Math.floor(-index / 3), index % 3 === 0 ? null : `place-${index}`);
  }
  await storeListings(env.DB, [
    makeListing({ type: 'beach', status: 'hidden' }),
    makeListing({ type: 'beach', status: 'coming_soon' }),
    makeListing({ type: 'ski' }),
  ]);
});

async function readPage({ path }: List, query: string): Promise<Page> {
  const response = await get(`${path}?${query}`);
  await expectStatus(response, 200);
  return response.json();
}

/** Reads all pages of a list. Returns the ids on each page. */
async function readAll(list: List, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  const read = (next: string) => readPage(list, `${list.query}&limit=${limit}${next}`);
  for await (const { data } of readAllPages(read, list.pager)) pages.push(idsIn(data));
  return pages;
}

async function readIds({ sql }: List): Promise<string[]> {
  const { results } = await env.DB.prepare(sql).all<Item>();
  return idsIn(results);
}

describe('this file', () => {
  it('tests every list of the API', () => {
    const pages = Object.keys(document.paths).filter((path) =>
      getQueryNames(path).includes('limit'),
    );
    const tested = new Set(lists.map(({ path }) => path));
    expect([...tested].sort()).toEqual(pages.sort());
  });
});

describe.each(lists)('$path?$query', (list) => {
  const { query, pager = 'cursor' } = list;

  it('is complete and in order for every page size', async () => {
    const ids = await readIds(list);
    expect(ids.length).toBeGreaterThanOrEqual(COUNT);
    for (const limit of [7, ids.length - 1, ids.length, 100]) {
      const pages = await readAll(list, limit);
      expect(pages.flat()).toEqual(ids);
      expect(pages).toHaveLength(Math.ceil(ids.length / limit));
      expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true);
    }
  });

  it('has 25 items per page by default', async () => {
    expect((await readPage(list, query)).data).toHaveLength(25);
  });

  it('accepts a cursor with a different limit and an equivalent form of the filters', async () => {
    const { next_cursor } = await readPage(list, `${query}&limit=3`);
    const next = await readPage(list, `${list.same}&limit=4&${pager}=${next_cursor}`);
    expect(idsIn(next.data)).toEqual((await readIds(list)).slice(3, 7));
  });

  it('rejects a cursor that belongs to different filters or to another list', async () => {
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

  it('neither repeats nor misses an item when a row is added between two pages', async () => {
    const before = await readIds(list);
    const first = await readPage(list, `${query}&limit=10`);
    // The new row comes first in most lists and last in two.
    await storeRow(0, -100, `a-${crypto.randomUUID()}`);
    const second = await readPage(list, `${query}&limit=100&${pager}=${first.next_cursor}`);
    const seen = idsIn([...first.data, ...second.data]);
    const added = (await readIds(list)).filter((id) => !before.includes(id));
    expect(seen.filter((id) => !added.includes(id))).toEqual(before);
    expect(new Set(seen).size).toBe(seen.length);
  });
});
