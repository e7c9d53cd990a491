/**
 * A page of any list holds its items in order up to 4 MiB, and what D1 selects for it is bounded
 * too.
 */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { readPage } from '../../src/storage/statement.ts';
import { counting } from '../support/counting.ts';
import { expectStatus, sendWith } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';
import { tapD1 } from '../support/tap.ts';

const MIB = 1024 * 1024;

describe('a page', () => {
  it.each([
    ['all that fit', [1, 2, 3], 3],
    ['nothing of an empty list', [], 0],
    ['what fills it to the byte', [MIB, MIB, MIB, MIB], 4],
    ['nothing from the first that does not fit', [MIB, 3 * MIB, 1, 1], 2],
    ['nothing after one that does not fit', [3 * MIB, 2 * MIB, 1], 1],
    ['nothing after one that was left out', [1, Number.NaN, 1], 1],
    ['one item, however large', [5 * MIB, 1], 1],
  ])('takes %s', async (_, sizes, count) => {
    const documentOf = (bytes: number) => (bytes > 0 ? 'a'.repeat(bytes) : undefined);
    const { items, next } = await readPage(10, async () => sizes, documentOf);
    expect(items.map(({ row }) => row)).toEqual(sizes.slice(0, count));
    expect(next).toBe(count < sizes.length ? sizes[count - 1] : undefined);
  });
});

/**
 * The bytes of each text, in the order of the list: a page at `limit=100` leaves out those of more
 * than 84 KB.
 */
const SIZES = [
  ...new Array(75).fill(60_000),
  ...[300_000, 150, 84_000, 83_000, 300_000, 300_000],
  ...new Array(40).fill(150),
];
const STATUSES = ['listed', 'coming_soon', 'sold_out'] as const;

/** Three bytes per character in UTF-8. */
const textOf = (bytes: number) => '鍵'.repeat(bytes / 3);

/** Stores something for each of the sizes, in order. No batch is larger than D1 takes. */
async function inBatches<Row>(rows: readonly Row[], storeAll: (rows: Row[]) => Promise<unknown>) {
  const large = SIZES.findLastIndex((bytes) => bytes > 1_000) + 1;
  for (let start = 0; start < large; start += 2) await storeAll(rows.slice(start, start + 2));
  await storeAll(rows.slice(large + (large % 2)));
}

beforeAll(async () => {
  const texts = SIZES.map((bytes) => textOf(bytes));
  await env.DB.prepare(
    `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
     SELECT hex(randomblob(16)), 'booking.created', 'booking', 'b', 0,
       '{"text":"' || replace(hex(zeroblob(value / 6)), '0', '鍵') || '"}'
     FROM json_each(?)`,
  )
    .bind(JSON.stringify(SIZES))
    .run();
  await env.DB.prepare(
    `INSERT INTO locations (id, slug, name)
     SELECT printf('00000000-0000-4000-8000-%012d', key), 'place-' || (1000 + key),
       '{"en":"' || replace(hex(zeroblob(value / 6)), '0', '鍵') || '"}'
     FROM json_each(?)`,
  )
    .bind(JSON.stringify(SIZES))
    .run();
  const listings = texts.map((address, index) =>
    sourceOf({ status: STATUSES[index % 3] ?? 'listed', display_order: index, address }),
  );
  await inBatches(listings, (batch) => storeListings(env.DB, batch));
  const skiing = texts.map((address, index) =>
    sourceOf({ type: 'ski', display_order: index, address }),
  );
  await inBatches(skiing, (batch) => storeListings(env.DB, batch));
});

/** The numbers of items on the pages of a list. */
function pageLengths(sizes: readonly number[], limit: number): number[] {
  const share = (8 * MIB) / limit;
  const lengths: number[] = [];
  for (let start = 0; start < sizes.length; ) {
    let total = 0;
    const rest = sizes.slice(start, start + limit);
    const end = rest.findIndex((bytes) => {
      total += bytes;
      return bytes > share || total > 4 * MIB;
    });
    const length = end === -1 ? rest.length : Math.max(1, end);
    lengths.push(length);
    start += length;
  }
  return lengths;
}

type Page = {
  data: { id: string; property?: object }[];
  has_more: boolean;
  next_cursor: string | null;
};

/** Its responses are not validated against the document, which would take most of the time. */
const app = createApp();

/** Reads a list to its end. */
async function readPages(path: string, cursorParameter = 'cursor') {
  const { env: counted, costs } = counting(env);
  let selectedBytes = 0;
  const DB = tapD1(counted.DB, async (call) => {
    const results = await call();
    selectedBytes = Math.max(selectedBytes, new Blob([JSON.stringify(results)]).size);
    return results;
  });
  const pages: { items: Page['data']; sizes: number[]; bytes: number }[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const whole = `${path}${cursor && `&${cursorParameter}=${cursor}`}`;
    const response = await sendWith({ ...counted, DB }, whole, {}, app);
    await expectStatus(response, 200);
    const body = await response.text();
    const { data, has_more, next_cursor }: Page = JSON.parse(body);
    const sizes = data.map((item) => new Blob([JSON.stringify(item.property ?? item)]).size);
    pages.push({ items: data, sizes, bytes: new Blob([body]).size });
    cursor = next_cursor;
    expect(has_more).toBe(cursor !== null);
  }
  return { pages, costs, selectedBytes };
}

describe.each([
  ['events, newest first', '/api/v1/events?order=desc', 'cursor'],
  ['events, oldest first', '/api/v1/events?order=asc', 'cursor'],
  ['listings of one status', '/api/v1/web/properties?type=ski', 'cursor'],
  ['listings of three statuses', `/api/v1/web/properties?status=${STATUSES}`, 'cursor'],
  ['changes', '/api/v1/web/property-changes?', 'after'],
  ['locations', '/api/v1/web/locations?', 'cursor'],
])('the list of %s', (name, path, cursorParameter) => {
  it.each([100, 24])(
    'ends a page at 4 MiB and before a text that was left out, and skips none, limit=%d',
    async (limit) => {
      const { pages, costs, selectedBytes } = await readPages(
        `${path}&limit=${limit}`,
        cursorParameter,
      );
      const sizes = pages.flatMap((page) => page.sizes);
      const items = name.includes('three statuses') || name === 'changes' ? 2 : 1;
      expect(sizes).toHaveLength(SIZES.length * items);
      expect(new Set(pages.flatMap((page) => page.items.map(({ id }) => id))).size).toBe(
        sizes.length,
      );
      expect(pages.map((page) => page.items.length)).toEqual(pageLengths(sizes, limit));
      for (const page of pages) expect(page.bytes).toBeLessThan(4 * MIB + 20_000);
      expect(selectedBytes).toBeLessThan(8 * MIB + 100_000);
      const leftOut = sizes.filter((bytes) => bytes > (8 * MIB) / limit);
      expect(costs.d1RoundTrips).toBeLessThanOrEqual(pages.length + leftOut.length);
      if (leftOut.length === 0) expect(costs.d1RoundTrips).toBe(pages.length);
    },
  );
});
