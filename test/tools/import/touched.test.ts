/**
 * The edits of a workbook that was exported: only the cells that an editor has touched count. Each
 * edit is imported twice, and undone.
 */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { add, change, type Edit, editWorkbook } from '../../support/node/workbook.ts';

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'touched-'));
const undo = join(folder, 'undo.json');
afterAll(() => rmSync(folder, { recursive: true }));

const PHOTO = (name: string) => `https://a.example/${name}.jpg`;
const photo = (name: string, order: number) => ({
  url: PHOTO(name),
  alt: { en: `Photo ${name}` },
  section: 'gallery',
  web_visible: true,
  web_sort_order: order,
});
const addresses = (...names: string[]) => names.map((name) => ({ url: PHOTO(name) }));
const homes = Array.from({ length: 8 }, (_, at) =>
  propertyOf({
    slug: `casa-${at}`,
    name: `Casa ${at}`,
    hid: `H-${at}`,
    title: { en: `Home ${at}`, fr: 'Maison' },
    price_from: 100 + at,
    display_order: at,
    location: 'bay',
    // Of two photos with one number, a site shows the one with the lesser id first.
    photos: [photo(`${at}-a`, 1), photo(`${at}-b`, 2), photo(`${at}-c`, at === 6 ? 2 : 3)],
    hero_photo: PHOTO(`${at}-a`),
    videos: [{ url: PHOTO(`${at}-film`), type: 'hero', web_visible: true, sort_order: 1 }],
    unique_features: [
      { icon_slug: 'sea', label: { en: `Sea ${at}` } },
      { icon_slug: 'pool', label: { en: `Pool ${at}` } },
    ],
  }),
);
const text = { type: 'text', text: 'By the sea', marks: [{ type: 'bold' }] };
/** What a cell cannot show: formatting, all of a long text, and sixteen digits. */
const HIDDEN = {
  description: { en: { type: 'doc', content: [{ type: 'paragraph', content: [text] }] } },
  location_text: { en: 'All of it. '.repeat(4_000) },
  latitude: 39.74861234567893,
};
const CATALOGUE = {
  locations: [
    { slug: 'bay', name: { en: 'The bay' } },
    { slug: 'hill', name: { en: 'The hill' } },
  ],
  amenities: [{ slug: 'wifi', label: { en: 'Wi-Fi' } }],
  properties: homes.with(7, { ...propertyOf({ ...homes[7], slug: 'casa-7' }), ...HIDDEN }),
};

beforeEach(async () => {
  imports.clear();
  expect(await imports.load(CATALOGUE)).toMatchObject({ code: 0, stderr: '' });
  rmSync(undo, { force: true });
});

/** Expects these fields of stored listings, by slug. */
async function expectStored(expected: Record<string, object>) {
  for (const [slug, fields] of Object.entries(expected)) {
    expect(await imports.stored(slug), slug).toMatchObject(fields);
  }
}
const catalogue = () =>
  [
    "SELECT id, slug, source FROM properties WHERE status <> 'hidden' ORDER BY id",
    'SELECT * FROM locations ORDER BY id',
    'SELECT * FROM amenities ORDER BY slug',
  ].map(imports.rows);

const NOTHING = 'Nothing changed: the store already holds all of it.';
const REQUIRED = { name: 'New', status: 'listed', display_order: 9 };
const shiftPrices: Edit = ({ listings = [] }) => {
  const prices = listings.map((row) => row.price_from ?? null);
  for (const [at, row] of listings.entries()) row.price_from = prices.at(at - 1) ?? null;
};

