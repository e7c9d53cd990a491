/**
 * The rows that lists and imports read, as counted by D1. The number for a list depends on the size of
 * the page, not of the table. test/budgets.test.ts has the exact numbers for first pages.
 */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import type { FILTER_COLUMNS } from '../../src/properties/table.ts';
import { countCosts } from '../support/counting.ts';
import { bookingCreated, ingestInit } from '../support/events.ts';
import { expectStatus, readAllPages, sendWith } from '../support/http.ts';
import { makeListing, storeListings } from '../support/listings.ts';
import { importInto, makeFile, makeProperty } from '../support/node/listings-file.ts';

const IBIZA = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a001', slug: 'ibiza', name: {} };
const ARAN = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a002', slug: 'aran', name: {} };

type Fields = Parameters<typeof makeListing>[0];

/** A value for each filter, with the fields of matching listings and of other listings. */
const FILTERS: Record<
  (typeof FILTER_COLUMNS)[number],
  { value: string; matching: Fields; other: Fields }
> = {
  type: { value: 'ski', matching: { type: 'ski' }, other: { type: 'beach' } },
  location_id: { value: ARAN.id, matching: { location: ARAN }, other: { location: IBIZA } },
};
const filterQueries = Object.entries(FILTERS).map(([name, { value }]) => `${name}=${value}`);

/** Stores listings with every status and every combination of the filters. Two in five are listed. */
function storeMany(count: number) {
  const statuses = ['listed', 'coming_soon', 'sold_out', 'hidden', 'listed'] as const;
  const filters = Object.values(FILTERS);
  const sources = Array.from({ length: count }, (_, index) => {
    const round = Math.floor(index / statuses.length);
    const fields = filters.map(({ matching, other }, bit) =>
      round & (1 << bit) ? other : matching,
    );
    const status = statuses[index % statuses.length] ?? 'listed';
    return makeListing(Object.assign({ display_order: index, status }, ...fields));
  });
  return storeListings(env.DB, sources);
}

type Page = {
  data: { id: string }[];
  has_more: boolean;
  resume_cursor: string;
  next_cursor: string | null;
};

/** Reads a page over HTTP. Returns the number of rows that D1 read, and the fields of the page. */
async function readPage(path: string) {
  const { env: counted, costs } = countCosts(env);
  const response = await sendWith(counted, path);
  await expectStatus(response, 200);
  expect(costs.d1RoundTrips).toBe(1);
  return { rows: costs.d1RowsRead, ...(await response.json<Page>()) };
}

beforeAll(() => storeMany(2_000));

describe('a page of listings', () => {
  beforeAll(async () => {
    const insert = env.DB.prepare('INSERT INTO locations (id, slug, name) VALUES (?, ?, ?)');
    await env.DB.batch([ARAN, IBIZA].map(({ id, slug }) => insert.bind(id, slug, '{}')));
  });

  // A filter by the slug of a location costs one more row per status.
  it.each([
    ...filterQueries.map((filter): [string, number] => [`status=listed&${filter}`, 2]),
    [`status=listed&${filterQueries.join('&')}`, 2],
    [`status=listed&location=${ARAN.slug}`, 3],
    [`status=listed,sold_out&location_id=${ARAN.id}`, 3],
    [`status=listed,coming_soon,sold_out&type=ski&location=${ARAN.slug}`, 7],
  ])('reads few of 2,000 rows for a filter (%s → at most limit + %i)', async (query, overhead) => {
    for (const limit of [1, 25]) {
      const path = `/api/v1/web/properties?${query}&limit=${limit}`;
      const first = await readPage(path);
      const second = await readPage(`${path}&cursor=${first.next_cursor}`);
      for (const { data, rows } of [first, second]) {
        expect(data).toHaveLength(limit);
        expect(rows).toBeLessThanOrEqual(limit + overhead);
      }
    }
  });

  it('reads only 27 rows even if all listings have the same display order', async () => {
    await env.DB.prepare('UPDATE properties SET display_order = 7').run();
    const { next_cursor } = await readPage('/api/v1/web/properties?limit=100');
    const path = `/api/v1/web/properties?limit=25&cursor=${next_cursor}`;
    expect((await readPage(path)).rows).toBe(27);
  });
});

