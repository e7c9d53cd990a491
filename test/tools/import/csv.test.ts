/** A listings file as a spreadsheet. */

import { afterEach, beforeEach, expect, it } from 'vitest';
import { fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
beforeEach(async () => {
  const title = { en: 'House', fr: 'Maison' };
  const home = propertyOf({ slug: 'casa-marea', hid: 'H-1', title, price_from: 1 });
  await imports.load(fileOf([home, propertyOf({ slug: 'other', price_from: 2 })]));
});
afterEach(() => imports.clear());

const load = async (sheet: string) => {
  const done = await imports.loadSheet(sheet);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  return done.stdout;
};

it('changes the fields of its cells, and an empty cell changes nothing', async () => {
  const before = await imports.stored('casa-marea');
  await load(
    'slug,price_from,title.en,is_early_access,location,amenities\n' +
      'casa-marea,121000.5,"The house, ""by"" the sea",YES,bay,\n' +
      ',,,,,\n' +
      '\n' +
      'other, ,,no,,wifi\n',
  );
  expect(await imports.stored('casa-marea')).toEqual({
    ...before,
    price_from: 121000.5,
    title: { en: 'The house, "by" the sea', fr: 'Maison' },
    is_early_access: true,
    location: { id: expect.any(String), slug: 'bay', name: { en: 'The bay' } },
  });
  const other = { price_from: 2, amenities: [{ slug: 'wifi' }] };
  expect(await imports.stored('other')).toMatchObject(other);
});

it('may have what Excel writes', async () => {
  await load(
    '\ufeffsep=;\r\nHid;BEDS;Description.ES;Slug;status;type;location;amenities\r\n' +
      'H-1;4;"Una casa;\r\ncon terraza";Casa-Marea;Sold_Out;Beach;Bay;WiFi\n' +
      ';2;;other;;;;\r',
  );
  expect(await imports.stored('casa-marea')).toMatchObject({
    beds: 4,
    description: { es: 'Una casa;\r\ncon terraza' },
    status: 'sold_out',
    type: 'beach',
    location: { slug: 'bay' },
    amenities: [{ slug: 'wifi' }],
  });
  expect(await imports.stored('other')).toMatchObject({ beds: 2 });
});

it('gives photos by their addresses, and one of them as hero', async () => {
  const sheet =
    'slug,photos,hero_photo\n' +
    `casa-marea,"https://a.example/Casa d'Or 1.jpg | https://a.example/2.jpg\nhttps://a.example/3.jpg",https://a.example/2.jpg\n`;
  await load(sheet);
  const stored = await imports.stored('casa-marea');
  expect(stored?.photos).toMatchObject([
    { url: 'https://a.example/Casa%20d%27Or%201.jpg', section: 'gallery', web_sort_order: 1 },
    { url: 'https://a.example/2.jpg', web_visible: true, web_sort_order: 2 },
    { url: 'https://a.example/3.jpg', alt: {}, web_sort_order: 3 },
  ]);
  expect(stored?.hero_photo_id).toBe(stored?.photos[1]?.id);
  expect(await load(sheet)).toContain('Nothing changed');
});

it('makes its first photo the hero photo of a home without one, and says so', async () => {
  const sheet = (...photos: string[]) => `slug,photos\ncasa-marea,${photos.join('|')}\n`;
  const [first, second] = ['https://a.example/1.jpg', 'https://a.example/2.jpg'];
  const line =
    'Worth a look: the first photo of the sheet is its hero photo now: 1 listing: casa-marea\n';
  expect(await load(sheet(first, second))).toContain(line);
  const stored = await imports.stored('casa-marea');
  expect(stored?.hero_photo_id).toBe(stored?.photos[0]?.id);
  expect(await load(sheet(second, first))).not.toContain(line);
  const { hero_photo_id } = (await imports.stored('casa-marea')) ?? {};
  expect(hero_photo_id).toBe(stored?.hero_photo_id);
  await imports.load({ properties: [{ slug: 'casa-marea', hero_photo: null }] }, '--patch');
  expect(await load(sheet(second, first))).toContain('Nothing changed');
  const photos = [{ url: first, section: 'hero' }];
  await imports.load({ properties: [{ slug: 'casa-marea', photos }] }, '--patch');
  expect(await load(sheet(second, first))).not.toContain(line);
});

it('makes the first photo on the web the hero photo, and none if no photo is', async () => {
  const url = (name: string) => `https://a.example/${name}.jpg`;
  const photos = ['plan', 'pool'].map((name) => ({ url: url(name), web_visible: name === 'pool' }));
  const home = { slug: 'casa-marea', photos, hero_photo: null };
  await imports.load({ properties: [home] }, '--patch');
  await load(`slug,photos\ncasa-marea,${url('plan')}|${url('pool')}|${url('garden')}\n`);
  const stored = await imports.stored('casa-marea');
  expect(stored?.photos.find(({ id }) => id === stored.hero_photo_id)?.url).toBe(url('pool'));

  await imports.load({ properties: [{ ...home, photos: photos.slice(0, 1) }] }, '--patch');
  await load(`slug,photos\ncasa-marea,${url('plan')}\n`);
  expect((await imports.stored('casa-marea'))?.hero_photo_id).toBeNull();
});

it('has decimal commas beside semicolons, and booleans in the languages of spreadsheets', async () => {
  await load('slug;latitude;longitude;size\ncasa-marea;39,7486;2,6472;85,5\n');
  expect(await imports.stored('casa-marea')).toMatchObject({
    latitude: 39.7486,
    longitude: 2.6472,
    size: 85.5,
  });
  for (const [word, value] of [
    ['VERDADERO', true],
    ['falso', false],
    ['Sí', true],
    ['no', false],
    ['VRAI', true],
    ['FAUX', false],
    ['oui', true],
    ['non', false],
  ] as const) {
    await load(`slug,is_early_access\ncasa-marea,${word}\n`);
    expect((await imports.stored('casa-marea'))?.is_early_access, word).toBe(value);
  }
});

it('of an export keeps a hero photo whose address another photo has too', async () => {
  const photos = ['1', '2'].map((end) => ({
    id: `00000000-0000-4000-8000-00000000000${end}`,
    url: 'https://a.example/1.jpg',
  }));
  const home = { slug: 'casa-marea', photos, hero_photo_id: photos[1]?.id };
  expect((await imports.load({ properties: [home] }, '--patch')).code).toBe(0);
  expect(await load(await imports.exported(','))).toContain('Nothing changed');
});
