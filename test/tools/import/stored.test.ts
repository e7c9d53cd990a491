/**
 * File → what is stored, in each form of file: a whole one, a patch, and a workbook that an editor
 * has made. Nothing else changes, and the same import again changes nothing.
 */

import { beforeEach, expect, it } from 'vitest';
import { openDesk } from '../../support/node/desk.ts';
import { makeFile, makeProperty } from '../../support/node/listings-file.ts';
import type { Finished } from '../../support/node/project-copy.ts';
import { formulaCell, parseSheets, toSheets, workbook } from '../../support/node/workbook.ts';

const imports = openDesk();
const urlOf = (name: string | number) => `https://images.example.com/${name}.jpg`;
const photo = (number: number, fields: object = {}) => ({
  id: `00000000-0000-4000-8000-0000000000a${number}`,
  url: urlOf(number),
  alt: { en: `View ${number}`, es: `Vista ${number}` },
  section: 'studio',
  web_visible: true,
  web_sort_order: number * 10,
  ...fields,
});
const video = { url: urlOf('film'), type: 'hero', web_visible: true, sort_order: 1 };
const seaWall = { icon_slug: 'sea', label: { en: 'Sea wall', fr: 'Digue' } };
const wifi = { slug: 'wifi', label: { en: 'Wi-Fi', es: 'Wifi', fr: 'Wi-Fi' } };
const marea = makeProperty({
  slug: 'casa-marea',
  hid: 'M-1',
  title: { en: 'House', es: 'Casa', fr: 'Maison' },
  description: { en: 'Four rooms', fr: 'Quatre pièces' },
  city: 'Deià',
  price_from: 118000,
  is_early_access: true,
  location: 'bay',
  amenities: ['wifi'],
  photos: [photo(1), photo(2)],
  hero_photo_id: photo(1).id,
  videos: [video],
  unique_features: [{ icon_slug: 'sea', label: { en: 'Sea view' } }, seaWall],
});
// Few of the public listings change, so that the guard lets them.
const others = Array.from({ length: 19 }, (_, at) =>
  makeProperty({ slug: `other-${at}`, city: 'Palma' }),
);

beforeEach(async () => {
  imports.clear();
  const done = await imports.load(makeFile([marea, ...others]));
  expect(done).toMatchObject({ code: 0, stderr: '' });
});

type Run = () => Promise<Finished>;
const whole =
  (...properties: object[]): Run =>
  () =>
    imports.load({ properties });
const patch =
  (...properties: object[]): Run =>
  () =>
    imports.load({ properties }, '--patch');
const load =
  (file: unknown, ...options: string[]): Run =>
  () =>
    imports.load(file, ...options);
const sheets =
  (text: string, more: Parameters<typeof workbook>[1] = {}): Run =>
  async () =>
    imports.load(
      Object.keys(more).length === 0
        ? toSheets(parseSheets(text))
        : await workbook(parseSheets(text), more),
    );

const added = { slug: 'new', name: 'New', status: 'listed', display_order: 1 };
const newPhoto = { url: urlOf(1), section: 'hero', web_visible: true, web_sort_order: 1 };
const numbered = (url: string, web_sort_order: number, fields = {}) =>
  expect.objectContaining({ url: urlOf(url), web_sort_order, ...fields });

const URLS = [
  ['HTTPS://IMAGES.Example.com:443/a/../é.jpg', 'https://images.example.com/%C3%A9.jpg'],
  [`https://a.example/Casa d'Or 1.jpg\u00a0`, 'https://a.example/Casa%20d%27Or%201.jpg'],
  ['https://a.example/"onload="x', 'https://a.example/%22onload=%22x'],
  [`https://a.example/?q='#'`, 'https://a.example/?q=%27#%27'],
  ['https://a.example/<script>', 'https://a.example/%3Cscript%3E'],
];
const widest = '\u{1f600}'.repeat(100_000);
const nested = JSON.parse(`${'['.repeat(127)}"x"${']'.repeat(127)}`);
const features = Array(1_000).fill({ icon_slug: 'sun', label: {} });
const formulas = new Map([
  ['1,1', formulaCell('100*2', 200)],
  ['1,2', formulaCell('"a"&"b"', 'ab')],
]);