/** The edits, what the report says of them, and what is stored afterwards. */
const EDITS: [title: string, edits: Edit[], line: string, stored: Record<string, object>][] = [
  [
    'another address in the row of a photo is another address of that photo',
    [change('photos', 'casa-0', { url: PHOTO('other') })],
    '; photo other.jpg: url "…ps://a.example/0-a.jpg" → "…ps://a.example/other.jpg"',
    { 'casa-0': { photos: [{ url: PHOTO('other'), alt: { en: 'Photo 0-a' } }, {}, {}] } },
  ],
  [
    'another address in the row of a video is another address of that video',
    [change('videos', 'casa-0', { url: PHOTO('film') })],
    'video film.jpg: url',
    { 'casa-0': { videos: [{ url: PHOTO('film'), type: 'hero' }] } },
  ],
  [
    'two photos swap their addresses',
    [
      change('photos', 'casa-0', { url: PHOTO('0-b') }),
      change('photos', 'casa-0', { url: PHOTO('0-a') }, 1),
    ],
    'photo 0-b.jpg: url',
    {
      'casa-0': {
        photos: [
          { url: PHOTO('0-b'), alt: { en: 'Photo 0-a' } },
          { url: PHOTO('0-a'), alt: { en: 'Photo 0-b' } },
          {},
        ],
      },
    },
  ],
  [
    'all photos are at another host',
    [
      ({ photos = [] }) => {
        for (const row of photos) row.url = `${row.url}`.replace('a.example', 'cdn.example');
      },
    ],
    '8 listings: 0 added, 8 changed, 0 unchanged',
    { 'casa-7': { photos: [{}, {}, { url: 'https://cdn.example/7-c.jpg' }] } },
  ],
  [
    'an order of 0.5 moves a photo to the front, and the other numbers stay',
    [change('photos', 'casa-0', { order: 0.5 }, 2)],
    'casa-0: photo 0-c.jpg: web_sort_order 3 → 0',
    {
      'casa-0': {
        photos: [
          { url: PHOTO('0-c'), web_sort_order: 0 },
          { url: PHOTO('0-a'), web_sort_order: 1 },
          { url: PHOTO('0-b'), web_sort_order: 2 },
        ],
      },
    },
  ],
  [
    'a photo that moves to another home keeps its texts',
    [change('photos', 'casa-0', { listing: 'casa-1', order: 9 }, 1)],
    'casa-1: 1 photo added',
    {
      'casa-0': { photos: addresses('0-a', '0-c') },
      'casa-1': { photos: [{}, {}, {}, photo('0-b', 9)] },
    },
  ],
  [
    'a copied row of a photo with another address is a new photo',
    [
      ({ photos = [] }) => {
        photos.push({ ...photos[0], url: PHOTO('new'), order: 4, hero: null });
      },
    ],
    'photos!A26 is a copy of photos!A2: a new record with its own id\n',
    { 'casa-0': { photos: addresses('0-a', '0-b', '0-c', 'new') } },
  ],
  [
    'a copied row of a home with another slug is a new home',
    [({ listings = [] }) => listings.push({ ...listings[0], slug: 'new' })],
    'listings!A10 is a copy of listings!A2: a new record with its own id\n',
    { new: { hid: null, price_from: 100, photos: [] }, 'casa-0': { hid: 'H-0' } },
  ],
  [
    'a new home has photos, a new amenity, and the slug that another one had before',
    [
      change('listings', 'casa-0', { slug: 'casa-cero' }),
      ({ photos = [] }) => {
        for (const row of photos) if (row.listing === 'casa-0') row.listing = 'casa-cero';
      },
      add('amenities', { slug: 'pool', 'label.en': 'Pool' }),
      add('listings', { slug: 'casa-0', ...REQUIRED, location: 'hill', amenities: 'wifi; pool' }),
      add('photos', { listing: 'casa-0', order: 1, url: PHOTO('new'), hero: 'yes' }),
    ],
    '2 amenities: 1 added, 0 changed, 1 unchanged',
    {
      'casa-0': {
        name: 'New',
        hid: null,
        location: { slug: 'hill' },
        amenities: [{ slug: 'wifi' }, { slug: 'pool', label: { en: 'Pool' } }],
        photos: [{ url: PHOTO('new'), section: 'gallery', web_visible: true }],
      },
      'casa-cero': { name: 'Casa 0', hid: 'H-0', photos: addresses('0-a', '0-b', '0-c') },
    },
  ],
  [
    'a copied row of a feature is a new feature',
    [({ features = [] }) => features.push({ ...features[0], icon_slug: 'sauna', order: 0 })],
    'casa-0: 1 unique feature added',
    {
      'casa-0': {
        unique_features: [
          { icon_slug: 'sauna', label: { en: 'Sea 0' } },
          { icon_slug: 'sea', label: { en: 'Sea 0' } },
          { icon_slug: 'pool', label: { en: 'Pool 0' } },
        ],
      },
    },
  ],
  [
    'another slug is that of a home, whose photos name the former one',
    [change('listings', 'casa-0', { slug: 'casa-cero' })],
    'casa-0: slug "casa-0" → "casa-cero"',
    { 'casa-cero': { photos: addresses('0-a', '0-b', '0-c') } },
  ],
  [
    'a home keeps its photos, whose cells nobody has touched, when a new one gets its slug',
    [
      change('listings', 'casa-0', { slug: 'casa-cero' }),
      add('listings', { slug: 'casa-0', ...REQUIRED }),
    ],
    'casa-0: slug "casa-0" → "casa-cero"\n',
    {
      'casa-cero': { name: 'Casa 0', photos: addresses('0-a', '0-b', '0-c') },
      'casa-0': { name: 'New', photos: [] },
    },
  ],
  [
    'a row without its hidden cells is found by its hid',
    [change('listings', 'casa-0', { id: null, 'as of': null, slug: 'casa-cero' })],
    'casa-0: slug "casa-0" → "casa-cero"',
    { 'casa-cero': { photos: addresses('0-a', '0-b', '0-c') } },
  ],
  [
    'a row without its id, whose slug is not known, is found by its mark',
    [change('listings', 'casa-0', { id: null, hid: null, slug: 'casa-cero' })],
    'casa-0: hid "H-0" → none; slug "casa-0" → "casa-cero"\n',
    { 'casa-cero': { hid: null, photos: addresses('0-a', '0-b', '0-c') } },
  ],
  [
    'locations swap or change their slugs, and the cell of a home has a former one',
    [
      change('listings', 'casa-0', { location: 'hill' }),
      change('locations', 'bay', { slug: 'cove' }),
      change('locations', 'hill', { slug: 'bay' }),
    ],
    'location bay: slug "bay" → "cove"',
    {
      'casa-0': { location: { slug: 'bay', name: { en: 'The hill' } } },
      'casa-1': { location: { slug: 'cove', name: { en: 'The bay' } } },
    },
  ],
  [
    'an emptied cell empties its field',
    [change('listings', 'casa-0', { 'title.fr': null, price_from: null, location: null })],
    'casa-0: title.fr removed; price_from 100 → none; location "bay" → none\n',
    { 'casa-0': { title: { en: 'Home 0' }, price_from: null, location: null } },
  ],
  [
    'what a cell cannot show stays while it is untouched',
    [change('listings', 'casa-7', { price_from: 170.5 })],
    '\ncasa-7: price_from 107 → 170.5\n',
    { 'casa-7': { ...HIDDEN, price_from: 170.5 } },
  ],
  [
    'another text replaces a formatted one',
    [change('listings', 'casa-7', { 'description.en': 'By the lake' })],
    'casa-7: description.en ',
    { 'casa-7': { ...HIDDEN, description: { en: 'By the lake' } } },
  ],
  [
    'rows that are sorted by another column change nothing',
    [
      (sheets) => {
        for (const rows of Object.values(sheets)) rows.reverse();
      },
    ],
    NOTHING,
    { 'casa-0': { photos: addresses('0-a', '0-b', '0-c') } },
  ],
  [
    'columns in another order keep their marks',
    [
      ({ listings = [] }) => {
        for (const row of listings.splice(0)) {
          listings.push(Object.fromEntries(Object.entries(row).reverse()));
        }
      },
    ],
    NOTHING,
    {},
  ],
  [
    'without marks, and with those of another form, a cell that is as stored changes nothing',
    [
      (sheets) => {
        for (const row of Object.values(sheets).flat()) row['as of'] = 'm0_ffffffff';
      },
    ],
    NOTHING,
    {},
  ],
  [
    'the mark of another row is none',
    [
      change('listings', 'casa-0', { price_from: 1 }),
      ({ listings = [] }) => {
        const [first, second] = listings;
        Object.assign(first ?? {}, { 'as of': second?.['as of'] });
      },
    ],
    'casa-0: price_from 100 → 1\n',
    { 'casa-0': { price_from: 1 } },
  ],
];