describe('a page of changes', () => {
  it('reads at most limit + 5 rows', async () => {
    const CHANGES = '/api/v1/web/property-changes';
    // Every twentieth change is a removal.
    await env.DB.exec(`UPDATE properties SET status = 'hidden' WHERE change_seq % 20 = 7`);
    for (const limit of [1, 10, 25]) {
      const first = await readPage(`${CHANGES}?limit=${limit}`);
      expect(first.rows).toBeLessThanOrEqual(limit + 3 + 2);
      const second = await readPage(`${CHANGES}?limit=${limit}&after=${first.resume_cursor}`);
      expect(second.data).toHaveLength(limit);
      expect(second.rows).toBeLessThanOrEqual(limit + 2 + 2);
    }
    let end = '';
    const read = (next: string) => readPage(`${CHANGES}?limit=100${next}`);
    for await (const { resume_cursor } of readAllPages(read, 'after')) end = resume_cursor;
    await storeListings(env.DB, [makeListing(), makeListing(), makeListing(), makeListing()]);
    expect((await readPage(`${CHANGES}?limit=3&after=${end}`)).rows).toBe(5);
  });
});

describe('a page of locations', () => {
  it('reads at most limit + 2 rows with or without slugs', async () => {
    const insert = env.DB.prepare('INSERT INTO locations (id, slug, name) VALUES (?, ?, ?)');
    const rows = Array.from({ length: 100 }, (_, index) =>
      insert.bind(crypto.randomUUID(), index % 2 === 0 ? null : `place-${index}`, '{}'),
    );
    await env.DB.batch(rows);
    const read = (next: string) => readPage(`/api/v1/web/locations?limit=20${next}`);
    for await (const page of readAllPages(read)) expect(page.rows).toBeLessThanOrEqual(22);
  });
});

describe('a page of events', () => {
  async function storeEvents(count: number): Promise<string[]> {
    const ids = Array.from({ length: count }, () => crypto.randomUUID());
    await env.DB.prepare(
      `INSERT INTO events (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, created_at, payload)
       SELECT value, value, 'f', 'r', 'booking.created', 'booking', 'b', 0, '{}' FROM json_each(?)`,
    )
      .bind(JSON.stringify(ids))
      .run();
    return ids;
  }

  it.each(['asc', 'desc'])('reads at most limit + 5 rows after an event (%s)', async (order) => {
    const ids = await storeEvents(300);
    const path = `/api/v1/events?limit=10&order=${order}&after_id=${ids[150]}`;
    expect((await readPage(path)).rows).toBeLessThanOrEqual(15);
  });

  it('reads at most three rows per id plus two', async () => {
    const ids = await storeEvents(100);
    const { data, rows } = await readPage(`/api/v1/events?order=asc&id=${ids}`);
    expect(data.map(({ id }) => id)).toEqual(ids);
    expect(rows).toBeLessThanOrEqual(3 * 100 + 2);
  });
});

describe('an ingest', () => {
  it('reads at most 12 rows, regardless of the number of stored events', async () => {
    const init = ingestInit(bookingCreated(), crypto.randomUUID());
    for (const status of [202, 200]) {
      const { env: counted, costs } = countCosts(env);
      await expectStatus(await sendWith(counted, '/api/public/events/ingest', init), status);
      expect(costs.d1RowsRead).toBeLessThanOrEqual(12);
    }
  });
});

describe('an import of one listing', () => {
  it('reads at most five rows per stored listing', async () => {
    await env.DB.exec('DELETE FROM properties; DELETE FROM locations');
    // The import reads pages of two megabytes, each of which holds 160 of these listings.
    const location_text = { en: 'x'.repeat(6_000) };
    for (const count of [200, 400, 600]) {
      await storeListings(
        env.DB,
        Array.from({ length: 200 }, () => makeListing({ location_text })),
      );
      const { env: counted, costs } = countCosts(env);
      await importInto(counted.DB, makeFile([makeProperty({ slug: `home-${count}` })]));
      expect(costs.d1RowsRead).toBeLessThanOrEqual(5 * count);
    }
  });
});