const named = (name: string | number, web_sort_order?: number) => ({
  url: urlOf(name),
  web_sort_order,
});
const LAST = 2 ** 31 - 1;
/** The photos of a patch, and the numbers that they have then. Photo 1 had 10 before, and photo 2 had 20. */
const ORDERS: [what: string, photos: ReturnType<typeof named>[], numbers: number[]][] = [
  ['a photo between two', [named(1), named('new'), named(2)], [10, 11, 20]],
  ['no room between two', [named(1), named('new'), named(2, 11)], [10, 11, 12]],
  ['a new photo first', [named('new'), named(2), named(1)], [1, 20, 21]],
  ['the last photo first', [named(2), named(1)], [20, 21]],
  ['it numbers some of them only', [named('new', 50), named(2, 7), named(1)], [50, 51, 52]],
  ['the last 32-bit number first', [named(2, LAST), named(1)], [LAST - 1, LAST]],
  ['one after it', [named(1), named(2, LAST), named('new')], [10, LAST - 1, LAST]],
];

/** The file, the fields of stored listings that it changes, by their slugs before, and its warnings. */
const FILES: [title: string, run: Run, stored: Record<string, object>, emptied?: string[]][] = [
  [
    // The ids are computed by Python's uuid.uuid5 under dab30d73-9ba7-4be9-995d-d83048c8cdd4.
    'a file without ids gets them from hid, slug and URL, the same for ever',
    load({
      locations: [{ slug: 'mallorca', name: {} }],
      properties: [
        { ...added, hid: 'H-1', photos: [newPhoto], videos: [{ ...video, url: urlOf(1) }] },
        { ...added, slug: 'new-slug', location: 'mallorca' },
      ],
    }),
    {
      new: {
        id: '0a733ae9-ac99-5d39-aff9-63cd6fd581fc',
        photos: [expect.objectContaining({ id: '4459ad89-5545-5454-9fa1-749010c760b7' })],
        videos: [expect.objectContaining({ id: '4459ad89-5545-5454-9fa1-749010c760b7' })],
      },
      'new-slug': {
        id: '52fad937-7387-52e1-9e86-b2855e43a499',
        location: expect.objectContaining({ id: '71add1fe-794e-5ece-bba1-b7df74a74a65' }),
      },
    },
  ],
  ...['9007199254740992', '123456789012345680000', '1E+23'].map(
    (number): (typeof FILES)[number] => [
      `a file may have a byte order mark, and the number ${number}`,
      load(
        `\ufeff${JSON.stringify({ properties: [{ ...added, size: 0 }] })}`.replace(
          '"size":0',
          `"size":${number}`,
        ),
      ),
      { new: { size: Number(number) } },
    ],
  ),
  [
    'a URL is stored in normal form',
    whole({
      ...added,
      financial_analysis_url: URLS[0]?.[0],
      photos: URLS.map(([url]) => ({ ...newPhoto, url })),
    }),
    {
      new: {
        financial_analysis_url: URLS[0]?.[1],
        photos: URLS.map(([, url]) => expect.objectContaining({ url })),
      },
    },
  ],
  [
    'a text of 100,000 characters, a list of 1,000 entries and 128 levels are stored',
    whole({
      ...added,
      name: widest,
      description: { fr: { type: 'doc', attrs: nested, content: [] }, en: 'Rooms' },
      unique_features: features,
    }),
    { new: { name: widest, unique_features: features } },
  ],
  [
    'blank texts are no texts',
    whole({
      ...added,
      city: ' ',
      title: { fr: '', en: 'New', es: '\u200b\u00ad' },
      description: { en: '', fr: { type: 'doc', content: [{ type: 'paragraph' }] } },
    }),
    { new: { city: null, title: { en: 'New' }, description: {} } },
  ],
  [
    'a patch changes only its fields',
    patch({ slug: 'casa-marea', price_from: 121000, title: { fr: 'La maison' } }),
    {
      'casa-marea': {
        price_from: 121000,
        title: { en: 'House', es: 'Casa', fr: 'La maison' },
      },
    },
  ],
  [
    'a patch finds a listing by its hid, and sets its slug',
    patch({ hid: 'M-1', slug: 'casa-nueva' }),
    { 'casa-marea': { slug: 'casa-nueva' } },
  ],
  [
    'a patch finds a listing by its id, and sets its hid',
    patch({ id: marea.id, hid: 'M-9' }),
    { 'casa-marea': { hid: 'M-9' } },
  ],
  [
    'null empties a field, and takes a language away',
    patch({
      slug: 'casa-marea',
      city: null,
      title: { fr: null },
      is_early_access: null,
      description: null,
      amenities: null,
      location: null,
    }),
    {
      'casa-marea': {
        city: null,
        title: { en: 'House', es: 'Casa' },
        description: {},
        amenities: [],
        location: null,
        is_early_access: false,
      },
    },
    ['title.fr', 'description.en', 'description.fr', 'city', 'location', 'amenities'],
  ],
  [
    'a patch replaces a list, and keeps the fields of photos that it names by address or id',
    patch({
      slug: 'casa-marea',
      photos: [
        { url: urlOf(2).replace('https', 'HTTPS'), alt: { fr: 'Vue 2', es: null } },
        { id: photo(1).id.toUpperCase(), section: 'gallery' },
        { url: urlOf('a b') },
      ],
      hero_photo: urlOf('a b'),
    }),
    {
      'casa-marea': {
        hero_photo_id: 'efe56c78-e893-5112-a2cb-2165b737932e',
        photos: [
          photo(2, { alt: { en: 'View 2', fr: 'Vue 2' } }),
          photo(1, { section: 'gallery', web_sort_order: 21 }),
          numbered('a%20b', 22, { alt: {}, section: 'gallery', web_visible: true }),
        ],
      },
    },
    ['photos.alt.es'],
  ],
  [
    'a list without the hero photo selects none',
    patch({ slug: 'casa-marea', photos: [{ url: urlOf(2) }] }),
    { 'casa-marea': { hero_photo_id: null, photos: [photo(2)] } },
    ['hero_photo'],
  ],
  ...ORDERS.map(([what, photos, numbers]): (typeof FILES)[number] => [
    `a list shows its photos in its order: ${what}`,
    patch({ slug: 'casa-marea', photos }),
    {
      'casa-marea': {
        photos: photos.map(({ url }, at) =>
          expect.objectContaining({ url, web_sort_order: numbers[at] }),
        ),
      },
    },
  ]),
  [
    'a list keeps all its numbers, and finds a stored photo by its address under another id',
    patch({
      slug: 'casa-marea',
      photos: [
        { url: urlOf(1), id: photo(9).id, web_sort_order: 7 },
        { url: urlOf(2), web_sort_order: 3 },
      ],
      hero_photo_id: photo(9).id,
    }),
    {
      'casa-marea': {
        hero_photo_id: photo(9).id,
        photos: [photo(1, { id: photo(9).id, web_sort_order: 7 }), photo(2, { web_sort_order: 3 })],
      },
    },
  ],
  [
    'a patch merges locations and amenities, and adds them with a listing',
    load(
      {
        locations: [
          { slug: 'bay', name: { fr: 'La baie' } },
          { slug: 'coast', name: { en: 'The coast' } },
        ],
        amenities: [
          { slug: 'wifi', label: { es: 'Red' } },
          { slug: 'pool', label: { en: 'Pool' } },
        ],
        properties: [{ ...added, location: 'coast', amenities: ['pool', 'wifi'] }],
      },
      '--patch',
    ),
    {
      'casa-marea': {
        location: expect.objectContaining({ name: { en: 'The bay', fr: 'La baie' } }),
        amenities: [{ slug: 'wifi', label: { en: 'Wi-Fi', es: 'Red', fr: 'Wi-Fi' } }],
      },
      new: {
        location: expect.objectContaining({ slug: 'coast', name: { en: 'The coast' } }),
        amenities: [
          { slug: 'pool', label: { en: 'Pool' } },
          { slug: 'wifi', label: { en: 'Wi-Fi', es: 'Red', fr: 'Wi-Fi' } },
        ],
      },
    },
  ],
  [
    'set-status sets the status of listings, one of them named twice',
    () => imports.setStatus('hidden', 'casa-marea', 'casa-marea', 'other-1'),
    { 'casa-marea': { status: 'hidden' }, 'other-1': { status: 'hidden' } },
  ],
  [
    'a workbook changes the columns that it has, and an empty cell empties its field',
    sheets(`
slug | price_from | title.en | title.fr | city | is_early_access | location | #mine
casa-marea | 121000.5 | The house, "by" the sea |  |  | no |  | 3
 |  |  | " " | "\\u200b" |  |  | an empty row
other-1 | 2 |  |  | Palma | YES | "Bay " |`),
    {
      'casa-marea': {
        price_from: 121000.5,
        title: { en: 'The house, "by" the sea', es: 'Casa' },
        city: null,
        is_early_access: false,
        location: null,
      },
      'other-1': {
        price_from: 2,
        is_early_access: true,
        location: expect.objectContaining({ slug: 'bay' }),
      },
    },
    ['title.fr', 'city', 'location'],
  ],
  [
    'headers, keys and words are read in any case, and without what is invisible at their ends',
    async () => {
      const listings = [
        ['\u200bHID ', 'Slug', 'STATUS', 'type', 'amenities', 'city', 'beds'],
        ['M-1', ' Casa-Marea\u200b', 'Sold_Out', ' beach', 'WiFi;', 123, 4],
        [null, 'other-2', 'listed', null, 'wifi\nwifi2|, wifi3', ' two  spaces ', null],
      ];
      const { amenities = [] } = parseSheets(`
== amenities
slug | label.en
wifi2 | Faster
wifi3 | Fastest`);
      return imports.load(toSheets({ ' Listings ': listings, amenities }));
    },
    {
      'casa-marea': { status: 'sold_out', type: 'beach', city: '123', beds: 4 },
      'other-2': {
        city: ' two  spaces ',
        amenities: [
          wifi,
          { slug: 'wifi2', label: { en: 'Faster' } },
          { slug: 'wifi3', label: { en: 'Fastest' } },
        ],
      },
    },
  ],
  [
    'a formula counts by its value, in a hidden row too',
    sheets('slug | price_from | city\ncasa-marea', {
      listings: { cells: formulas, rowDefs: new Map([[1, { hidden: true }]]) },
    }),
    { 'casa-marea': { price_from: 200, city: 'ab' } },
  ],
  [
    'the rows of a listing are its photos, in the order of their numbers',
    sheets(`
== photos
listing | order | url | alt.en | alt.es | section | visible | hero
Casa-Marea | 3 | ${urlOf(1)} | View 1 | Vista 1 | studio | yes |
casa-marea | 1 | ${urlOf("d'or")} | New |  |  |  |
casa-marea | 2 | ${urlOf(2)} |  | Vista 2 | gallery | no | yes`),
    {
      'casa-marea': {
        photos: [
          numbered('d%27or', 1, { alt: { en: 'New' }, section: 'gallery', web_visible: true }),
          photo(2, {
            alt: { es: 'Vista 2' },
            section: 'gallery',
            web_visible: false,
            web_sort_order: 2,
          }),
          photo(1, { web_sort_order: 3 }),
        ],
        hero_photo_id: photo(2).id,
      },
    },
    ['photos.alt.en'],
  ],
  [
    'without the column order, photos are in the order of their rows, and keep what has no column',
    sheets(`
== photos
listing | url
casa-marea | ${urlOf(2)}
casa-marea | ${urlOf(1)}`),
    { 'casa-marea': { photos: [photo(2), photo(1, { web_sort_order: 21 })] } },
  ],
  [
    'features and videos are lists too, and a list without rows of an unlisted home stays',
    sheets(`
== photos
listing | url
== videos
listing | url | type
casa-marea | ${urlOf('new')} | tour
casa-marea | ${urlOf('film')} | hero
== features
listing | icon_slug | label.en | order
casa-marea | sea | Sea wall | 2
casa-marea | pool | Pool | 1`),
    {
      'casa-marea': {
        videos: [
          expect.objectContaining({ url: urlOf('new'), type: 'tour', web_visible: true }),
          expect.objectContaining({ url: urlOf('film'), type: 'hero' }),
        ],
        unique_features: [{ icon_slug: 'pool', label: { en: 'Pool' } }, seaWall],
      },
    },
  ],
  [
    'a listing that listings names and that has no photo row gets no photo, and another one its rows',
    sheets(`
slug
casa-marea
== photos
listing | url
other-3 | ${urlOf('x')}`),
    {
      'casa-marea': { photos: [], hero_photo_id: null },
      'other-3': { photos: [expect.objectContaining({ url: urlOf('x') })] },
    },
    ['hero_photo', 'photos'],
  ],
  [
    '--prune hides a listing that only the sheet photos names',
    async () => {
      const listings = [['slug'], [marea.slug], ...others.slice(1).map(({ slug }) => [slug])];
      const { photos = [] } = parseSheets(`
== photos
listing | url
casa-marea | ${urlOf(1)}
casa-marea | ${urlOf(2)}
other-0 | ${urlOf('x')}`);
      return imports.load(toSheets({ listings, photos }), '--prune');
    },
    { 'other-0': { status: 'hidden', photos: [numbered('x', 1)] } },
  ],
  [
    'a new listing has a new location and a new amenity, and another one their new names',
    sheets(`
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
new | Casa Alta | listed | 2 | hill | sauna, wifi
== photos
listing | url | alt.es
new | ${urlOf('alta')} | La casa`),
    {
      'casa-marea': {
        location: expect.objectContaining({ name: { en: 'The small bay', es: 'La cala' } }),
        amenities: [{ slug: 'wifi', label: { en: 'Internet', es: 'Wifi', fr: 'Wi-Fi' } }],
      },
      new: {
        location: expect.objectContaining({ slug: 'hill', name: { en: 'The hill' } }),
        amenities: [
          { slug: 'sauna', label: { en: 'Sauna' } },
          { slug: 'wifi', label: { en: 'Internet', es: 'Wifi', fr: 'Wi-Fi' } },
        ],
        photos: [numbered('alta', 1, { alt: { es: 'La casa' }, section: 'gallery' })],
        hero_photo_id: null,
      },
    },
  ],
];

const { listings } = imports;

it.each(FILES)('%s', async (_title, run, stored, emptied = []) => {
  const before = listings();
  const { code, stderr } = await run();
  const warnings = emptied.map((each) => `Warning: cleared ${each} of 1 listing: casa-marea\n`);
  expect([code, stderr]).toEqual([0, warnings.join('')]);
  const slugs = new Map(before.map(({ id, slug }) => [id, slug]));
  const after = listings().map((each) => [slugs.get(each.id) ?? each.slug, each]);
  const added = Object.entries(stored).map(([slug, fields]) => [
    slug,
    expect.objectContaining(fields),
  ]);
  const changed = before.map((each) => [each.slug, { ...each, ...stored[each.slug] }]);
  expect(Object.fromEntries(after)).toEqual(Object.fromEntries([...added, ...changed]));
  expect((await run()).stdout).toContain('Nothing changed');
});
