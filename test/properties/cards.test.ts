/** Cards and languages, with the sample listings. */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import samples from '../../tools/samples/listings.json';
import { expectStatus, get } from '../support/http.ts';
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
  it('are at most 5 KB gzipped for 25 listings of the samples in one language', async () => {
    const cards = await get(`${CARDS}?locale=en&limit=25`);
    await expectStatus(cards, 200);
    expect(await gzippedSize(cards)).toBeLessThanOrEqual(5 * 1_024);
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

  it('is the whole response, to the byte, when it names every language', async () => {
    const whole = await get(`${LIST}/casa-ginebrera`);
    const named = await get(`${LIST}/casa-ginebrera?locale=fr,es,en`);
    expect(named.headers.get('ETag')).toBe(whole.headers.get('ETag'));
  });

  it('cuts the names of locations', async () => {
    const { data } = await list('limit=1&locale=fr', '/api/v1/web/locations');
    expect(languagesIn(data)).toEqual(new Set(['fr']));
  });
});