it.each(EDITS)('%s', async (_title, edits, line, stored) => {
  const before = catalogue();
  const edited = await editWorkbook(await imports.exportedWorkbook(), ...edits);
  const done = await imports.load(edited, '--undo', undo);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  expect(done.stdout).toContain(line);
  await expectStored(stored);
  const again = await imports.load(edited);
  expect(again.stdout, again.stderr).toContain(NOTHING);
  expect(existsSync(undo)).toBe(line !== NOTHING);
  if (line !== NOTHING) {
    const undone = await imports.run(undo, '--many', '--no-undo');
    expect(undone, undone.stderr).toMatchObject({ code: 0 });
  }
  expect(catalogue()).toEqual(before);
});

const renameSheet =
  (name: string, other: string): Edit =>
  (sheets) => {
    sheets[other] = sheets[name] ?? [];
    delete sheets[name];
  };
const renamed = (name: string, other: string) =>
  `the sheet "${other}" has the columns of the missing sheet ${name}: give it that name\nNothing was changed.\n`;

it.each<[title: string, edit: Edit, sentence: string]>([
  [
    'a column that was shifted by one row',
    shiftPrices,
    '2 (slug "casa-0"): price_from has the value of another row, as 8 of the 8 changed cells of this column: it was sorted or shifted alone. --many imports it',
  ],
  ['the sheet listings as Homes', renameSheet('listings', 'Homes'), renamed('listings', 'Homes')],
  [
    'the sheet photos as Pictures',
    renameSheet('photos', 'Pictures'),
    renamed('photos', 'Pictures'),
  ],
  ['the sheet videos as Films', renameSheet('videos', 'Films'), renamed('videos', 'Films')],
  [
    'the sheet amenities as Comfort',
    renameSheet('amenities', 'Comfort'),
    renamed('amenities', 'Comfort'),
  ],
])('rejects %s', async (_title, edit, sentence) => {
  const edited = await editWorkbook(await imports.exportedWorkbook(), edit);
  const before = catalogue();
  const { code, stderr } = await imports.load(edited);
  expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
  expect(catalogue()).toEqual(before);
});

