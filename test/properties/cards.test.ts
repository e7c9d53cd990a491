/** Cards and languages: the fields and texts of an answer, its cost, and its share of the memory. */

import { env } from 'cloudflare:workers';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { listOf } from '../../src/openapi/list-resource.ts';
import { propertyCard } from '../../src/properties/openapi/resource.ts';
import samples from '../../tools/samples/listings.json';
import { expectError, expectStatus, get, sendWith } from '../support/http.ts';
import { storeListings } from '../support/listings.ts';
import { sampleSources } from '../support/samples.ts';

const LIST = '/api/v1/web/properties';
const CARDS = '/api/v1/web/property-cards';
const listing = z.record(z.string(), z.unknown());
const page = z.object({ data: z.array(listing), next_cursor: z.string().nullable() });

beforeAll(async () => {
  await storeListings(env.DB, sampleSources());
  const insert = env.DB.prepare('INSERT INTO locations (id, slug, name) VALUES (?, ?, ?)');
  await env.DB.batch(
    samples.locations.map(({ id, slug, name }) => insert.bind(id, slug, JSON.stringify(name))),
  );
});
afterEach(() => {
  vi.restoreAllMocks();
});

async function list(query: string, path = LIST) {
  const response = await get(`${path}?${query}`);
  await expectStatus(response, 200);
  return page.parse(await response.json());
}

async function item(query = '', slug = 'casa-ginebrera') {
  const response = await get(`${LIST}/${slug}${query}`);
  await expectStatus(response, 200);
  return listing.parse(await response.json());
}

async function gzippedSize(response: Response): Promise<number> {
  const stream = response.body?.pipeThrough(new CompressionStream('gzip'));
  return (await new Response(stream).arrayBuffer()).byteLength;
}

/** Returns the keys of every object in a value whose keys are languages. */
function languagesIn(value: unknown): Set<string> {
  const found = new Set<string>();
  JSON.stringify(value, (key, each: unknown) => {
    if (['en', 'es', 'fr'].includes(key)) found.add(key);
    return each;
  });
  return found;
}

describe('cards', () => {
  it('are the listings of the list, in its order, each field as in the property', async () => {
    const query = 'status=listed,coming_soon,sold_out&limit=100';
    const [whole, cards] = [await list(query), await list(query, CARDS)];
    expect(cards.data).toHaveLength(whole.data.length);
    for (const [index, card] of cards.data.entries()) {
      expect(card.object).toBe('property_card');
      const { object, ...fields } = card;
      expect(whole.data[index]).toMatchObject(fields);
    }
  });

  it('are at most 5 KB gzipped for 25 listings of the samples in one language', async () => {
    const cards = await get(`${CARDS}?locale=en&limit=25`);
    await expectStatus(cards, 200);
    expect(await gzippedSize(cards)).toBeLessThanOrEqual(5 * 1_024);
  });

  it('take the filters of the list, and page by cursors of their own', async () => {
    const ids: unknown[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const next = await list(`type=beach&limit=7${cursor && `&cursor=${cursor}`}`, CARDS);
      ids.push(...next.data.map(({ id }) => id));
      cursor = next.next_cursor;
    }
    expect(ids).toEqual((await list('type=beach&limit=100')).data.map(({ id }) => id));
    const { next_cursor } = await list('limit=1', CARDS);
    await expectError(await get(`${LIST}?limit=1&cursor=${next_cursor}`), 400, 'invalid_cursor');
  });

  it('are rendered anew where other rules rendered the listings', async () => {
    const expected = (await list('limit=3', CARDS)).data;
    const moved = 'https://moved.example.com';
    const response = await sendWith({ PUBLIC_SITE_URL: moved }, `${CARDS}?limit=3`);
    const { data } = listOf(propertyCard).parse(await response.json());
    expect(data).toEqual(
      expected.map((card) => ({ ...card, url: `${moved}/listings/${card.slug}` })),
    );
  });
});

describe('locale', () => {
  it('cuts every text of a listing, at any depth, and nothing else', async () => {
    const whole = await item();
    expect(languagesIn(whole)).toEqual(new Set(['en', 'es', 'fr']));
    const cut = await item('?locale=es');
    expect(languagesIn(cut)).toEqual(new Set(['es']));
    const without = (value: unknown) =>
      JSON.parse(
        JSON.stringify(value, (key, each: unknown) =>
          key === 'en' || key === 'fr' ? undefined : each,
        ),
      );
    expect(cut).toEqual(without(whole));
    expect(languagesIn(await item('?locale=fr&locale=en'))).toEqual(new Set(['en', 'fr']));
    expect(languagesIn(await list('locale=fr', CARDS))).toEqual(new Set(['fr']));
  });

  it('is the whole answer, to the byte, when it names every language', async () => {
    const whole = await get(`${LIST}/casa-ginebrera`);
    const named = await get(`${LIST}/casa-ginebrera?locale=fr,es,en`);
    expect(named.headers.get('ETag')).toBe(whole.headers.get('ETag'));
  });

  it('has no fallback: a text without the language is empty', async () => {
    const [only] = sampleSources().filter(
      ({ status, title }) => status !== 'hidden' && Object.keys(title).join() === 'es',
    );
    expect(only).toBeDefined();
    expect((await item('?locale=en', only?.slug)).title).toEqual({});
    expect((await item('?locale=es', only?.slug)).title).toEqual(only?.title);
  });

  it.each([LIST, `${LIST}/casa-ginebrera`, CARDS])(
    'of an unknown language is refused by name: %s',
    async (path) => {
      for (const query of ['locale=de', 'locale=', 'locale=EN', 'locale=en,en-GB']) {
        const error = await expectError(await get(`${path}?${query}`), 400, 'validation_error');
        expect(error.param).toBe('locale');
        expect(error.message).toContain('is none of en, es, fr');
      }
    },
  );

  it('may change from page to page', async () => {
    const whole = await list('limit=3');
    const cut = await list('limit=3&locale=en');
    expect(cut.next_cursor).toBe(whole.next_cursor);
    const next = await list(`limit=3&locale=fr&cursor=${cut.next_cursor}`);
    const expected = await list(`limit=3&cursor=${whole.next_cursor}`);
    expect(next.data.map(({ id }) => id)).toEqual(expected.data.map(({ id }) => id));
  });
});

describe('location', () => {
  const SARDINIA = 'e16037e3-44f6-4e6b-8589-6880896284e3';

  it.each([LIST, CARDS])('takes the slug of a location: %s', async (path) => {
    const named = await list('location=sardinia&status=listed,sold_out', path);
    expect(named.data.length).toBeGreaterThan(1);
    expect(named.data).toEqual(
      (await list(`location_id=${SARDINIA}&status=listed,sold_out`, path)).data,
    );
  });

  it('that is unknown gives an empty list, and one that is no slug is refused', async () => {
    expect((await list('location=atlantis')).data).toEqual([]);
    const error = await expectError(await get(`${LIST}?location=A B`), 400, 'validation_error');
    expect(error.param).toBe('location');
  });

  it('is refused beside location_id, also with another bad parameter', async () => {
    const both = `location=sardinia&location_id=${SARDINIA}`;
    for (const query of [both, `${both}&limit=0`]) {
      const response = await get(`${LIST}?${query}`);
      const { details } = await expectError(response, 400, 'validation_error');
      expect(details?.map(({ path }) => path)).toContain('location');
    }
  });
});
