/**
 * Tests what an import stores from each kind of file: whole records, a patch, and a workbook that was not
 * exported. No other listing changes, and importing the file again changes nothing.
 */

import { beforeEach, describe, expect, it } from 'vitest';
import { openDesk } from '../../support/node/desk.ts';
import { makeFile, makeProperty } from '../../support/node/listings-file.ts';
import type { Finished } from '../../support/node/project-copy.ts';
import { formulaCell, parseSheets, toSheets, workbook } from '../../support/node/workbook.ts';

const imports = openDesk();
const makeUrl = (name: string | number) => `https://images.example.com/${name}.jpg`;
const photo = (number: number, fields: object = {}) => ({
  id: `00000000-0000-4000-8000-0000000000a${number}`,
  url: makeUrl(number),
  alt: { en: `View ${number}`, es: `Vista ${number}` },
  section: 'studio',
  web_visible: true,
  web_sort_order: number * 10,
  ...fields,
});
const video = { url: makeUrl('film'), type: 'hero', web_visible: true, sort_order: 1 };
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
// With so many public listings, the changed ones stay below the limit of a fifth.
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
const newPhoto = { url: makeUrl(1), section: 'hero', web_visible: true, web_sort_order: 1 };
const numbered = (url: string, web_sort_order: number, fields = {}) =>
  expect.objectContaining({ url: makeUrl(url), web_sort_order, ...fields });

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
  url: makeUrl(name),
  web_sort_order,
});
const LAST = 2 ** 31 - 1;
/** The photos of a patch, and their stored numbers after it. Before, photo 1 has 10 and photo 2 has 20. */
const ORDERS: [order: string, photos: ReturnType<typeof named>[], numbers: number[]][] = [
  ['a new photo between two', [named(1), named('new'), named(2)], [10, 11, 20]],
  ['no number is free between two', [named(1), named('new'), named(2, 11)], [10, 11, 12]],
  ['a new photo first', [named('new'), named(2), named(1)], [1, 20, 21]],
  ['the last photo first', [named(2), named(1)], [20, 21]],
  ['only some have numbers', [named('new', 50), named(2, 7), named(1)], [50, 51, 52]],
  ['the first has the largest number', [named(2, LAST), named(1)], [LAST - 1, LAST]],
  [
    'a new photo follows the largest number',
    [named(1), named(2, LAST), named('new')],
    [10, LAST - 1, LAST],
  ],
];

