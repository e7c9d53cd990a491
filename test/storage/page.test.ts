/** A page of events or listings holds its items in order up to 4 MiB: a running total in bytes. */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { FeedFilters } from '../../src/properties/parameters.ts';
import { findPage, type PageRequest } from '../../src/properties/store.ts';
import { takePage } from '../../src/storage/page.ts';
import { counting } from '../support/counting.ts';
import { expectStatus, sendWith } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';
import { tapD1 } from '../support/tap.ts';

const MIB = 1024 * 1024;
/** Two bytes in UTF-8. */
const WIDE = 'é';

describe('a page', () => {
  it.each([
    ['all that fit', [1, 2, 3], 3],
    ['nothing of an empty list', [], 0],
    ['what fills it to the byte', [MIB, MIB, MIB, MIB], 4],
    ['nothing from the first that does not fit', [MIB, 3 * MIB, 1, 1], 2],
    ['nothing behind one that does not fit', [3 * MIB, 2 * MIB, 1], 1],
    ['one item, however large', [5 * MIB, 1], 1],
  ])('takes %s', (_, sizes, count) => {
    const { documents, end } = takePage(sizes, 10, (bytes) => 'a'.repeat(bytes));
    expect(documents.map(({ length }) => length)).toEqual(sizes.slice(0, count));
    expect(end).toBe(count < sizes.length ? sizes[count - 1] : undefined);
  });
});

type Page = { data: { id: string }[]; has_more: boolean; next_cursor: string | null };

/** Its answers are not held against the document, which would take most of the time. */
const app = createApp();
const reads = new Map<string, ReturnType<typeof readPages>>();

/** Reads a list to its end, once. Returns the ids on each page, and the cost of the pages. */
function readAll(path: string) {
  const read = reads.get(path) ?? readPages(path);
  reads.set(path, read);
  return read;
}

async function readPages(path: string) {
  const { env: counted, costs } = counting(env);
  const largest = { given: 0, body: 0 };
  const DB = tapD1(counted.DB, async (call) => {
    const results = await call();
    largest.given = Math.max(largest.given, new Blob([JSON.stringify(results)]).size);
    return results;
  });
  const pages: string[][] = [];
  /** The rows that each page read. */
  const rows: number[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const rowsBefore = costs.d1RowsRead;
    const whole = `${path}${cursor && `&cursor=${cursor}`}`;
    const response = await sendWith({ ...counted, DB }, whole, {}, app);
    await expectStatus(response, 200);
    const body = await response.text();
    const page: Page = JSON.parse(body);
    pages.push(page.data.map(({ id }) => id));
    rows.push(costs.d1RowsRead - rowsBefore);
    largest.body = Math.max(largest.body, new Blob([body]).size);
    cursor = page.next_cursor;
    expect(page.has_more).toBe(cursor !== null);
  }
  const sizes = pages.map((page) => page.length);
  return { pages, ids: pages.flat(), sizes, rows, costs, largest };
}

describe('a page of events', () => {
  const SMALL = 'small';
  const MIDDLE = 'middle';
  const LARGE = 'large';

  /** Stores events in order, each with a payload of so many bytes: 11, and four for each byte that `hex` writes. */
  async function storeEvents(aggregate: string, sizes: readonly number[]) {
    const events = sizes.map((bytes) => [crypto.randomUUID(), (bytes - '{"text":""}'.length) / 4]);
    await env.DB.prepare(
      `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
       SELECT value->>0, 'booking.created', 'booking', ?, 0,
         '{"text":"' || replace(hex(zeroblob(value->>1)), '0', '${WIDE}') || '"}'
       FROM json_each(?)`,
    )
      .bind(aggregate, JSON.stringify(events))
      .run();
  }

  beforeAll(async () => {
    await storeEvents(SMALL, new Array(120).fill(211));
    await storeEvents(MIDDLE, new Array(20).fill(43_011));
    await storeEvents(
      LARGE,
      Array.from({ length: 40 }, (_, index) => (index % 10 === 0 ? 111 : 249_011)),
    );
  });

  it.each([50, 100])('holds 20 events of 43 KB under limit=%i', async (limit) => {
    const { sizes } = await readAll(`/api/v1/events?aggregate_id=${MIDDLE}&limit=${limit}`);
    expect(sizes).toEqual([20]);
  });

  it.each(['asc', 'desc'])('holds 4 MiB of larger events, and skips none, %s', async (order) => {
    const path = `/api/v1/events?aggregate_id=${LARGE}&order=${order}`;
    const many = await readAll(`${path}&limit=30`);
    const few = await readAll(`${path}&limit=20`);
    expect(many.pages).toEqual(few.pages);
    expect(new Set(many.ids).size).toBe(40);
    // 16 of 249 KB, and the small ones between them.
    for (const size of many.sizes.slice(0, -1)) expect([17, 18]).toContain(size);
    expect(many.largest.body).toBeGreaterThan(3.7 * MIB);
    expect(many.largest.body).toBeLessThan(4 * MIB + 300);
    expect(many.largest.given).toBeLessThan(8 * MIB);
    expect(many.costs.d1RoundTrips).toBe(many.pages.length);
  });

  it('reads limit + 1 rows and two that name the generation and the newest event, and two more for each event of a page that it has to cut', async () => {
    const usual = await readAll(`/api/v1/events?aggregate_id=${SMALL}&limit=100`);
    expect(usual.rows).toEqual([103, 23]);
    const middle = await readAll(`/api/v1/events?aggregate_id=${MIDDLE}&limit=50`);
    expect(middle.rows).toEqual([23]);
    const large = await readAll(`/api/v1/events?aggregate_id=${LARGE}&order=desc&limit=30`);
    expect(Math.max(...large.rows)).toBeGreaterThan(33);
    for (const [page, rows] of large.rows.entries()) {
      expect(rows).toBeLessThanOrEqual(33 + 2 * ((large.sizes[page] ?? 0) + 2));
    }
  });
});

