/** The property list and single properties, including filters, invalid parameters and outdated documents. */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeListResource } from '../../src/openapi/list-resource.ts';
import { property } from '../../src/properties/openapi/property.ts';
import type { Source } from '../../src/properties/source.ts';
import { expectError, expectStatus, get } from '../support/http.ts';
import { makeListing, storeListings } from '../support/listings.ts';

const LIST = '/api/v1/web/properties';
const page = makeListResource(property);

const ibiza = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a001', slug: 'ibiza', name: { en: 'Ibiza' } };
const aran = { id: '0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a002', slug: null, name: { es: 'Arán' } };

/** Sixty listings with every status, type and location. Three listings share each display order. */
const stored: Source[] = Array.from({ length: 60 }, (_, index) =>
  makeListing({
    display_order: Math.floor(index / 3) - 5,
    status:
      (['listed', 'listed', 'coming_soon', 'sold_out', 'hidden'] as const)[index % 5] ?? 'listed',
    type: ([null, 'beach', 'ski'] as const)[index % 3] ?? null,
    location: [ibiza, aran, null][index % 4] ?? null,
  }),
);

beforeAll(async () => {
  await storeListings(env.DB, stored.toReversed());
  const insert = env.DB.prepare("INSERT INTO locations (id, slug, name) VALUES (?, ?, '{}')");
  await insert.bind(ibiza.id, ibiza.slug).run();
});

async function list(query = '') {
  const response = await get(`${LIST}${query}`);
  await expectStatus(response, 200);
  return page.parse(await response.json());
}

function idsInOrder(matches: (listing: Source) => boolean): string[] {
  return stored
    .filter(matches)
    .sort((a, b) => a.display_order - b.display_order || (a.id < b.id ? -1 : 1))
    .map((listing) => listing.id);
}

describe('the property list', () => {
  it.each<[string, (listing: Source) => boolean]>([
    ['?', (l) => l.status === 'listed'],
    ['?status=listed,sold_out', (l) => l.status === 'listed' || l.status === 'sold_out'],
    ['?status=sold_out,coming_soon,listed', (l) => l.status !== 'hidden'],
    ['?type=ski', (l) => l.status === 'listed' && l.type === 'ski'],
    [`?location_id=${ibiza.id}`, (l) => l.status === 'listed' && l.location?.id === ibiza.id],
    ['?location=ibiza', (l) => l.status === 'listed' && l.location?.id === ibiza.id],
    ['?location=atlantis', () => false],
    [
      `?location_id=${aran.id.toUpperCase()}`,
      (l) => l.status === 'listed' && l.location?.id === aran.id,
    ],
    [
      `?type=beach&location_id=${ibiza.id}&status=listed,coming_soon,sold_out`,
      (l) => l.status !== 'hidden' && l.type === 'beach' && l.location?.id === ibiza.id,
    ],
  ])('returns the listings that match %s', async (query, matches) => {
    const result = await list(`${query}&limit=100`);
    expect(result.data.map((item) => item.id)).toEqual(idsInOrder(matches));
    expect(result).toMatchObject({ has_more: false, next_cursor: null });
  });

  it.each([
    [LIST, 'document'],
    [`${LIST}/${stored[0]?.slug}`, 'document'],
    ['/api/v1/web/property-cards', 'card'],
    ['/api/v1/web/property-changes', 'document'],
  ])('renders outdated documents again at %s', async (path, column) => {
    const before = await (await get(path)).text();
    await env.DB.exec(`UPDATE properties SET rendering = 'older', ${column} = '{"object":"old"}'`);
    expect(await (await get(path)).text()).toBe(before);
  });
});

describe('an invalid parameter of the list', () => {
  it.each([
    ['limit=1e1', 'must be a whole number'],
    [`limit=${'9'.repeat(300)}`, 'must be at most 100'],
    ['limit=-1', 'must be at least 1'],
    [`type=${'x'.repeat(600)}`, `${'x'.repeat(500)}… is not one of beach, ski`],
    ['locale=de', 'de is not one of en, es, fr'],
    ['fresh=yes', 'yes is not one of 0, 1, true, false'],
    ['status=hidden,nope', 'hidden is not one of listed, coming_soon, sold_out'],
    ['location_id=0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a00', 'must be a UUID'],
    [`location=ibiza&location_id=${ibiza.id}`, 'cannot be combined with location_id'],
    [
      'location=A B',
      'must be lower-case letters and digits in words joined by single hyphens or underscores',
    ],
  ])('is rejected with a validation_error (%s)', async (query, message) => {
    const error = await expectError(await get(`${LIST}?${query}`), 400, 'validation_error');
    expect(error.details).toEqual([{ path: query.split('=')[0], message }]);
  });

  it('is reported together with all other invalid parameters', async () => {
    const error = await expectError(
      await get(`${LIST}?limit=0&type=boat&status=hidden&location_id=x&location=ibiza&page=2`),
      400,
      'validation_error',
    );
    expect(error.details?.map(({ path }) => path).toSorted()).toEqual([
      'limit',
      'location',
      'location_id',
      'page',
      'status',
      'type',
    ]);
  });
});

describe('a property', () => {
  const hidden = stored.find((listing) => listing.status === 'hidden');

  it.each(['listed', 'coming_soon', 'sold_out'] as const)(
    'is returned if its status is %s',
    async (status) => {
      const listing = stored.find((source) => source.status === status);
      for (const key of [listing?.id, listing?.id.toUpperCase(), listing?.slug]) {
        const response = await get(`${LIST}/${key}`);
        await expectStatus(response, 200);
        const body = property.parse(await response.json());
        expect(body).toMatchObject({ object: 'property', id: listing?.id, status });
      }
    },
  );

  it.each([
    ['the id of a hidden listing', hidden?.id],
    ['the slug of a hidden listing', hidden?.slug],
    ['an unknown id', '00000000-0000-4000-8000-000000000000'],
    ['an unknown slug', 'no-such-home'],
    ['text that is not a slug', 'No%20Such%20Home'],
    ['invalid percent-encoding', '%E0%A4%A'],
  ])('is not found by %s', async (_name, key) => {
    await expectError(await get(`${LIST}/${key}`), 404, 'resource_missing');
  });
});
