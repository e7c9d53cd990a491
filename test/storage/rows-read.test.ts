/** The rows and round trips that each list costs, by D1's own count: they depend on the page and not on the table. */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type FeedFilters, filterParameters } from '../../src/properties/parameters.ts';
import { LISTING_PAGE } from '../../src/properties/store.ts';
import { counting } from '../support/counting.ts';
import { expectStatus, sendWith } from '../support/http.ts';
import { PUBLIC_SITE_URL, sourceOf, storeListings } from '../support/listings.ts';

const IBIZA = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a001', slug: 'ibiza', name: {} };
const ARAN = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a002', slug: 'aran', name: {} };

/** Returns every combination of the values, none of them included. */
function combinationsOf<T>(values: readonly T[]): T[][] {
  return values.reduce<T[][]>(
    (known, value) => known.concat(known.map((others) => others.concat(value))),
    [[]],
  );
}

const statuses = combinationsOf(['listed', 'coming_soon', 'sold_out'] as const).slice(1);

/** Every combination of statuses, type and location. */
const queries = statuses.flatMap((status) =>
  ['', '&type=ski'].flatMap((type) =>
    ['', `&location_id=${ARAN.id}`, `&location=${ARAN.slug}`].map(
      (location) => `status=${status}${type}${location}`,
    ),
  ),
);

