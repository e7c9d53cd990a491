import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { listOf } from '../../src/openapi/list-resource.ts';
import { property } from '../../src/properties/openapi/resource.ts';
import type { Source } from '../../src/properties/source.ts';
import { expectError, expectStatus, get } from '../support/http.ts';
import { sourceOf, storeListings } from '../support/listings.ts';

const LIST = '/api/v1/web/properties';
const page = listOf(property);

const ibiza = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a001', slug: 'ibiza', name: { en: 'Ibiza' } };
const aran = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a002', slug: null, name: { es: 'Arán' } };

/** Sixty listings, three for each display order, of every status, type and location. */
const stored: Source[] = Array.from({ length: 60 }, (_, index) =>
  sourceOf({
    display_order: Math.floor(index / 3) - 5,
    status:
      (['listed', 'listed', 'coming_soon', 'sold_out', 'hidden'] as const)[index % 5] ?? 'listed',
    type: ([null, 'beach', 'ski'] as const)[index % 3] ?? null,
    location: [ibiza, aran, null][index % 4] ?? null,
  }),
);

beforeAll(() => storeListings(env.DB, stored.toReversed()));

async function list(query = '') {
  const response = await get(`${LIST}${query}`);
  await expectStatus(response, 200);
  return page.parse(await response.json());
}

/** Follows the cursor to the end. */
async function listAll(query: string) {
  const pages = [await list(query)];
  for (let last = pages[0]; last?.has_more; last = pages.at(-1)) {
    pages.push(await list(`${query}&cursor=${last.next_cursor}`));
  }
  return pages;
}

function idsInOrder(matches: (listing: Source) => boolean): string[] {
  return stored
    .filter(matches)
    .sort((a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1))
    .map((listing) => listing.id);
}

describe('the list', () => {
  it('gives listings with the status listed by display order, then by id, in pages of 25', async () => {
    const first = await list();
    const expected = idsInOrder((listing) => listing.status === 'listed');
    expect(expected.length).toBe(24);
    expect(first.data.map((item) => item.id)).toEqual(expected);
    expect(first).toMatchObject({ object: 'list', has_more: false, next_cursor: null });
  });

  it.each<[string, (listing: Source) => boolean]>([
    ['?status=coming_soon', (l) => l.status === 'coming_soon'],
    ['?status=listed,sold_out', (l) => l.status === 'listed' || l.status === 'sold_out'],
    ['?status=listed&status=sold_out', (l) => l.status === 'listed' || l.status === 'sold_out'],
    ['?status=sold_out,coming_soon,listed', (l) => l.status !== 'hidden'],
    ['?status=listed,listed', (l) => l.status === 'listed'],
    ['?type=ski', (l) => l.status === 'listed' && l.type === 'ski'],
    [`?location_id=${ibiza.id}`, (l) => l.status === 'listed' && l.location?.id === ibiza.id],
    [
      `?location_id=${aran.id.toUpperCase()}`,
      (l) => l.status === 'listed' && l.location?.id === aran.id,
    ],
    [
      `?type=beach&location_id=${ibiza.id}&status=listed,coming_soon,sold_out`,
      (l) => l.status !== 'hidden' && l.type === 'beach' && l.location?.id === ibiza.id,
    ],
    ['?location_id=00000000-0000-0000-0000-000000000000', () => false],
    ['?utm_source=mail&utm_source=again&_foo', (l) => l.status === 'listed'],
  ])('%s gives the listings that fit it', async (query, matches) => {
    const result = await list(`${query}&limit=100`);
    expect(result.data.map((item) => item.id)).toEqual(idsInOrder(matches));
    expect(result).toMatchObject({ has_more: false, next_cursor: null });
  });

  it.each([1, 2, 7, 24])('is complete and in order in pages of %d', async (limit) => {
    const pages = await listAll(`?status=listed,sold_out&limit=${limit}`);
    const expected = idsInOrder((l) => l.status === 'listed' || l.status === 'sold_out');
    expect(pages.flatMap((each) => each.data.map((item) => item.id))).toEqual(expected);
    expect(pages).toHaveLength(Math.ceil(expected.length / limit));
    expect(pages.slice(0, -1).every((each) => each.data.length === limit)).toBe(true);
  });

  it('repeats or misses no listing when others are added or removed between pages', async () => {
    const newcomer = sourceOf({ display_order: -100 });
    const first = await list('?limit=10');
    await storeListings(env.DB, [newcomer]);
    await env.DB.prepare('UPDATE properties SET display_order = 999 WHERE id = ?')
      .bind(first.data[0]?.id)
      .run();
    const second = await list(`?limit=10&cursor=${first.next_cursor}`);
    const expected = idsInOrder((l) => l.status === 'listed').slice(10, 20);
    expect(second.data.map((item) => item.id)).toEqual(expected);
    await env.DB.batch([
      env.DB.prepare('DELETE FROM properties WHERE id = ?').bind(newcomer.id),
      env.DB.prepare('UPDATE properties SET display_order = ? WHERE id = ?').bind(
        first.data[0]?.display_order,
        first.data[0]?.id,
      ),
    ]);
  });

  it('renders a listing anew that older rules or another site address rendered', async () => {
    await env.DB.prepare(
      `UPDATE properties SET rendering = 'older', document = '{"object":"old"}'`,
    ).run();
    const result = await list('?limit=100');
    expect(result.data.map((item) => item.id)).toEqual(idsInOrder((l) => l.status === 'listed'));
    expect(result.data[0]?.url).toBe(`https://www.example.com/listings/${result.data[0]?.slug}`);
  });
});

