/** A workbook: what its sheets, columns and cells change. */

import { afterEach, beforeEach, expect, it } from 'vitest';
import { fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { editWorkbook, formulaCell, sheetsOf, workbook } from '../../support/node/workbook.ts';

const imports = openMemoryImports();
const PHOTO = (name: string) => `https://a.example/${name}.jpg`;
const RICH = {
  type: 'doc',
  content: [
    { type: 'heading', content: [{ type: 'text', text: 'The house' }] },
    {
      type: 'paragraph',
      content: [{ type: 'text', text: 'By the sea', marks: [{ type: 'bold' }] }],
    },
  ],
};
const marea = propertyOf({
  slug: 'casa-marea',
  hid: 'H-1',
  title: { en: 'House', fr: 'Maison' },
  description: { en: RICH, es: 'Una casa' },
  city: 'Deià',
  price_from: 1,
  latitude: 39.74861234567893,
  location: 'bay',
  amenities: ['wifi'],
  photos: ['b', 'a'].map((name, at) => ({
    url: PHOTO(name),
    alt: { en: `Photo ${name}` },
    section: 'studio',
    web_visible: true,
    web_sort_order: 20 - 10 * at,
  })),
  hero_photo: PHOTO('b'),
  videos: [{ url: PHOTO('film'), type: 'hero', web_visible: true, sort_order: 1 }],
  unique_features: [
    { icon_slug: 'sea', label: { en: 'Sea view' } },
    { icon_slug: 'sea', label: { en: 'Sea wall', fr: 'Digue' } },
  ],
});
// Few of the public listings change, so that the guards let them.
const others = Array.from({ length: 9 }, (_, at) =>
  propertyOf({ slug: `other-${at}`, city: 'Palma' }),
);

beforeEach(async () => {
  const done = await imports.load(fileOf([marea, ...others]));
  expect(done).toMatchObject({ code: 0, stderr: '' });
});
afterEach(() => imports.clear());

type Sheets = Parameters<typeof workbook>[0];
const load = async (sheets: Sheets, ...options: string[]) => {
  const done = await imports.load(await workbook(sheets), ...options);
  expect(done.code, done.stderr).toBe(0);
  return done;
};
const before = async () => (await imports.stored('casa-marea')) ?? expect.fail();

it('changes the columns that it has, and an empty cell empties its field with a warning', async () => {
  const old = await before();
  const { stderr } = await load(
    sheetsOf(`
slug | price_from | title.en | title.fr | city | is_early_access | location | #mine
casa-marea | 121000.5 | The house, "by" the sea |  |  | YES |  | 3
 |  |  | " " | "\\u200b" |  |  | an empty row
other-1 | 2 |  |  | Palma | true | "Bay " |`),
  );
  expect(await before()).toEqual({
    ...old,
    price_from: 121000.5,
    title: { en: 'The house, "by" the sea' },
    city: null,
    is_early_access: true,
    location: null,
  });
  expect(await imports.stored('other-1')).toMatchObject({
    price_from: 2,
    city: 'Palma',
    is_early_access: true,
    location: { slug: 'bay' },
  });
  expect(stderr).toBe(
    'Warning: emptied title.fr of 1 listing: casa-marea\n' +
      'Warning: emptied city of 1 listing: casa-marea\n' +
      'Warning: emptied location of 1 listing: casa-marea\n',
  );
});

it('reads headers, keys and words in any case, and without what is invisible at their ends', async () => {
  await load({
    ' Listings ': [
      ['\u200bHID ', 'Slug', 'STATUS', 'type', 'amenities', 'city', 'beds'],
      ['H-1', ' Casa-Marea\u200b', 'Sold_Out', ' beach', 'WiFi;', 123, 4],
      [null, 'other-2', 'listed', null, 'wifi\nwifi2|, wifi3', ' two  spaces ', null],
    ],
    amenities: [
      ['slug', 'label.en'],
      ['wifi2', 'Faster'],
      ['wifi3', 'Fastest'],
    ],
  });
  expect(await before()).toMatchObject({
    status: 'sold_out',
    type: 'beach',
    amenities: [{ slug: 'wifi' }],
    city: '123',
    beds: 4,
  });
  expect(await imports.stored('other-2')).toMatchObject({
    city: ' two  spaces ',
    amenities: [{ slug: 'wifi' }, { slug: 'wifi2' }, { slug: 'wifi3' }],
  });
});

it('counts a formula by its value, and reads hidden rows', async () => {
  const cells = new Map([
    ['1,1', formulaCell('100*2', 200)],
    ['1,2', formulaCell('"a"&"b"', 'ab')],
  ]);
  const rows = [
    ['slug', 'price_from', 'city'],
    ['casa-marea', null, null],
  ];
  const bytes = await workbook(
    { listings: rows },
    { listings: { cells, rowDefs: new Map([[1, { hidden: true }]]) } },
  );
  expect(await imports.load(bytes)).toMatchObject({ code: 0 });
  expect(await before()).toMatchObject({ price_from: 200, city: 'ab' });
});

it('keeps what a cell cannot show while the cell shows it: formatting, digits, a long text', async () => {
  const long = 'All of it. '.repeat(4_000);
  await imports.load(
    { properties: [{ slug: 'casa-marea', location_text: { en: long } }] },
    '--patch',
  );
  const old = await before();
  const exported = await imports.exportedWorkbook();
  expect((await imports.load(exported)).stdout).toContain('Nothing changed');
  const edited = await editWorkbook(exported, ({ listings = [] }) => {
    const [row = {}] = listings.filter(({ slug }) => slug === 'casa-marea');
    expect(row['description.en']).toBe('The house\n\nBy the sea');
    expect(row['location_text.en']).toHaveLength(32_767);
    row.price_from = 2;
  });
  expect(await imports.load(edited)).toMatchObject({ code: 0, stderr: '' });
  expect(await before()).toEqual({ ...old, price_from: 2 });

  await load(
    sheetsOf(`
slug | description.en
casa-marea | The house`),
  );
  expect(await before()).toMatchObject({ description: { en: 'The house', es: 'Una casa' } });
});

it('the rows of a listing are its photos, in the order of their numbers', async () => {
  const old = await before();
  await load(
    sheetsOf(`
== photos
listing | order | url | alt.en | section | visible | hero
Casa-Marea | 3 | ${PHOTO('b')} | Photo b | studio | yes |
casa-marea | 1 | ${PHOTO("d'or")} | New |  |  |
casa-marea | 2 | ${PHOTO('a')} |  | gallery | no | yes`),
  );
  const { photos, hero_photo_id, ...rest } = await before();
  const [b, a] = old.photos;
  expect(photos).toEqual([
    {
      id: expect.any(String),
      url: PHOTO('d%27or'),
      alt: { en: 'New' },
      section: 'gallery',
      web_visible: true,
      web_sort_order: 1,
    },
    { ...a, alt: {}, section: 'gallery', web_visible: false, web_sort_order: 2 },
    { ...b, web_sort_order: 3 },
  ]);
  expect(hero_photo_id).toBe(a?.id);
  const { photos: _, hero_photo_id: __, ...oldRest } = old;
  expect(rest).toEqual(oldRest);
});

it('without the column order, photos are in the order of their rows, and keep what has no column', async () => {
  await load(
    sheetsOf(`
== photos
listing | url
casa-marea | ${PHOTO('b')}
casa-marea | ${PHOTO('a')}`),
  );
  const { photos, hero_photo_id } = await before();
  expect(photos).toMatchObject([
    { url: PHOTO('b'), alt: { en: 'Photo b' }, web_sort_order: 20 },
    { url: PHOTO('a'), alt: { en: 'Photo a' }, web_sort_order: 21 },
  ]);
  expect(hero_photo_id).toBe(photos[0]?.id);
});

it('features and videos are lists too', async () => {
  const [film] = (await before()).videos;
  await load(
    sheetsOf(`
== videos
listing | url | type
casa-marea | ${PHOTO('new')} | tour
casa-marea | ${PHOTO('film')} | hero
== features
listing | icon_slug | label.en | order
casa-marea | sea | Sea wall | 2
casa-marea | pool | Pool | 1`),
  );
  const { videos, unique_features } = await before();
  expect(videos).toMatchObject([
    { url: PHOTO('new'), web_visible: true },
    { id: film?.id, type: 'hero' },
  ]);
  expect(unique_features).toEqual([
    { icon_slug: 'pool', label: { en: 'Pool' } },
    { icon_slug: 'sea', label: { en: 'Sea wall', fr: 'Digue' } },
  ]);
});

it('a listing that listings names and that has no photo row gets no photo; another one keeps its own', async () => {
  const done = await load(
    sheetsOf(`
slug
casa-marea
== photos
listing | url
other-3 | ${PHOTO('x')}`),
  );
  expect(done.stderr).toContain('Warning: emptied photos of 1 listing: casa-marea\n');
  expect(await before()).toMatchObject({
    photos: [],
    hero_photo_id: null,
    videos: [{ type: 'hero' }],
  });
  expect(await imports.stored('other-3')).toMatchObject({
    photos: [{ url: PHOTO('x') }],
    city: 'Palma',
  });
});

it('a renamed listing keeps its photos, under its former and its new slug', async () => {
  const { id, photos } = await before();
  for (const listing of ['casa-marea', 'casa-nueva']) {
    await load(
      sheetsOf(`
slug | id
casa-nueva | ${id}
== photos
listing | url
${listing} | ${PHOTO('a')}
${listing} | ${PHOTO('b')}`),
    );
    expect((await imports.stored('casa-nueva'))?.photos).toEqual(photos);
  }
});

it('renames a location and an amenity, and adds them with a new listing', async () => {
  await load(
    sheetsOf(`
== locations
slug | name.en | name.es
bay | The small bay | La cala
hill | The hill |
== amenities
slug | label.en | label.es | label.fr
wifi | Internet | Wifi | Wi-Fi
sauna | Sauna |  |
== listings
slug | name | status | display_order | location | amenities
casa-alta | Casa Alta | listed | 2 | hill | sauna, wifi
== photos
listing | url | alt.es
casa-alta | ${PHOTO('alta')} | La casa`),
  );
  expect(await before()).toMatchObject({
    location: { slug: 'bay', name: { en: 'The small bay', es: 'La cala' } },
    amenities: [{ slug: 'wifi', label: { en: 'Internet', es: 'Wifi', fr: 'Wi-Fi' } }],
  });
  expect(await imports.stored('casa-alta')).toMatchObject({
    location: { slug: 'hill' },
    amenities: [{ slug: 'sauna' }, { slug: 'wifi' }],
    photos: [{ url: PHOTO('alta'), alt: { es: 'La casa' }, section: 'gallery', web_visible: true }],
    hero_photo_id: null,
  });
});

it('locations that swap or change their slugs keep their listings, also when it is imported again', async () => {
  await load(
    sheetsOf(`
== locations
slug | name.en
hill | The hill
port | The port
== listings
slug | location
other-1 | hill
other-2 | port`),
  );
  const placeOf = async (slug: string) => (await imports.stored(slug))?.location;
  const edited = await editWorkbook(
    await imports.exportedWorkbook(),
    ({ locations = [], listings = [] }) => {
      const slugs: Record<string, string> = { bay: 'cove', hill: 'port', port: 'hill' };
      for (const row of locations) row.slug = slugs[String(row.slug)] ?? null;
      // The drop-down of another program may still have the former slug.
      for (const row of listings) if (row.slug === 'other-3') row.location = 'bay';
    },
  );
  for (const time of [1, 2]) {
    const done = await imports.load(edited);
    expect(done, `time ${time}`).toMatchObject({ code: 0, stderr: '' });
    expect(await placeOf('casa-marea')).toMatchObject({ slug: 'cove', name: { en: 'The bay' } });
    expect(await placeOf('other-1')).toMatchObject({ slug: 'port', name: { en: 'The hill' } });
    expect(await placeOf('other-2')).toMatchObject({ slug: 'hill', name: { en: 'The port' } });
    expect(await placeOf('other-3')).toMatchObject({ slug: 'cove' });
  }
  imports.clear();
  // Another database: here no record was removed since the export.
  imports.rows(`UPDATE database_identity SET lineage = 'other'`);
  expect(await imports.load(edited)).toMatchObject({ code: 0, stderr: '' });
  expect(await placeOf('other-1')).toMatchObject({ slug: 'port', name: { en: 'The hill' } });
});

it('names and ignores unknown sheets, and needs listings for --prune', async () => {
  const rows = [['slug'], ['casa-marea']];
  const { stdout } = await load({
    listings: rows,
    'read me': [['x']],
    Photo: [['a']],
    Notes: [['b']],
  });
  expect(stdout).toContain(
    'Ignored: the sheet "Photo", did you mean photos?\nIgnored: the sheet "Notes"\n',
  );
  expect((await load({ listings: rows }, '--prune', '--many', '--dry-run')).stdout).toContain(
    'other-8',
  );
  const photos = await workbook(
    sheetsOf(`
== photos
listing | url`),
  );
  for (const [bytes, option, sentence] of [
    [photos, '--prune', '--prune needs the sheet listings, which this workbook does not have'],
    [photos, '--patch', '--patch is for JSON: a workbook changes only the columns that it has'],
  ] as const) {
    const stderr = `${sentence}\nNothing was changed.\n`;
    expect(await imports.load(bytes, option)).toEqual({ code: 2, stdout: '', stderr });
  }
});

it('--prune hides a listing that only the sheet photos names', async () => {
  const [row] = others;
  await load(
    sheetsOf(`
== photos
listing | url
other-0 | ${PHOTO('x')}`),
  );
  const bytes = await workbook({
    listings: [['slug'], ['casa-marea'], ...others.slice(1).map(({ slug }) => [slug])],
    photos: [
      ['listing', 'url', 'alt.en'],
      ['casa-marea', PHOTO('a'), 'Photo a'],
      [row?.slug ?? '', PHOTO('x'), 'New'],
    ],
  });
  const { code, stdout, stderr } = await imports.load(bytes, '--prune');
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('Hidden, because the file does not name them: 1 listing\n');
  expect(stdout).toContain(
    'other-0: status "listed" → "hidden"; photo x.jpg: alt.en added: "New"\n',
  );
  expect(await imports.stored('other-0')).toMatchObject({
    status: 'hidden',
    photos: [{ alt: { en: 'New' } }],
  });
});

it('rejects a workbook that would empty a field of more than a fifth of the listings', async () => {
  const rows = [['slug', 'city'], ...others.map(({ slug }) => [slug, null])];
  const bytes = await workbook({ listings: rows });
  const { code, stderr } = await imports.load(bytes);
  expect(code).toBe(1);
  expect(stderr).toContain('would empty something of 9 of the 10 public listings');
  expect(await imports.load(bytes, '--many')).toMatchObject({ code: 0 });
});
