/** The parameter `locale`, tested with the sample listings. */

import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, it } from 'vitest';
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

/** Returns a copy of a value without the fields of other languages. */
function reduce(value: unknown, locales: readonly string[]): unknown {
  const others = ['en', 'es', 'fr'].filter((language) => !locales.includes(language));
  const text = JSON.stringify(value, (name, field) => (others.includes(name) ? undefined : field));
  return JSON.parse(text);
}

describe('locale', () => {
  it.each([ITEM, `${WEB}/properties`, CARDS, `${WEB}/property-changes`, `${WEB}/locations`])(
    'removes only the other languages from %s, without a fallback',
    async (path) => {
      const complete = await (await read(path)).json();
      for (const locales of [['es'], ['fr', 'en']]) {
        const response = await read(`${path}?locale=${locales}`);
        const expected = reduce(complete, locales);
        expect(expected).not.toEqual(complete);
        expect(await response.json()).toEqual(expected);
      }
    },
  );

  it('changes nothing if it names every language', async () => {
    const [complete, reduced] = [await read(ITEM), await read(`${ITEM}?locale=fr,es,en`)];
    expect(reduced.headers.get('ETag')).toBe(complete.headers.get('ETag'));
  });

  it('reduces 25 sample cards to at most 5 KB gzipped', async () => {
    const cards = await read(`${CARDS}?locale=en&limit=25`);
    const gzipped = cards.body?.pipeThrough(new CompressionStream('gzip'));
    const { byteLength } = await new Response(gzipped).arrayBuffer();
    expect(byteLength).toBeLessThanOrEqual(5 * 1_024);
  });
});