describe('a page of listings', () => {
  const LARGE = 200_000;
  const statuses = ['listed', 'coming_soon', 'sold_out'] as const;
  const PLACE = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a001', slug: 'aran', name: {} };

  beforeAll(async () => {
    // Each about 700 KB: three languages of 100,000 characters, and a little more.
    const text = WIDE.repeat(LARGE / 2);
    const large = { en: text, es: text, fr: text };
    const listings = Array.from({ length: 30 }, (_, index) =>
      sourceOf({
        display_order: index,
        status: index < 20 ? 'listed' : (statuses[index % 3] ?? 'listed'),
        type: 'ski',
        ...(index % 10 > 0 && { description: large, hid: WIDE.repeat(50_000) }),
      }),
    );
    for (const listing of listings) await storeListings(env.DB, [listing]);
    await storeListings(
      env.DB,
      Array.from({ length: 110 }, () => sourceOf({ type: 'beach' })),
    );
    const middle = Array.from({ length: 110 }, (_, index) =>
      sourceOf({
        location: PLACE,
        status: statuses[index % 3] ?? 'listed',
        address: 'a'.repeat(43_000),
      }),
    );
    for (let start = 0; start < middle.length; start += 10) {
      await storeListings(env.DB, middle.slice(start, start + 10));
    }
  });

  const ALL = 'listed,coming_soon,sold_out';
  const readSki = (query: string) => readAll(`/api/v1/web/properties?type=ski&${query}`);

  it.each(['listed', ALL])('holds 4 MiB of documents, and skips none of %s', async (status) => {
    const many = await readSki(`status=${status}&limit=100`);
    const few = await readSki(`status=${status}&limit=24`);
    expect(many.pages).toEqual(few.pages);
    expect(new Set(many.ids).size).toBe(many.ids.length);
    for (const size of many.sizes.slice(0, -1)) expect([5, 6, 7]).toContain(size);
    expect(many.largest.body).toBeGreaterThan(3 * MIB);
    expect(many.largest.body).toBeLessThan(4 * MIB + 300);
    expect(many.largest.given).toBeLessThan(8 * MIB);
    expect(many.costs.d1RoundTrips).toBe(many.pages.length);
  });

  it('reads limit + 1 rows for one status, and two more for each listing of a page that it has to cut', async () => {
    const usual = await readAll('/api/v1/web/properties?type=beach&limit=100');
    expect(usual.rows).toEqual([101, 11]);
    for (const limit of [100, 10]) {
      const cut = await readSki(`status=listed&limit=${limit}`);
      expect(cut.pages.length).toBeGreaterThan(1);
      for (const [page, rows] of cut.rows.entries()) {
        expect(rows).toBeLessThanOrEqual(limit + 1 + 2 * ((cut.sizes[page] ?? 0) + 3));
      }
    }
  });

  it('reads one more row per further status, and five for each listing of a page that it has to cut', async () => {
    for (const [path, limit] of [
      [`type=ski&status=${ALL}`, 24],
      [`location_id=${PLACE.id}&status=${ALL}`, 100],
    ] as const) {
      const cut = await readAll(`/api/v1/web/properties?${path}&limit=${limit}`);
      expect(cut.pages.length).toBeGreaterThan(1);
      for (const [page, rows] of cut.rows.entries()) {
        expect(rows).toBeLessThanOrEqual(limit + 3 + 5 * ((cut.sizes[page] ?? 0) + 3));
      }
    }
  });

  it('reads no more rows where other rules rendered the listings', async () => {
    const site = 'https://other.example.org';
    for (const [status, most] of [
      [['listed'], 25 + 2 * (24 + 3)],
      [[...statuses], 27 + 5 * (24 + 3)],
    ] as const) {
      const { env: counted, costs } = counting(env);
      const filters: FeedFilters = { status: [...status], type: 'ski' };
      const page = await findPage(counted.DB, site, { shows: 'document', filters, limit: 24 });
      expect(page.documents).toHaveLength(6);
      expect(costs.d1RoundTrips).toBe(1);
      expect(costs.d1RowsRead).toBeLessThanOrEqual(most);
    }
  });

  it('counts a listing of other rules by the size of its new document', async () => {
    const filters: FeedFilters = { status: ['listed'], type: 'ski' };
    const sizes: number[] = [];
    let after: PageRequest['after'];
    do {
      const request: PageRequest = { shows: 'document', filters, limit: 100, after };
      const page = await findPage(env.DB, 'https://other.example.org', request);
      sizes.push(page.documents.length);
      after = page.next ?? undefined;
    } while (after !== undefined);
    expect(sizes).toEqual((await readSki('status=listed&limit=100')).sizes);
  });
});
