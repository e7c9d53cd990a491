/** `fields` and `locale`: what is cut, what it costs, and what it may fill. */

import { env } from 'cloudflare:workers';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createApp } from '../../src/app.ts';
import { counting } from '../support/counting.ts';
import { expectError, expectStatus, get, sendWith } from '../support/http.ts';
import { storeListings } from '../support/listings.ts';
import { sampleSources } from '../support/samples.ts';

const LIST = '/api/v1/web/properties';
const CARD = 'fields=slug,title,hero_image,location,price_from&locale=en';
const listing = z.record(z.string(), z.unknown());
const page = z.object({ data: z.array(listing), next_cursor: z.string().nullable() });

beforeAll(() => storeListings(env.DB, sampleSources()));
afterEach(() => {
  vi.restoreAllMocks();
});

async function list(query: string) {
  const response = await get(`${LIST}?${query}`);
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

describe('fields', () => {
  it('gives the fields asked for, with object and id, in the order of the resource', async () => {
    const whole = await item();
    const cut = await item('?fields=url,slug,title');
    expect(Object.keys(cut)).toEqual(['object', 'id', 'slug', 'title', 'url']);
    for (const [name, value] of Object.entries(cut)) expect(value).toEqual(whole[name]);
    expect(Object.keys(await item('?fields=id'))).toEqual(['object', 'id']);
    expect(Object.keys(await item('?fields=object&fields=city'))).toEqual(['object', 'id', 'city']);
  });

  it('is the whole listing, to the byte, when it names every field', async () => {
    const whole = await get(`${LIST}/casa-ginebrera`);
    const fields = Object.keys(await whole.clone().json<object>());
    const named = await get(`${LIST}/casa-ginebrera?fields=${fields.reverse()}&locale=fr,es,en`);
    expect(named.headers.get('ETag')).toBe(whole.headers.get('ETag'));
  });

  it.each(['/casa-ginebrera', ''])('that are unknown are refused by name: %s', async (path) => {
    for (const query of ['fields=slug,colour', 'fields=', 'fields=slug,', 'fields=Slug']) {
      const error = await expectError(
        await get(`${LIST}${path}?${query}`),
        400,
        'validation_error',
      );
      expect(error.param).toBe('fields');
      expect(error.message).toContain(' is none of object, id, hid, slug, name');
    }
    for (const query of ['locale=de', 'locale=', 'locale=EN', 'locale=en,en-GB']) {
      const error = await expectError(
        await get(`${LIST}${path}?${query}`),
        400,
        'validation_error',
      );
      expect(error.param).toBe('locale');
      expect(error.message).toContain(' is none of en, es, fr');
    }
  });

  it('of one listing leave what links append alone', async () => {
    expect(await item('?utm_source=a&_b=c')).toEqual(await item());
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
  });

  it('has no fallback: a text without the language is empty', async () => {
    const [only] = sampleSources().filter(
      ({ status, title }) => status !== 'hidden' && Object.keys(title).join() === 'es',
    );
    expect(only).toBeDefined();
    expect((await item('?locale=en', only?.slug)).title).toEqual({});
    expect((await item('?locale=es', only?.slug)).title).toEqual(only?.title);
  });
});

describe('a part of a list', () => {
  it('of cards is at most 5 KB gzipped for 25 listings of the samples', async () => {
    const cards = await get(`${LIST}?${CARD}&limit=25`);
    await expectStatus(cards, 200);
    expect(await gzippedSize(cards)).toBeLessThanOrEqual(5 * 1_024);
  });

  it('has the cursor of the whole list, and goes on in another part', async () => {
    const whole = await list('limit=3');
    const cut = await list(`${CARD}&limit=3`);
    expect(cut.next_cursor).toBe(whole.next_cursor);
    const next = await list(`fields=name&limit=3&cursor=${cut.next_cursor}`);
    const expected = await list(`limit=3&cursor=${whole.next_cursor}`);
    expect(next.data.map(({ id }) => id)).toEqual(expected.data.map(({ id }) => id));
  });

  it('is read in one round trip and as many rows, and is given from memory without any', async () => {
    const { env: counted, costs } = counting({ ...env, FEED_CACHE_SECONDS: '60' });
    const app = createApp();
    await sendWith(counted, `${LIST}?${CARD}&limit=10`, {}, app);
    expect(costs).toMatchObject({ d1RoundTrips: 1, d1RowsRead: 11 });
    const again = 'locale=en&locale=en&fields=price_from,location,hero_image,title,slug,id';
    await sendWith(counted, `${LIST}?${again}&limit=10`, {}, app);
    expect(costs).toMatchObject({ d1RoundTrips: 1, d1RowsRead: 11 });
  });

  it('in every combination stays within the bound of the memory, and pushes out no answer in use', async () => {
    vi.spyOn(caches, 'default', 'get').mockReturnValue(noEdgeCache);
    const bound = { FEED_CACHE_SECONDS: '60', FEED_MEMORY_BYTES: '60000' };
    const { env: counted, costs } = counting({ ...env, ...bound });
    const app = createApp();
    const ask = (query: string) => sendWith(counted, `${LIST}?${query}`, {}, app);
    await ask(`${CARD}&limit=5`);
    const names = Object.keys(await item()).slice(2, 14);
    for (const name of names) {
      await ask(`fields=gallery,${name}&limit=15`);
      await ask(`${CARD}&limit=5`);
    }
    expect(costs.d1RoundTrips).toBe(1 + names.length);
    await ask(`fields=gallery,${names[0]}&limit=15`);
    expect(costs.d1RoundTrips).toBe(2 + names.length);
  });
});

/** An edge cache that forgets everything. */
const noEdgeCache = {
  match: async () => undefined,
  put: async () => undefined,
  delete: async () => false,
} as unknown as Cache;