describe('a bad parameter of the list', () => {
  it.each([
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=', 'limit'],
    ['limit=99999999999999999999', 'limit'],
    ['type=', 'type'],
    ['type=Beach', 'type'],
    ['type=beach&type=ski', 'type'],
    ['status=', 'status'],
    ['status=hidden', 'status'],
    ['status=listed,', 'status'],
    ['status=listed, sold_out', 'status'],
    ['location_id=ibiza', 'location_id'],
    ['location_id=0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a00', 'location_id'],
  ])('%s is a validation_error', async (query, param) => {
    const error = await expectError(await get(`${LIST}?${query}`), 400, 'validation_error');
    expect(error.param).toBe(param);
    expect(error.details).toHaveLength(1);
    expect(error.details?.[0]?.path).toBe(error.param);
  });

  it('is in details beside every other bad parameter', async () => {
    const error = await expectError(
      await get(`${LIST}?limit=0&type=boat&status=hidden&location_id=x&page=2`),
      400,
      'validation_error',
    );
    expect(error.details?.map(({ path }) => path).toSorted()).toEqual([
      'limit',
      'location_id',
      'page',
      'status',
      'type',
    ]);
  });

  it.each([
    ['limit=99999999999999999999', 'limit: must be at most 100'],
    [`limit=${'9'.repeat(400)}`, 'limit: must be at most 100'],
    ['limit=-1', 'limit: must be at least 1'],
    ['limit=1&limit=2', 'limit: must be given once'],
    ['type=beach&type=ski', 'type: must be given once'],
    ['status=listed&status=hidden', 'status: hidden is none of listed, coming_soon, sold_out'],
  ])('says what is wrong with it: %s', async (query, message) => {
    const error = await expectError(await get(`${LIST}?${query}`), 400, 'validation_error');
    expect(error.message).toBe(message);
  });
});

describe('a cursor of the list', () => {
  it.each(['', ' ', 'x', 'null', '%00', 'AAAAAAAAAAAAAAAA'])(
    '%j is invalid_cursor',
    async (cursor) => {
      const error = await expectError(await get(`${LIST}?cursor=${cursor}`), 400, 'invalid_cursor');
      expect(error.param).toBe('cursor');
    },
  );

  it('works with another limit, and with the same statuses in another order', async () => {
    const { next_cursor } = await list('?status=listed,sold_out&limit=3');
    const next = await list(`?status=sold_out,listed&limit=4&cursor=${next_cursor}`);
    expect(next.data).toHaveLength(4);
  });

  it.each(['', '?status=sold_out', '?type=beach', `?location_id=${ibiza.id}`])(
    'made under other filters than %j is invalid_cursor',
    async (query) => {
      const { next_cursor } = await list('?status=listed,sold_out&limit=3');
      const separator = query === '' ? '?' : '&';
      await expectError(
        await get(`${LIST}${query}${separator}cursor=${next_cursor}`),
        400,
        'invalid_cursor',
      );
    },
  );
});

describe('a cursor beside another bad parameter', () => {
  it.each(['', 'x', 'AAAAAAAAAAAAAAAA'])('is in details when it is %j', async (cursor) => {
    const error = await expectError(
      await get(`${LIST}?cursor=${cursor}&limit=0&page=2`),
      400,
      'validation_error',
    );
    expect(error.details).toEqual([
      { path: 'page', message: 'is not a parameter here: page with cursor' },
      { path: 'limit', message: 'must be at least 1' },
      { path: 'cursor', message: 'is not one that this list gave' },
    ]);
    expect(error.param).toBe('page');
  });

  it('is not in details when it can be decoded', async () => {
    const { next_cursor } = await list('?status=listed,sold_out&limit=3');
    const error = await expectError(
      await get(`${LIST}?limit=0&cursor=${next_cursor}`),
      400,
      'validation_error',
    );
    expect(error.details?.map(({ path }) => path)).toEqual(['limit']);
  });
});

describe('one property', () => {
  it.each(['listed', 'coming_soon', 'sold_out'] as const)(
    'is served when it is %s',
    async (status) => {
      const listing = stored.find((each) => each.status === status);
      for (const key of [listing?.id, listing?.id.toUpperCase(), listing?.slug]) {
        const response = await get(`${LIST}/${key}`);
        await expectStatus(response, 200);
        const body = property.parse(await response.json());
        expect(body).toMatchObject({ object: 'property', id: listing?.id, status });
      }
    },
  );

  it('is missing when it is hidden', async () => {
    const hidden = stored.find((each) => each.status === 'hidden');
    await expectError(await get(`${LIST}/${hidden?.id}`), 404, 'resource_missing');
    await expectError(await get(`${LIST}/${hidden?.slug}`), 404, 'resource_missing');
  });

  it.each([
    ['an unknown id', '00000000-0000-4000-8000-000000000000'],
    ['an unknown slug', 'no-such-home'],
    ['no slug at all', 'No%20Such%20Home'],
    ['SQL', "x'%20OR%20'1'='1"],
    ['a slug in upper case', 'HOME'],
    ['bad percent-encoding', '%E0%A4%A'],
    ['a very long text', 'x'.repeat(5_000)],
  ])('is missing for %s', async (_name, key) => {
    await expectError(await get(`${LIST}/${key}`), 404, 'resource_missing');
  });
});
