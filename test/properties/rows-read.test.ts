/** What a page costs the database, by D1's own count: it depends on the page, not on the table. */

import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import {
  type Filters,
  findPage,
  type Position,
  type PublicStatus,
} from '../../src/properties/store.ts';
import { counting } from '../support/counting.ts';
import { PUBLIC_SITE_URL, sourceOf, storeListings } from '../support/listings.ts';

const IBIZA = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a001', slug: 'ibiza', name: {} };
const ARAN = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a002', slug: 'aran', name: {} };

const STATUSES: PublicStatus[][] = [
  ['listed'],
  ['coming_soon'],
  ['sold_out'],
  ['listed', 'coming_soon'],
  ['listed', 'sold_out'],
  ['coming_soon', 'sold_out'],
  ['listed', 'coming_soon', 'sold_out'],
];

/** Every combination of filters that the feed takes. */
const combinations: Filters[] = STATUSES.flatMap((statuses) =>
  [{}, { type: 'ski' as const }].flatMap((type) =>
    [{}, { locationId: ARAN.id }].map((location) => ({ statuses, ...type, ...location })),
  ),
);

/** The same mix at any size: of twenty listings in order, one of each status (two listed), type and place. */
function storeUpTo(size: number, from = 0) {
  const sources = Array.from({ length: size - from }, (_, offset) => {
    const index = from + offset;
    return sourceOf({
      display_order: index,
      status:
        (['listed', 'coming_soon', 'sold_out', 'hidden', 'listed'] as const)[index % 5] ?? 'listed',
      type: index % 10 < 5 ? 'ski' : 'beach',
      location: index % 20 < 10 ? ARAN : IBIZA,
    });
  });
  return storeListings(env.DB, sources);
}

async function rowsReadBy(filters: Filters, limit: number, after?: Position) {
  const { env: counted, costs } = counting(env);
  const request = { ...filters, limit, ...(after && { after }) };
  const page = await findPage(counted.DB, PUBLIC_SITE_URL, request);
  expect(page.documents).toHaveLength(limit);
  expect(page.next).not.toBeNull();
  expect(costs.d1RoundTrips).toBe(1);
  return costs.d1RowsRead;
}

function mostRows(filters: Filters, limit: number) {
  const ranges = filters.statuses.length;
  return ranges === 1 ? limit + 1 : 2 * ranges * (limit + 1);
}

function rowsReadByEach(limit: number, after?: Position) {
  return Promise.all(combinations.map((filters) => rowsReadBy(filters, limit, after)));
}

describe('a page', () => {
  it('reads as many rows at 5,000 listings as at 100, in one round trip, whatever the filters', async () => {
    const aFifthIn: Position = [20, ''];
    await storeUpTo(100);
    const few = [await rowsReadByEach(2), await rowsReadByEach(2, aFifthIn)];
    await storeUpTo(5_000, 100);
    const many = [await rowsReadByEach(2), await rowsReadByEach(2, aFifthIn)];
    expect(many).toEqual(few);
    expect(combinations).toHaveLength(28);
  });

  it.each(combinations)('reads no more than the page and one row a range: %j', async (filters) => {
    for (const limit of [1, 25, 100]) {
      for (const after of [undefined, [2_500, ''] satisfies Position]) {
        expect(await rowsReadBy(filters, limit, after)).toBeLessThanOrEqual(
          mostRows(filters, limit),
        );
      }
    }
  });
});
