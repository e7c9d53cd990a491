/** The version of the catalogue after an import. */

import { env } from 'cloudflare:workers';
import { beforeEach, expect, it } from 'vitest';
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

it.each<[what: string, file: object, isNew: boolean]>([
  ['a new listing', makeFile([makeProperty({ slug: 'two' })]), true],
  ['a field of a listing', makeFile([{ ...home, name: 'Changed' }]), true],
  ['a new slug', makeFile([{ ...home, slug: 'renamed' }]), true],
  ['a hidden listing', makeFile([{ ...home, status: 'hidden' }]), true],
  ['a location of a listing', makeFile([], { bay: 'Changed' }), true],
  ['a location of no listing', { locations: [place] }, true],
  ['an amenity of a listing', makeFile([], { wifi: 'Changed' }), true],
  ['the same file', start, false],
  ['an amenity of no listing', { amenities: [{ slug: 'pool', label: { en: 'Pool' } }] }, false],
  ['a photo that is not on the web', makeFile([{ ...home, photos: [photo] }]), false],
])('an import of %s raises it if the feed shows a change', async (_, file, isNew) => {
  const before = await readVersion();
  await importInto(env.DB, file);
  expect((await readVersion()) !== before).toBe(isNew);
});
