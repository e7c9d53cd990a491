/** `--patch` and `set-status`: only the fields in the file are changed. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BAY, fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const urlOf = (name: string | number) => `https://images.example.com/${name}.jpg`;
const photo = (number: number, fields: object = {}) => ({
  id: `00000000-0000-4000-8000-0000000000a${number}`,
  url: urlOf(number),
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
  const other = propertyOf({ slug: 'other', hid: 'H-2', status: 'hidden' });
  await imports.load(fileOf([propertyOf(whole), other]));
});
afterEach(() => imports.clear());

/** Imports a patch, which may have warnings. */
async function patch(...properties: object[]) {
  const done = await imports.load({ properties }, '--patch');
  expect(done.code).toBe(0);
  return done;
}

/** Patches the home, and returns it as it is stored then. */
async function patched(fields: object) {
  await patch({ slug: 'casa-marea', ...fields });
  return imports.stored('casa-marea');
}

describe('a patch', () => {
  it('changes only its fields, in the listing with its slug, hid or id, whose other keys it sets', async () => {
    const before = await imports.stored('casa-marea');
    const change = { slug: 'casa-marea', price_from: 121000, title: { fr: 'La maison' } };
    expect((await patch(change)).stdout).toContain('1 listing: 0 added, 1 changed, 0 unchanged');
    const title = { en: 'House', es: 'Casa', fr: 'La maison' };
    const after = { ...before, price_from: 121000, title };
    expect(await imports.stored('casa-marea')).toEqual(after);
    expect((await patch(change)).stdout).toContain('Nothing changed');
    await patch({ hid: 'H-1', slug: 'casa-nueva' });
    await patch({ id: before?.id, hid: 'H-9' });
    expect(await imports.stored('casa-nueva')).toEqual({
      ...after,
      slug: 'casa-nueva',
      hid: 'H-9',
    });
    await imports.load({ properties: [propertyOf({ slug: 'double', hid: 'H-8' })] });
    imports.repeatHid('double', 'H-9');
    await patch({ hid: 'H-9', slug: 'double', beds: 3 });
    expect(await imports.stored('double')).toMatchObject({ beds: 3 });
    expect(await imports.stored('casa-nueva')).toMatchObject({ beds: null });
  });

  it('empties a field and takes a language away by null, with a warning', async () => {
    const lists = { description: null, amenities: null, location: null };
    const fields = { city: null, title: { fr: null }, is_early_access: null, ...lists };
    const { stderr } = await patch({ slug: 'casa-marea', ...fields });
    expect(await imports.stored('casa-marea')).toMatchObject({
      city: null,
      title: { en: 'House', es: 'Casa' },
      description: {},
      amenities: [],
      location: null,
      is_early_access: false,
      price_from: 118000,
    });
    expect(stderr.trim().split('\n').sort()).toEqual(
      ['amenities', 'city', 'description.en', 'description.fr', 'location', 'title.fr'].map(
        (field) => `Warning: emptied ${field} of 1 listing: casa-marea`,
      ),
    );
  });

  it('replaces a list, and keeps the fields of photos that it names by address or id', async () => {
    const [first, second] = (await imports.stored('casa-marea'))?.photos ?? [];
    const { stderr } = await patch({
      slug: 'casa-marea',
      photos: [
        { url: second?.url.replace('https', 'HTTPS'), alt: { fr: 'Vue 2', es: null } },
        { id: first?.id.toUpperCase(), section: 'gallery' },
        { url: urlOf('a b') },
      ],
    });
    expect(stderr).toBe('Warning: emptied photos.alt.es of 1 listing: casa-marea\n');
    expect(await imports.stored('casa-marea')).toMatchObject({
      hero_photo_id: first?.id,
      photos: [
        { ...second, alt: { en: 'View 2', fr: 'Vue 2' } },
        { ...first, section: 'gallery', web_sort_order: 21 },
        { url: urlOf('a%20b'), alt: {}, section: 'gallery', web_visible: true, web_sort_order: 22 },
      ],
    });
    const now = await patched({ hero_photo: urlOf('a b') });
    expect(now?.hero_photo_id).toBe(now?.photos[2]?.id);
    expect(await patched({ photos: [{ url: first?.url }] })).toMatchObject({ hero_photo_id: null });
  });

  it.each([
    ['a photo between two', 20, '1 new 2', [10, 11, 20]],
    ['no room between two', 11, '1 new 2', [10, 11, 12]],
    ['a new photo first', 20, 'new 2 1', [1, 20, 21]],
    ['the last photo first', 20, '2 1', [20, 21]],
    ['the last 32-bit number first', 2 ** 31 - 1, '2 1', [2 ** 31 - 2, 2 ** 31 - 1]],
    ['one after the last 32-bit number', 2 ** 31 - 1, '1 2 new', [10, 2 ** 31 - 2, 2 ** 31 - 1]],
  ])('shows photos in the order of its list: %s', async (_, web_sort_order, names, numbers) => {
    await patched({ photos: [{ id: photo(1).id }, { id: photo(2).id, web_sort_order }] });
    const photos = names.split(' ').map((name) => ({ url: urlOf(name) }));
    const now = await patched({ photos });
    expect(now?.photos.map((each) => each.web_sort_order)).toEqual(numbers);
    expect((await patch({ slug: 'casa-marea', photos })).stdout).toContain('Nothing changed');
  });

  it('shows photos in the order of its list when it numbers some of them only', async () => {
    const photos = [
      { url: urlOf('new'), web_sort_order: 50 },
      { url: photo(2).url, web_sort_order: 7 },
      { url: photo(1).url },
    ];
    const now = await patched({ photos });
    const shown = now?.photos.toSorted((a, b) => a.web_sort_order - b.web_sort_order);
    expect(shown?.map(({ url }) => url)).toEqual(photos.map(({ url }) => url));
    expect(now?.photos.map((each) => each.web_sort_order)).toEqual([50, 51, 52]);
  });

  it('keeps the numbers in it, and finds a stored photo by its address under another id', async () => {
    const id = '00000000-0000-4000-8000-000000000009';
    const photos = [
      { url: photo(1).url, id, web_sort_order: 7 },
      { url: photo(2).url, web_sort_order: 3 },
    ];
    expect(await patched({ photos, hero_photo_id: id })).toMatchObject({
      photos: [photo(1, { id, web_sort_order: 7 }), photo(2, { web_sort_order: 3 })],
    });
  });

  it('compares unique features by their content and place: two may have one icon', async () => {
    const feature = (en: string) => ({ icon_slug: 'sun', label: { en } });
    await patched({ unique_features: ['Morning', 'Late'].map(feature) });
    const properties = [{ slug: 'casa-marea', unique_features: [feature('Late')] }];
    const removed = await imports.load({ properties }, '--patch', '--dry-run');
    expect(removed.stdout).toContain('casa-marea: 1 unique feature removed\n');
  });

  it('merges locations and amenities in the same way, and adds listings', async () => {
    const added = { slug: 'nueva', name: 'Nueva', status: 'listed', display_order: 1, hid: null };
    const file = {
      locations: [
        { slug: 'bay', name: { fr: 'La baie' } },
        { slug: 'coast', name: { en: 'The coast' } },
      ],
      amenities: [
        { slug: 'wifi', label: { es: 'Red', fr: 'Réseau' } },
        { slug: 'pool', label: { en: 'Pool' } },
      ],
      properties: [{ ...added, location: 'coast', amenities: ['pool', 'wifi'] }],
    };
    expect(await imports.load(file, '--patch')).toMatchObject({ code: 0, stderr: '' });
    expect(await imports.stored('casa-marea')).toMatchObject({
      location: { id: BAY, slug: 'bay', name: { en: 'The bay', fr: 'La baie' } },
      amenities: [{ slug: 'wifi', label: { en: 'Wi-Fi', es: 'Red', fr: 'Réseau' } }],
    });
    expect(await imports.stored('nueva')).toMatchObject({
      location: { slug: 'coast' },
      amenities: [{ slug: 'pool' }, { slug: 'wifi' }],
    });
    const locations = [{ slug: 'coast', name: null }];
    await imports.load({ locations, amenities: [{ slug: 'pool', label: null }] }, '--patch');
    const emptied = await imports.stored('nueva');
    expect([emptied?.location?.name, emptied?.amenities[0]?.label]).toEqual([{}, {}]);
  });
});

it('set-status sets the status of listings, one of them named twice, and nothing else', async () => {
  const sources = () =>
    imports.rows(`SELECT json_remove(source, '$.status') AS source FROM properties ORDER BY id`);
  const before = sources();
  const done = await imports.setStatus('hidden', 'casa-marea', 'casa-marea', 'other');
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout).toContain('2 listings: 0 added, 1 changed, 1 unchanged\n');
  expect(await imports.stored('casa-marea')).toMatchObject({ status: 'hidden' });
  expect(sources()).toEqual(before);
});