it('imports a column that was shifted alone with --many', async () => {
  const edited = await editWorkbook(await imports.exportedWorkbook(), shiftPrices);
  expect(await imports.load(edited, '--many')).toMatchObject({ code: 0 });
  await expectStored({ 'casa-0': { price_from: 107 } });
});

it('a sheet that was sorted by another column keeps the order of photos with one number', async () => {
  const photos = ['c', 'b', 'a'].map((name) => ({ ...photo(name, 1), id: crypto.randomUUID() }));
  await imports.load({ properties: [{ slug: 'casa-0', photos }] }, '--patch');
  const exported = await imports.exportedWorkbook();
  for (const sign of [1, -1]) {
    const edited = await editWorkbook(exported, ({ photos: rows = [] }) => {
      rows.sort((a, b) => (`${a.url}` < `${b.url}` ? -sign : sign));
    });
    expect((await imports.load(edited)).stdout).toContain(NOTHING);
  }
});

it('a list that another import has numbered again is no conflict', async () => {
  const photos = ['c', 'b', 'a'].map((name) => ({ ...photo(name, 1), id: crypto.randomUUID() }));
  await imports.load({ properties: [{ slug: 'casa-0', photos }] }, '--patch');
  const exported = await imports.exportedWorkbook();
  const numbered = [...photos, photo('d', 1)].map(({ url }) => ({ url }));
  await imports.load({ properties: [{ slug: 'casa-0', photos: numbered }] }, '--patch');
  const edited = await editWorkbook(exported, change('listings', 'casa-0', { price_from: 1 }));
  expect(await imports.load(edited)).toMatchObject({ code: 0, stderr: '' });
  await expectStored({ 'casa-0': { price_from: 1, photos: addresses('c', 'b', 'a', 'd') } });
});