/** Stores listings: twenty in order have every status (listed twice), type and location. */
function storeMany(count: number) {
  const sources = Array.from({ length: count }, (_, index) => {
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

/** Reads one page over HTTP. Returns its rows read, and its body. */
async function readPage(path: string) {
  const { env: counted, costs } = counting(env);
  const response = await sendWith(counted, path);
  await expectStatus(response, 200);
  expect(costs.d1RoundTrips).toBe(1);
  const body: { data: { id: string }[]; resume_cursor: string; next_cursor: string | null } =
    await response.json();
  return { rows: costs.d1RowsRead, ...body };
}

/** Returns SQLite's plan of the statement that `read` runs. */
async function planOf(read: (database: D1Database) => Promise<unknown>): Promise<string[]> {
  let plan: string[] = [];
  const explaining = {
    prepare: (statement: string) => ({
      bind: (...values: unknown[]) => ({
        all: async () => {
          const explained = env.DB.prepare(`EXPLAIN QUERY PLAN ${statement}`).bind(...values);
          plan = (await explained.all<{ detail: string }>()).results.map(({ detail }) => detail);
          return { results: [] };
        },
      }),
    }),
  };
  await read(explaining as unknown as D1Database);
  return plan;
}

/** The filters that parameters.ts declares, so that a new one is tested without being listed. */
const filterNames = Object.keys(filterParameters).filter((name) => name !== 'status');

/** `location` and `location_id` exclude each other. */
const namesTogether = combinationsOf(filterNames).filter(
  (names) => !(names.includes('location') && names.includes('location_id')),
);

describe('every combination of filters', () => {
  it.each(namesTogether.map((names) => ({ names })))(
    'is one range of one index: $names',
    async ({ names }) => {
      for (const after of [undefined, [1, ARAN.id] as const]) {
        // The plan does not depend on the values.
        const exact = Object.fromEntries(names.map((name) => [name, 'x']));
        const filters = { status: ['listed'], ...exact } as FeedFilters;
        const request = { shows: 'document', filters, limit: 25, after } as const;
        const plan = await planOf((database) =>
          LISTING_PAGE.find(database, PUBLIC_SITE_URL, request),
        );
        const [read = '', ...others] = plan.filter((step) => step.includes('properties'));
        expect(others).toEqual([]);
        expect(read).toMatch(/^SEARCH properties USING INDEX/);
        for (const name of [...names, 'status']) {
          expect(read).toContain(`${name === 'location' ? 'location_id' : name}=?`);
        }
        if (after) expect(read).toContain('(display_order,id)>(?,?)');
      }
    },
  );
});

describe('a page of listings', () => {
  beforeAll(async () => {
    const insert = env.DB.prepare('INSERT INTO locations (id, slug, name) VALUES (?, ?, ?)');
    await env.DB.batch([ARAN, IBIZA].map(({ id, slug }) => insert.bind(id, slug, '{}')));
  });

  it('reads no more of 2,000 than the page and one row per status, or two with a slug of a location', async () => {
    await storeMany(2_000);
    expect(queries).toHaveLength(42);
    for (const query of queries) {
      // The range of each status finds the slug of a location in one row.
      const ranges = (query.split('&')[0] ?? '').split(',').length;
      const overhead = ranges * (query.includes('location=') ? 2 : 1);
      for (const limit of [1, 25]) {
        const path = `/api/v1/web/properties?${query}&limit=${limit}`;
        const first = await readPage(path);
        const second = await readPage(`${path}&cursor=${first.next_cursor}`);
        for (const { data, rows } of [first, second]) {
          expect(data).toHaveLength(limit);
          expect({ query, isTooMuch: rows > limit + overhead }).toEqual({
            query,
            isTooMuch: false,
          });
        }
      }
    }
  });

  it('reads no more where all listings have the same display order', async () => {
    await env.DB.prepare('UPDATE properties SET display_order = 7').run();
    const { next_cursor } = await readPage('/api/v1/web/properties?limit=100');
    const path = `/api/v1/web/properties?limit=25&cursor=${next_cursor}`;
    expect((await readPage(path)).rows).toBe(26);
  });
});

it('a page of cards reads limit + 1 rows, and none from memory', async () => {
  const { env: counted, costs } = counting({ ...env, FEED_CACHE_SECONDS: '60' });
  const app = createApp();
  for (const query of ['locale=en&limit=10', 'locale=en&locale=en&limit=10']) {
    await sendWith(counted, `/api/v1/web/property-cards?${query}`, {}, app);
    expect(costs).toMatchObject({ d1RoundTrips: 1, d1RowsRead: 11 });
  }
});

describe('a page of changes', () => {
  const CHANGES = '/api/v1/web/property-changes';

  it('reads limit + 1 rows and the generation; the first one the newest change, a first pass the removals that it skips', async () => {
    await env.DB.exec('DELETE FROM properties');
    await storeMany(2_000);
    // Every twentieth change is a removal.
    await env.DB.exec(`UPDATE properties SET status = 'hidden' WHERE change_seq % 20 = 7`);
    for (const limit of [1, 10, 25]) {
      const first = await readPage(`${CHANGES}?limit=${limit}`);
      expect(first.rows).toBeLessThanOrEqual(limit + 3 + 2);
      const second = await readPage(`${CHANGES}?limit=${limit}&after=${first.resume_cursor}`);
      expect(second.data).toHaveLength(limit);
      expect(second.rows).toBeLessThanOrEqual(limit + 2 + 2);
    }
    let last = await readPage(`${CHANGES}?limit=100`);
    while (last.next_cursor !== null) {
      last = await readPage(`${CHANGES}?limit=100&after=${last.next_cursor}`);
    }
    expect((await readPage(`${CHANGES}?after=${last.resume_cursor}`)).rows).toBeLessThanOrEqual(2);
    await storeListings(env.DB, [sourceOf(), sourceOf(), sourceOf(), sourceOf()]);
    expect((await readPage(`${CHANGES}?limit=3&after=${last.resume_cursor}`)).rows).toBe(5);
  });
});

describe('a page of locations', () => {
  it('reads limit + 1 rows, with a slug or without', async () => {
    const insert = env.DB.prepare('INSERT INTO locations (id, slug, name) VALUES (?, ?, ?)');
    const rows = Array.from({ length: 100 }, (_, index) =>
      insert.bind(crypto.randomUUID(), index % 2 === 0 ? null : `place-${index}`, '{}'),
    );
    await env.DB.batch(rows);
    let cursor: string | null = '';
    while (cursor !== null) {
      const path: string = `/api/v1/web/locations?limit=20${cursor && `&cursor=${cursor}`}`;
      const page = await readPage(path);
      expect(page.rows).toBeLessThanOrEqual(21);
      cursor = page.next_cursor;
    }
  });
});

describe('a page of events', () => {
  async function storeEvents(count: number): Promise<string[]> {
    const ids = Array.from({ length: count }, () => crypto.randomUUID());
    await env.DB.prepare(
      `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
       SELECT value, 'booking.created', 'booking', 'b', 0, '{}' FROM json_each(?)`,
    )
      .bind(JSON.stringify(ids))
      .run();
    return ids;
  }

  it('reads limit + 1 rows, the generation and the newest event', async () => {
    await storeEvents(300);
    for (const query of ['limit=100', 'limit=100&order=asc', 'limit=100&aggregate_id=b']) {
      expect((await readPage(`/api/v1/events?${query}`)).rows).toBe(103);
    }
  });

  it('reads 2 rows per id at most, the generation and the newest event', async () => {
    const ids = await storeEvents(100);
    const { data, rows } = await readPage(`/api/v1/events?order=asc&id=${ids}`);
    expect(data.map(({ id }) => id)).toEqual(ids);
    expect(rows).toBeLessThanOrEqual(2 * 100 + 2);
  });
});
