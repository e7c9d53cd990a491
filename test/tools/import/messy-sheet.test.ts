/** The sheet of the example in docs/guides/listings-file.md: refused with its mistakes, loaded when it is mended. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type MemoryImports, openMemoryImports } from '../../support/node/memory-imports.ts';
import { messySheet } from '../../support/node/messy-sheet.ts';

let imports: MemoryImports;
beforeAll(async () => {
  imports = openMemoryImports();
  await imports.load({
    locations: [{ slug: 'mallorca', name: { en: 'Mallorca' } }],
    amenities: ['wifi', 'pool'].map((slug) => ({ slug, label: { en: slug } })),
  });
});
afterAll(() => imports.close());

const mended = messySheet({ hasPrices: false, hasAmenity: false, hasAddress: false });

it('a sheet of 300 homes is refused with one line for each of its mistakes', async () => {
  const refused = await imports.loadSheet(
    messySheet({ hasPrices: true, hasAmenity: true, hasAddress: true }),
  );
  expect(refused.code).toBe(1);
  expect(refused.stderr.trim().split('\n')).toEqual([
    'price_from must be a number such as 118000 or 118000.5: 12 listings, first home-2 (row 3, price_from): "€ 98.250"',
    'photos must be an absolute http or https URL: 3 times in 1 listing, first home-41 (row 42, photos): "images.example.com/Santanyí/Sa Torre 41 1.jpg"',
    'row 42, hero_photo (slug "home-41"): "images.example.com/Santanyí/Sa Torre 41 2.jpg" must be an absolute http or https URL',
    'amenity "jacuzi" is not known: 100 listings, first home-1 (row 2, amenities)',
    'The first lines of `npm run -s export-listings` are the known locations and amenities; docs/guides/listings-file.md says how to add one.',
    '116 problems of 4 kinds. Nothing was changed.',
  ]);
});

it('a mended sheet is loaded with its warnings, and changes nothing when it is loaded again', async () => {
  const loaded = await imports.loadSheet(mended);
  expect(loaded).toMatchObject({ code: 0, stderr: '' });
  expect(loaded.stdout).toContain(
    '300 listings: 300 added, 0 changed, 0 unchanged\n' +
      'Worth a look: public without a photo: 6 listings: home-50, home-100, home-150 and 3 more\n' +
      'Worth a look: a gallery without any alt text: 294 listings: home-1, home-2, home-3 and 291 more\n',
  );
  const home = await imports.stored('home-4');
  expect(home).toMatchObject({
    hid: 'H-1003',
    title: { en: `Vista Mar 4: a house in Cala d'Or, "with a view"`, es: "Casa en Cala d'Or" },
    price_from: 98750,
    is_early_access: false,
    location: { slug: 'mallorca' },
    photos: [
      { url: 'https://images.example.com/Cala%20d%27Or/Vista%20Mar%204%201.jpg' },
      { url: 'https://images.example.com/Cala%20d%27Or/Vista%20Mar%204%202.jpg' },
      { url: 'https://images.example.com/Cala%20d%27Or/Vista%20Mar%204%203.jpg' },
    ],
  });
  expect(home?.hero_photo_id).toBe(home?.photos[1]?.id);
  expect((await imports.loadSheet(mended)).stdout).toContain('Nothing changed');
});

it('a price that is changed in the sheet is shown before it is changed', async () => {
  const changed = mended.replace(';98750;', ';99000;');
  const dry = await imports.loadSheet(changed, '--dry-run');
  expect(dry.stdout).toContain(
    'An import would give:\nhome-4: price_from 98750 → 99000\n300 listings: 0 added, 1 changed, 299 unchanged\n',
  );
  expect(await imports.stored('home-4')).toMatchObject({ price_from: 98750 });
});