describe('two editors', () => {
  /** The edits of both, and what is stored. */
  const STORIES: [title: string, first: Edit, second: Edit, stored: Record<string, object>][] = [
    [
      'touch different homes',
      change('listings', 'casa-0', { price_from: 1 }),
      change('listings', 'casa-1', { 'title.en': 'New' }),
      { 'casa-0': { price_from: 1 }, 'casa-1': { title: { en: 'New' } } },
    ],
    [
      'touch different cells of one home',
      change('listings', 'casa-0', { price_from: 1 }),
      change('listings', 'casa-0', { 'title.en': 'New' }),
      { 'casa-0': { price_from: 1, title: { en: 'New' } } },
    ],
    [
      'translate one photo',
      change('photos', 'casa-0', { 'alt.es': 'Foto' }),
      change('photos', 'casa-0', { 'alt.fr': 'Photo' }),
      { 'casa-0': { photos: [{ alt: { en: 'Photo 0-a', es: 'Foto', fr: 'Photo' } }, {}, {}] } },
    ],
    [
      'add a photo, and translate another one of the same home',
      add('photos', { listing: 'casa-0', order: 4, url: PHOTO('new') }),
      change('photos', 'casa-0', { 'alt.fr': 'Photo' }),
      {
        'casa-0': {
          photos: [{ alt: { en: 'Photo 0-a', fr: 'Photo' } }, ...addresses('0-b', '0-c', 'new')],
        },
      },
    ],
    [
      'remove a photo, and change another one of the same home',
      ({ photos = [] }) => photos.splice(1, 1),
      change('photos', 'casa-0', { 'alt.en': 'New' }),
      { 'casa-0': { photos: [{ alt: { en: 'New' } }, { url: PHOTO('0-c') }] } },
    ],
    [
      'add a feature, and change the label of another one',
      add('features', { listing: 'casa-0', order: 3, icon_slug: 'sauna' }),
      change('features', 'casa-0', { 'label.en': 'Big pool' }, 1),
      {
        'casa-0': {
          unique_features: [
            { icon_slug: 'sea', label: { en: 'Sea 0' } },
            { icon_slug: 'pool', label: { en: 'Big pool' } },
            { icon_slug: 'sauna', label: {} },
          ],
        },
      },
    ],
    [
      'rename a home, and change its price',
      change('listings', 'casa-0', { slug: 'casa-cero' }),
      change('listings', 'casa-0', { price_from: 1 }),
      { 'casa-cero': { price_from: 1 } },
    ],
    [
      'change two texts of one location',
      change('locations', 'bay', { 'name.es': 'La cala' }),
      change('locations', 'bay', { 'name.fr': 'La baie' }),
      { 'casa-0': { location: { name: { en: 'The bay', es: 'La cala', fr: 'La baie' } } } },
    ],
  ];
  const BOTH = STORIES.flatMap(([title, ...story]) =>
    ['one export', 'an export each'].map((exports) => [exports, title, ...story] as const),
  );

  it.each(BOTH)('with %s %s: nothing is lost', async (exports, _title, first, second, stored) => {
    const one = await imports.exportedWorkbook();
    const other = exports === 'one export' ? one : await imports.exportedWorkbook();
    for (const [exported, edit] of [
      [one, first],
      [other, second],
    ] as const) {
      const done = await imports.load(await editWorkbook(exported, edit));
      expect(done, done.stderr).toMatchObject({ code: 0 });
    }
    await expectStored(stored);
  });
});
