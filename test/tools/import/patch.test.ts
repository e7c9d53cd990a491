/** `--patch`: only the fields in the file are changed. */

import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { codeBlocksOf } from '../../docs/markdown.ts';
import { BAY, fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import type { Finished } from '../../support/node/project-copy.ts';

const photo = (number: number, fields: object = {}) => ({
  id: `00000000-0000-4000-8000-00000000000${number}`,
  url: `https://images.example.com/${number}.jpg`,
  alt: { en: `View ${number}`, es: `Vista ${number}` },
  section: 'hero',
  web_visible: true,
  web_sort_order: number * 10,
  ...fields,
});

const whole = {
  slug: 'casa-marea',
  hid: 'H-1',
  name: 'Casa Marea',
  title: { en: 'House', es: 'Casa', fr: 'Maison' },
  description: { en: 'Four rooms', fr: 'Quatre pièces' },
  price_from: 118000,
  city: 'Andratx',
  photos: [photo(1), photo(2)],
  hero_photo_id: photo(1).id,
  location_id: BAY,
  amenities: ['wifi'],
  is_early_access: true,
};

const imports = openMemoryImports();
beforeEach(async () => {
  expectDone(
    await imports.load(fileOf([propertyOf(whole), propertyOf({ slug: 'other', hid: 'H-2' })])),
  );
});
afterEach(() => imports.clear());

function expectDone(finished: Finished): void {
  expect(finished).toMatchObject({ code: 0, stderr: '' });
}

const patch = (...properties: object[]) => imports.load({ properties }, '--patch');

const numbersOf = async (slug: string) =>
  (await imports.stored(slug))?.photos.map(({ web_sort_order }) => web_sort_order);

const range = (first: number, length: number) =>
  Array.from({ length }, (_, index) => first + index);

describe('a patch', () => {
  it.each([{ slug: 'casa-marea' }, { hid: 'H-1' }])(
    'changes only the fields of the patch, in the listing %o',
    async (key) => {
      const before = await imports.stored('casa-marea');
      const done = await patch({ ...key, price_from: 121000, title: { fr: 'La maison' } });
      expectDone(done);
      expect(done.stdout).toContain('1 listing: 0 added, 1 changed, 0 unchanged');
      expect(await imports.stored('casa-marea')).toEqual({
        ...before,
        price_from: 121000,
        title: { en: 'House', es: 'Casa', fr: 'La maison' },
      });
      const again = await patch({ ...key, price_from: 121000, title: { fr: 'La maison' } });
      expect(again.stdout).toContain('Nothing changed');
    },
  );

  it('names a listing by id, and then changes its slug and hid', async () => {
    const before = await imports.stored('casa-marea');
    const keys = { slug: 'casa-nueva', hid: 'H-9' };
    expectDone(await patch({ id: before?.id, ...keys }));
    expect(await imports.stored('casa-nueva')).toEqual({ ...before, ...keys });
  });

  it('empties a field and takes a language away by null', async () => {
    const lists = { description: null, amenities: null, location: null };
    const fields = { city: null, title: { fr: null }, is_early_access: null, ...lists };
    const done = await patch({ slug: 'casa-marea', ...fields });
    expect(done.code).toBe(0);
    expect(await imports.stored('casa-marea')).toMatchObject({
      city: null,
      title: { en: 'House', es: 'Casa' },
      description: {},
      amenities: [],
      location: null,
      is_early_access: false,
      price_from: 118000,
    });
    expect(done.stderr.trim().split('\n').sort()).toEqual(
      ['amenities', 'city', 'description.en', 'description.fr', 'location', 'title.fr'].map(
        (field) => `Warning: emptied ${field} of 1 listing: casa-marea`,
      ),
    );
    const required = await patch({ slug: 'casa-marea', name: null });
    expect(required.stderr).toContain('name null must be of type string');
  });

  it('replaces a list, and keeps the fields of photos that it names by address or id', async () => {
    const { photos = [] } = (await imports.stored('casa-marea')) ?? {};
    const [first, second] = photos;
    const added = 'https://images.example.com/a%20b.jpg';
    const replaced = await patch({
      slug: 'casa-marea',
      photos: [
        { url: second?.url, alt: { fr: 'Vue 2', es: null } },
        { id: first?.id, section: 'gallery' },
        { url: 'https://images.example.com/a b.jpg' },
      ],
    });
    expect(replaced.stderr).toBe('Warning: emptied photos.alt.es of 1 listing: casa-marea\n');
    expect(await imports.stored('casa-marea')).toMatchObject({
      hero_photo_id: first?.id,
      photos: [
        { ...second, alt: { en: 'View 2', fr: 'Vue 2' } },
        { ...first, section: 'gallery', web_sort_order: 21 },
        { url: added, alt: {}, section: 'gallery', web_visible: true, web_sort_order: 22 },
      ],
    });
    expectDone(await patch({ slug: 'casa-marea', hero_photo: added }));
    const now = await imports.stored('casa-marea');
    expect(now?.hero_photo_id).toBe(now?.photos[2]?.id);
    const gone = await patch({ slug: 'casa-marea', photos: [{ url: first?.url }] });
    expect(gone.stderr).toBe('Warning: emptied hero_photo of 1 listing: casa-marea\n');
    expect(await imports.stored('casa-marea')).toMatchObject({ hero_photo_id: null });
  });

  it.each([
    ['its own order', 20, '1 2', [10, 20]],
    ['one at the end', 20, '1 2 new', [10, 20, 21]],
    ['a photo between two', 20, '1 new 2', [10, 11, 20]],
    ['photos before the first one', 20, 'new other 1 2', [8, 9, 10, 20]],
    ['the last photo first', 20, '2 1', [20, 21]],
    ['no room between two', 20, '1 a b c d e f g h i j 2', [10, ...range(11, 10), 21]],
    ['the last 32-bit number first', 2 ** 31 - 1, '2 1', [9, 10]],
    ['one after the last 32-bit number', 2 ** 31 - 1, '1 2 new', [10, 11, 12]],
    ['one before the first 32-bit number', -(2 ** 31), 'new 2 1', [8, 9, 10]],
  ])('shows photos in the order of its list: %s', async (_, web_sort_order, names, numbers) => {
    const second = { id: photo(2).id, web_sort_order };
    await patch({ slug: 'casa-marea', photos: [{ id: photo(1).id }, second] });
    const photos = names
      .split(' ')
      .map((name) => ({ url: `https://images.example.com/${name}.jpg` }));
    expectDone(await patch({ slug: 'casa-marea', photos }));
    expect(await numbersOf('casa-marea')).toEqual(numbers);
    expect((await patch({ slug: 'casa-marea', photos })).stdout).toContain('Nothing changed');
  });

  it('keeps the numbers in it, equal ones until they are reordered, and finds a stored photo by its address under another id', async () => {
    const id = '00000000-0000-4000-8000-000000000009';
    const photos = [
      { url: photo(1).url, id, web_sort_order: 7 },
      { url: photo(2).url, web_sort_order: 3 },
    ];
    expectDone(await patch({ slug: 'casa-marea', photos, hero_photo_id: id }));
    const stored = [photo(1, { id, web_sort_order: 7 }), photo(2, { web_sort_order: 3 })];
    expect(await imports.stored('casa-marea')).toMatchObject({ photos: stored });
    const equal = photos.map(({ url }) => ({ url, web_sort_order: 5 }));
    expectDone(await patch({ slug: 'casa-marea', photos: equal }));
    const reversed = photos.map(({ url }) => ({ url })).reverse();
    expectDone(await patch({ slug: 'casa-marea', photos: reversed }));
    expect(await numbersOf('casa-marea')).toEqual([5, 6]);
  });

  it('takes two spellings of an address for one photo, and rejects it twice', async () => {
    const urls = [
      'HTTPS://Images.example.com/Can Roig é.jpg',
      'https://images.example.com/Can%20Roig%20%C3%A9.jpg',
    ];
    const [one, other] = urls.map((url) => ({ url }));
    expectDone(await patch({ slug: 'other', photos: [{ ...one, section: 'studio' }] }));
    const again = await patch({ slug: 'other', photos: [other] });
    expect(again.stdout).toContain('Nothing changed');
    const twice = await patch({ slug: 'other', photos: [one, other] });
    expect(twice.stderr).toMatch(
      /^properties\[0\] \(slug "other"\): photos\.1 "[0-9a-f-]{36}" repeats photos\.0$/m,
    );
  });

  it('takes blank texts for no texts', async () => {
    const empty = { type: 'doc', content: [{ type: 'paragraph' }] };
    const texts = { city: ' ', title: { fr: '' }, description: { en: '', fr: empty } };
    const done = await patch({ slug: 'casa-marea', ...texts });
    expect(done.stderr.trim().split('\n').sort()).toEqual(
      ['city', 'description.en', 'description.fr', 'title.fr'].map(
        (field) => `Warning: emptied ${field} of 1 listing: casa-marea`,
      ),
    );
    expect(await imports.stored('casa-marea')).toMatchObject({ city: null, description: {} });
    const blank = await patch({ slug: 'casa-marea', name: ' ' });
    expect(blank.stderr).toContain('properties[0] (slug "casa-marea"): name " " must not be blank');
  });

  it('compares unique features by their content and place: two may have one icon', async () => {
    const feature = (en: string) => ({ icon_slug: 'sun', label: { en } });
    const features = (...names: string[]) =>
      patch({ slug: 'casa-marea', unique_features: names.map(feature) });
    expectDone(await features('Morning', 'Evening'));
    expectDone(await features('Morning', 'Late'));
    const properties = [{ slug: 'casa-marea', unique_features: [feature('Late')] }];
    const removed = await imports.load({ properties }, '--patch', '--dry-run');
    expect(removed.stdout).toContain('casa-marea: 1 unique feature removed\n');
  });

  it('merges locations and amenities in the same way', async () => {
    expectDone(
      await imports.load(
        {
          locations: [
            { slug: 'bay', name: { fr: 'La baie' } },
            { slug: 'coast', name: { en: 'The coast' } },
          ],
          amenities: [
            { slug: 'wifi', label: { es: 'Red', fr: 'Réseau' } },
            { slug: 'pool', label: { en: 'Pool' } },
          ],
          properties: [{ slug: 'other', location: 'coast', amenities: ['pool', 'wifi'] }],
        },
        '--patch',
      ),
    );
    expect(await imports.stored('casa-marea')).toMatchObject({
      location: { id: BAY, slug: 'bay', name: { en: 'The bay', fr: 'La baie' } },
      amenities: [{ slug: 'wifi', label: { en: 'Wi-Fi', es: 'Red', fr: 'Réseau' } }],
    });
    expect(await imports.stored('other')).toMatchObject({
      location: { slug: 'coast' },
      amenities: [{ slug: 'pool' }, { slug: 'wifi' }],
    });
    const lacking = await imports.load(
      { locations: [{ slug: 'hills' }], amenities: [{ slug: 'sauna' }] },
      '--patch',
    );
    expect(lacking.stderr.trim().split('\n')).toEqual([
      'locations[0] (slug "hills"): no location is stored under this slug, and a new one needs name',
      'amenities[0] (slug "sauna"): no amenity is stored under this slug, and a new one needs label',
      '2 problems. Nothing was changed.',
    ]);
  });

  it('adds a new listing, which needs the required fields', async () => {
    const lacking = await patch({ slug: 'nueva', beds: 2 });
    expect(lacking.stderr.split('\n')[0]).toBe(
      'properties[0] (slug "nueva"): no listing is stored under this slug, and a new one needs name, status, display_order',
    );
    const stored = await patch({ slug: 'other', photos: [{ section: 'hero' }] });
    expect(stored.stderr).toContain('properties[0] (slug "other"): photos.0.url is required\n');
    const required = { slug: 'nueva', name: 'Nueva', status: 'listed', display_order: 1 };
    expectDone(await patch({ ...required, beds: 2, title: { en: 'New', fr: null } }));
    expect(await imports.stored('nueva')).toMatchObject({ beds: 2, title: { en: 'New' } });
  });

  it('finds every problem of the records together', async () => {
    const { stderr } = await patch(
      { slug: 'casa-marea', beds: 'two' },
      { hid: 'H-1', beds: 3 },
      { hid: 'H-2', slug: 'casa-marea' },
      { beds: 1 },
      { slug: 'casa-marea', bed: 1 },
      { slug: 'other', hero_photo: 'https://images.example.com/9.jpg' },
      { slug: 'No Slug' },
    );
    expect(stderr.trim().split('\n')).toEqual([
      'properties[0] (slug "casa-marea"): beds "two" must be of type number',
      'properties[3]: names no listing: give its slug, hid or id',
      'properties[4] (slug "casa-marea"): bed is not a field of this resource: did you mean beds?',
      expect.stringMatching(
        /^properties\[6\] \(slug "No Slug"\): slug "No Slug" must be lower-case /,
      ),
      expect.stringMatching(
        /^properties\[1\] \(hid "H-1"\): hid "H-1" repeats the id of properties\[0\]/,
      ),
      expect.stringMatching(/^slug repeats the slug of properties\[0\]/),
      'properties[5] (slug "other"): slug "other" repeats the id of properties[2] (slug "casa-marea")',
      'properties[5] (slug "other"): hero_photo "https://images.example.com/9.jpg" must be the address of one of the photos of this listing',
      expect.stringMatching(/problems/),
    ]);
  });

  it('asks which listing is meant by a hid that several have', async () => {
    expectDone(await imports.load({ properties: [propertyOf({ slug: 'double', hid: 'H-1' })] }));
    const unclear = await patch({ hid: 'H-1', beds: 3 });
    expect(unclear.stderr).toContain(
      'properties[0] (hid "H-1"): hid "H-1" is the hid of several stored listings: name one by its slug or id',
    );
    expectDone(await patch({ hid: 'H-1', slug: 'double', beds: 3 }));
    expect(await imports.stored('double')).toMatchObject({ beds: 3 });
    expect(await imports.stored('casa-marea')).toMatchObject({ beds: null });
  });

  it('of docs/guides/listings-file.md is accepted', async () => {
    const [example = ''] = codeBlocksOf('docs/guides/listings-file.md', 'json');
    imports.clear();
    expectDone(await imports.load(readFileSync('docs/examples/listings.json', 'utf8')));
    const others = ['h-2002', 'casa-ginebrera'].map((slug) =>
      propertyOf({ slug, hid: slug.toUpperCase() }),
    );
    expectDone(await imports.load({ properties: others }));
    expect((await imports.load(example, '--patch')).code).toBe(0);
    const title = { en: 'House above the harbour', es: 'Casa sobre el puerto' };
    expect(await imports.stored('casa-marea')).toMatchObject({ price_from: 121000, title });
  });
});