/** `stored` has the fields that the import changes, by the listing's slug before it. `cleared` has the warnings. */
const FILES: [title: string, run: Run, stored: Record<string, object>, cleared?: string[]][] = [
  [
    // Python's uuid.uuid5 has computed the ids in the namespace dab30d73-9ba7-4be9-995d-d83048c8cdd4.
    'derives missing ids from hid, slug and URL',
    load({
      locations: [{ slug: 'mallorca', name: {} }],
      properties: [
        { ...added, hid: 'H-1', photos: [newPhoto], videos: [{ ...video, url: makeUrl(1) }] },
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
      `reads the number ${number} from JSON with a byte order mark`,
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
    'stores a URL in normal form',
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
    'stores texts, lists and documents of the maximum size',
    whole({
      ...added,
      name: widest,
      description: { fr: { type: 'doc', attrs: nested, content: [] }, en: 'Rooms' },
      unique_features: features,
    }),
    { new: { name: widest, unique_features: features } },
  ],
  [
    'drops blank strings',
    whole({
      ...added,
      city: ' ',
      title: { fr: '', en: 'New', es: '\u200b\u00ad' },
      description: { en: '', fr: { type: 'doc', content: [{ type: 'paragraph' }] } },
    }),
    { new: { city: null, title: { en: 'New' }, description: {} } },
  ],
  [
    'changes only the fields of a patch',
    patch({ slug: 'casa-marea', price_from: 121000, title: { fr: 'La maison' } }),
    {
      'casa-marea': {
        price_from: 121000,
        title: { en: 'House', es: 'Casa', fr: 'La maison' },
      },
    },
  ],
  [
    'changes the slug of a listing that a patch names by its hid',
    patch({ hid: 'M-1', slug: 'casa-nueva' }),
    { 'casa-marea': { slug: 'casa-nueva' } },
  ],
  [
    'changes the hid of a listing that a patch names by its id',
    patch({ id: marea.id, hid: 'M-9' }),
    { 'casa-marea': { hid: 'M-9' } },
  ],
  [
    'clears a field or a language that is null in a patch',
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
    'keeps the fields that a patch omits for photos that it names by URL or id',
    patch({
      slug: 'casa-marea',
      photos: [
        { url: makeUrl(2).replace('https', 'HTTPS'), alt: { fr: 'Vue 2', es: null } },
        { id: photo(1).id.toUpperCase(), section: 'gallery' },
        { url: makeUrl('a b') },
      ],
      hero_photo: makeUrl('a b'),
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
    'clears the hero photo if the patched list does not contain it',
    patch({ slug: 'casa-marea', photos: [{ url: makeUrl(2) }] }),
    { 'casa-marea': { hero_photo_id: null, photos: [photo(2)] } },
    ['hero_photo'],
  ],
  ...ORDERS.map(([order, photos, numbers]): (typeof FILES)[number] => [
    `numbers the photos in the order of the list (${order})`,
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
    'keeps the numbers of a patched list that gives a photo a new id',
    patch({
      slug: 'casa-marea',
      photos: [
        { url: makeUrl(1), id: photo(9).id, web_sort_order: 7 },
        { url: makeUrl(2), web_sort_order: 3 },
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
    'merges the locations and amenities of a patch into the stored ones',
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
    'changes the status of listings with set-status',
    () => imports.setStatus('hidden', 'casa-marea', 'casa-marea', 'other-1'),
    { 'casa-marea': { status: 'hidden' }, 'other-1': { status: 'hidden' } },
  ],
  [
    'changes only the fields whose columns a workbook has',
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
    'reads headers, keys and words in any case, without invisible characters at their ends',
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
    'reads the value of a formula in a hidden row',
    sheets('slug | price_from | city\ncasa-marea', {
      listings: { cells: formulas, rowDefs: new Map([[1, { hidden: true }]]) },
    }),
    { 'casa-marea': { price_from: 200, city: 'ab' } },
  ],
  [
    'orders the photos of a listing by the column order',
    sheets(`
== photos
listing | order | url | alt.en | alt.es | section | visible | hero
Casa-Marea | 3 | ${makeUrl(1)} | View 1 | Vista 1 | studio | yes |
casa-marea | 1 | ${makeUrl("d'or")} | New |  |  |  |
casa-marea | 2 | ${makeUrl(2)} |  | Vista 2 | gallery | no | yes`),
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
    'orders photos by their rows if the column order is missing',
    sheets(`
== photos
listing | url
casa-marea | ${makeUrl(2)}
casa-marea | ${makeUrl(1)}`),
    { 'casa-marea': { photos: [photo(2), photo(1, { web_sort_order: 21 })] } },
  ],
  [
    'replaces features and videos by the rows of their sheets',
    sheets(`
== photos
listing | url
== videos
listing | url | type
casa-marea | ${makeUrl('new')} | tour
casa-marea | ${makeUrl('film')} | hero
== features
listing | icon_slug | label.en | order
casa-marea | sea | Sea wall | 2
casa-marea | pool | Pool | 1`),
    {
      'casa-marea': {
        videos: [
          expect.objectContaining({ url: makeUrl('new'), type: 'tour', web_visible: true }),
          expect.objectContaining({ url: makeUrl('film'), type: 'hero' }),
        ],
        unique_features: [{ icon_slug: 'pool', label: { en: 'Pool' } }, seaWall],
      },
    },
  ],
  [
    'removes the photos of a listing without a row in the sheet photos',
    sheets(`
slug
casa-marea
== photos
listing | url
other-3 | ${makeUrl('x')}`),
    {
      'casa-marea': { photos: [], hero_photo_id: null },
      'other-3': { photos: [expect.objectContaining({ url: makeUrl('x') })] },
    },
    ['hero_photo', 'photos'],
  ],
  [
    'hides with --prune a listing that only the sheet photos names',
    async () => {
      const listings = [['slug'], [marea.slug], ...others.slice(1).map(({ slug }) => [slug])];
      const { photos = [] } = parseSheets(`
== photos
listing | url
casa-marea | ${makeUrl(1)}
casa-marea | ${makeUrl(2)}
other-0 | ${makeUrl('x')}`);
      return imports.load(toSheets({ listings, photos }), '--prune');
    },
    { 'other-0': { status: 'hidden', photos: [numbered('x', 1)] } },
  ],
  [
    'adds a listing with a new location and a new amenity',
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
new | ${makeUrl('alta')} | La casa`),
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

describe('an import', () => {
  it.each(FILES)('%s', async (_title, run, stored, cleared = []) => {
    const before = listings();
    const { code, stderr } = await run();
    const warnings = cleared.map((field) => `Warning: cleared ${field} of 1 listing: casa-marea\n`);
    expect([code, stderr]).toEqual([0, warnings.join('')]);
    const slugs = new Map(before.map(({ id, slug }) => [id, slug]));
    const after = listings().map((listing) => [slugs.get(listing.id) ?? listing.slug, listing]);
    const added = Object.entries(stored).map(([slug, fields]) => [
      slug,
      expect.objectContaining(fields),
    ]);
    const changed = before.map((listing) => [
      listing.slug,
      { ...listing, ...stored[listing.slug] },
    ]);
    expect(Object.fromEntries(after)).toEqual(Object.fromEntries([...added, ...changed]));
    expect((await run()).stdout).toContain('Nothing changed');
  });
});
