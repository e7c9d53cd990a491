/** The catalogue version, which an import increments if it changes a response of the feed. */

import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, it } from 'vitest';
import { importInto, makeFile, makeProperty } from '../support/node/listings-file.ts';

const photo = {
  ...{ id: crypto.randomUUID(), url: 'https://a.example.com/1.jpg', alt: {}, section: 'gallery' },
  ...{ web_visible: false, web_sort_order: 0 },
};
const home = { ...makeProperty({ slug: 'one' }), location: 'bay', amenities: ['wifi'] };
const start = makeFile([home]);
const place = { id: crypto.randomUUID(), slug: 'hill', name: { en: 'The hill' } };

const readVersion = () =>
  env.DB.prepare('SELECT catalogue_version FROM database_identity').first('catalogue_version');

beforeEach(async () => {
  await env.DB.exec('DELETE FROM properties; DELETE FROM locations; DELETE FROM amenities');
  await importInto(env.DB, start);
});

describe('the catalogue version', () => {
  it.each<[what: string, file: object]>([
    ['a new listing', makeFile([makeProperty({ slug: 'two' })])],
    ['a field of a listing', makeFile([{ ...home, name: 'Changed' }])],
    ['a new slug', makeFile([{ ...home, slug: 'renamed' }])],
    ['a hidden listing', makeFile([{ ...home, status: 'hidden' }])],
    ['a location of a listing', makeFile([], { bay: 'Changed' })],
    ['an unused location', { locations: [place] }],
    ['an amenity of a listing', makeFile([], { wifi: 'Changed' })],
  ])('is incremented by an import of %s', async (_, file) => {
    const before = await readVersion();
    await importInto(env.DB, file);
    expect(await readVersion()).not.toBe(before);
  });

  it.each<[what: string, file: object]>([
    ['the same file', start],
    ['an unused amenity', { amenities: [{ slug: 'pool', label: { en: 'Pool' } }] }],
    ['a photo that is not on the web', makeFile([{ ...home, photos: [photo] }])],
  ])('is unchanged by an import of %s', async (_, file) => {
    const before = await readVersion();
    await importInto(env.DB, file);
    expect(await readVersion()).toBe(before);
  });
});
