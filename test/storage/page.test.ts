/** The size of a page, which has at most 4 MiB of items, and of the rows that D1 selects for it. */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { readPage } from '../../src/storage/page.ts';
import { createD1Database } from '../../tools/database/d1.ts';
import { expectStatus, readAllPages, sendUndescribed } from '../support/http.ts';
import { interceptD1 } from '../support/interceptor.ts';
import { makeListing, storeListings } from '../support/listings.ts';

const MIB = 1024 * 1024;

describe('a page', () => {
  it.each([
    ['all items that fit', [1, 2, 3], 3],
    ['no items of an empty list', [], 0],
    ['items that fill it exactly', [MIB, MIB, MIB, MIB], 4],
    ['no item after the first that does not fit', [MIB, 3 * MIB, 1, 1], 2],
    ['no item after one that is too large to select', [1, Number.NaN, 1], 1],
    ['one item of any size', [5 * MIB, 1], 1],
  ])('contains %s', async (_, sizes, count) => {
    const format = ({ bytes }: { bytes: number }) => (bytes > 0 ? 'a'.repeat(bytes) : undefined);
    const connection = createD1Database(async () => [[{}], sizes.map((bytes) => ({ bytes }))]);
    const statement = { bindTo: () => connection.prepare(''), rows: async () => [] };
    const { documents, last, hasMore } = await readPage<object, { bytes: number }>({
      ...{ connection, state: statement, page: statement, values: {}, limit: 10, format },
    });
    expect(documents.map(({ length }) => length)).toEqual(sizes.slice(0, count));
    expect(last?.bytes).toBe(sizes[count - 1]);
    expect(hasMore).toBe(count < sizes.length);
  });
});

/**
 * Size of each stored text in bytes. With `limit=10`, D1 selects null instead of a text of more than
 * 838 KB, and eight texts of 500 KB fill a page.
 */
const SIZES = [
  ...new Array(12).fill(500_000),
  ...[850_000, 150, 820_000, 850_000, 850_000, 150, 850_000],
];
const PAGES = [8, 4, 1, 2, 1, 1, 1, 1];

beforeAll(async () => {
  const sizes = JSON.stringify(SIZES);
  // The character takes three bytes in UTF-8.
  const text = `replace(hex(zeroblob(value / 6)), '0', '鍵')`;
  const inserts = [
    `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
     SELECT hex(randomblob(16)), 'booking.created', 'booking', key, 0, '{"text":"' || ${text} || '"}'
     FROM json_each(?)`,
    `INSERT INTO locations (id, slug, name)
     SELECT printf('00000000-0000-4000-8000-%012d', key), 'place-' || (1000 + key),
       '{"en":"' || ${text} || '"}'
     FROM json_each(?)`,
  ];
  for (const insert of inserts) await env.DB.prepare(insert).bind(sizes).run();
  // The statuses alternate, so that a page merges three ranges.
  const statuses = ['listed', 'coming_soon', 'sold_out'] as const;
  for (const [display_order, bytes] of SIZES.entries()) {
    // One text of a listing has at most 100,000 characters, so three texts share the bytes.
    const third = '鍵'.repeat(bytes / 9);
    const location_text = { en: third, es: third, fr: third };
    const status = statuses[display_order % 3] ?? 'listed';
    await storeListings(env.DB, [makeListing({ status, display_order, location_text })]);
  }
});

type Page = { data: { id: string }[]; has_more: boolean; next_cursor: string | null };

/** App for all requests. Its responses are not compared with the OpenAPI document, to save time. */
const app = createApp();

describe.each([
  ['events, oldest first', '/api/v1/events?order=asc', 'cursor'],
  ['listings', '/api/v1/web/properties?status=listed,coming_soon,sold_out', 'cursor'],
  ['changes', '/api/v1/web/property-changes?', 'after'],
  ['locations', '/api/v1/web/locations?', 'cursor'],
])('a page of %s', (_, path, parameter) => {
  it('ends at 4 MiB or before an oversized text without skipping an item', async () => {
    let selectedBytes = 0;
    const DB = interceptD1(env.DB, async (call) => {
      const results = await call();
      selectedBytes = Math.max(selectedBytes, new Blob([JSON.stringify(results)]).size);
      return results;
    });
    const pages: string[][] = [];
    const read = async (next: string) => {
      const response = await sendUndescribed({ DB }, `${path}&limit=10${next}`, {}, app);
      await expectStatus(response, 200);
      return response.json<Page>();
    };
    for await (const { data } of readAllPages(read, parameter))
      pages.push(data.map(({ id }) => id));
    expect(pages.map((ids) => ids.length)).toEqual(PAGES);
    expect(new Set(pages.flat()).size).toBe(SIZES.length);
    expect(selectedBytes).toBeLessThan(8 * MIB + 100_000);
  });
});
