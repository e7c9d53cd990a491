/** Responses in some of the languages, with the sample listings. */

import { env } from 'cloudflare:workers';
import { beforeAll, expect, it } from 'vitest';
import samples from '../../tools/samples/listings.json';
import { expectStatus, get } from '../support/http.ts';
import { importInto } from '../support/node/listings-file.ts';

const WEB = '/api/v1/web';
const ITEM = `${WEB}/properties/casa-ginebrera`;
const CARDS = `${WEB}/property-cards`;

beforeAll(() => importInto(env.DB, samples));

async function read(path: string): Promise<Response> {
  const response = await get(path);
  await expectStatus(response, 200);
  return response;
}

/** Returns a value without the fields that are named like the other languages. */
function cut(value: unknown, chosen: readonly string[]): unknown {
  const others = ['en', 'es', 'fr'].filter((language) => !chosen.includes(language));
  const text = JSON.stringify(value, (name, each) => (others.includes(name) ? undefined : each));
  return JSON.parse(text);
}

it.each([ITEM, `${WEB}/properties`, CARDS, `${WEB}/property-changes`, `${WEB}/locations`])(
  'locale cuts every text of %s, at any depth and without a fallback, and nothing else',
  async (path) => {
    const whole = await (await read(path)).json();
    for (const chosen of [['es'], ['fr', 'en']]) {
      const response = await read(`${path}?locale=${chosen}`);
      const expected = cut(whole, chosen);
      expect(expected).not.toEqual(whole);
      expect(await response.json()).toEqual(expected);
    }
  },
);

it('a response in every language is the response without locale, to the byte', async () => {
  const [whole, named] = [await read(ITEM), await read(`${ITEM}?locale=fr,es,en`)];
  expect(named.headers.get('ETag')).toBe(whole.headers.get('ETag'));
});

it('25 cards of the samples in one language are at most 5 KB gzipped', async () => {
  const cards = await read(`${CARDS}?locale=en&limit=25`);
  const gzipped = cards.body?.pipeThrough(new CompressionStream('gzip'));
  const { byteLength } = await new Response(gzipped).arrayBuffer();
  expect(byteLength).toBeLessThanOrEqual(5 * 1_024);
});
