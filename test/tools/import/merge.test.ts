/**
 * Tests the merge of workbooks by stories, in which editors export, edit and import workbooks one after
 * the other. At the end of a story, repeating the last import changes nothing, and its undo file
 * restores the store.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { openDesk } from '../../support/node/desk.ts';
import { makeProperty } from '../../support/node/listings-file.ts';
import type { Finished } from '../../support/node/project-copy.ts';
import { add, change, type Edit, editSheets, type TestSheet } from '../../support/node/workbook.ts';

const production = openDesk();
const another = openDesk();
let imports = production;
const folder = mkdtempSync(join(tmpdir(), 'merge-'));
const undo = join(folder, 'undo.json');

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
  makeProperty({
    slug: `casa-${at}`,
    name: `Casa ${at}`,
    hid: `H-${at}`,
    title: { en: `Home ${at}`, fr: 'Maison' },
    price_from: 100 + at,
    display_order: at,
    location: 'bay',
    // Two photos of casa-6 have the same number. A site shows them in the order of their ids.
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
/** Values that a cell cannot display: formatting, long texts, and the last digits of a number. */
const HIDDEN = {
  description: { en: { type: 'doc', content: [{ type: 'paragraph', content: [text] }] } },
  location_text: { en: 'All of it. '.repeat(4_000) },
  latitude: 39.74861234567893,
  size: Number.MAX_VALUE,
};
const [EAST, WEST] = ['East', 'West'].map((en) => ({ icon_slug: 'sea', label: { en } }));
const CATALOGUE = {
  locations: [
    { slug: 'bay', name: { en: 'The bay' } },
    { slug: 'hill', name: { en: 'The hill' } },
  ],
  amenities: [{ slug: 'wifi', label: { en: 'Wi-Fi' } }],
  properties: homes.with(7, {
    ...makeProperty({ ...homes[7], slug: 'casa-7' }),
    ...HIDDEN,
    unique_features: [EAST, WEST],
  }),
};
const REQUIRED = { name: 'New', status: 'listed', display_order: 9 };

let exported: TestSheet[];
const workbooks = new Map<string, TestSheet[]>();
const files = new Map<string, string>();
/** Functions that restore the databases as they were after the import of the catalogue. */
const begins: (() => void)[] = [];
const setClock = () => vi.useFakeTimers({ now: Date.UTC(2026, 10, 21, 10), toFake: ['Date'] });

beforeAll(async () => {
  setClock();
  vi.stubEnv('GITHUB_ACTOR', 'cleo');
  for (const desk of [another, production]) {
    expect(await desk.load(CATALOGUE)).toMatchObject({ code: 0, stderr: '' });
    begins.push(desk.keep());
  }
  exported = await production.exportedWorkbook();
});

beforeEach(() => {
  setClock();
  for (const begin of begins) begin();
  imports = production;
  files.clear();
  workbooks.clear();
  rmSync(undo, { force: true });
  return () => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  };
});

/** A step of a story. The report must contain `says`. A leading `!` means that the import is rejected. */
type Step = { says: string; run: () => Promise<Finished> };
const DONE: Finished = { code: 0, stdout: '', stderr: '' };

let last: Parameters<typeof importAs>;

/** Imports a file as a user. */
async function importAs(who: string, content: unknown, ...options: string[]): Promise<Finished> {
  last = [who, content, ...options];
  vi.stubEnv('GITHUB_ACTOR', who);
  rmSync(undo, { force: true });
  return await imports.load(content, '--undo', undo, ...options);
}

/** Imports as an editor. All editors start with a copy of one export, which they keep editing. */
const editor =
  (who: string) =>
  (says: string, edits: Edit[] = [], ...options: string[]): Step => ({
    says,
    run: async () => {
      const file = editSheets(workbooks.get(who) ?? exported, ...edits);
      workbooks.set(who, file);
      return await importAs(who, file, ...options);
    },
  });
const [ana, ben] = [editor('ana'), editor('ben')];
const does = (work: () => unknown): Step => ({
  says: '',
  run: async () => {
    await work();
    return DONE;
  },
});
const exports = (who: string) =>
  does(async () => workbooks.set(who, await imports.exportedWorkbook()));
const gives = (from: string, to: string) =>
  does(() => workbooks.set(to, workbooks.get(from) ?? exported));
/** Imports a second copy of the first export as ana, who has imported the first copy. */
const secondCopy = (says: string, edits: Edit[] = [], ...options: string[]): Step => ({
  says,
  run: () => importAs('ana', editSheets(exported, ...edits), ...options),
});
const patch = (fields: object): Step => ({
  says: '',
  run: () => importAs('cleo', { properties: [fields] }, '--patch'),
});
const undoes: Step = { says: '', run: () => importAs('cleo', readFileSync(undo), '--many') };
const goesTo = (store: typeof imports) =>
  does(() => {
    imports = store;
  });
/** Imports the JSON export with changed fields. `changes` has them by the slug of the listing. */
const json = (who: string, says: string, changes: Record<string, object>): Step => ({
  says,
  run: async () => {
    const file = JSON.parse(`${files.get('json')}`);
    const properties = file.properties.map((listing: { slug: string }) => ({
      ...listing,
      ...changes[listing.slug],
    }));
    return await importAs(who, { ...file, properties });
  },
});
const exportsJson = does(async () => files.set('json', await imports.exported()));

const catalogue = () => imports.catalogue();

const NOTHING = 'Nothing changed: the store already holds all of it.';
const price = (price_from: number | null, slug = 'casa-0') =>
  change('listings', slug, { price_from });
const title = (en: string) => change('listings', 'casa-0', { 'title.en': en });
const clearMarks: Edit = (sheets) => {
  for (const row of Object.values(sheets).flat()) delete row['as of'];
};
const copyHome =
  (cells: Record<string, string | number | null>): Edit =>
  ({ listings = [] }) => {
    listings.push({ ...listings[0], ...cells });
  };
const shiftPrices: Edit = ({ listings = [] }) => {
  const prices = listings.map((row) => row.price_from ?? null);
  for (const [at, row] of listings.entries()) row.price_from = prices.at(at - 1) ?? null;
};
const renameSheet =
  (name: string, other: string): Edit =>
  (sheets) => {
    sheets[other] = sheets[name] ?? [];
    delete sheets[name];
  };
const newPhoto = (name: string, order: number) =>
  add('photos', { listing: 'casa-0', order, url: PHOTO(name), 'alt.en': 'New' });
const removePhoto: Edit = ({ photos = [] }) => photos.splice(1, 1);
const setStatus = (status: string) => change('listings', 'casa-0', { status });
const FROM_ELSEWHERE = '!was exported from another database, or before this one was restored';

type Stored = Record<string, object>;
type Story = [title: string, steps: Step[], stored?: Stored | undefined];

const ONE_EDITOR: [title: string, edits: Edit[], says: string, stored?: Stored][] = [
  [
    'changes the URL of a photo and a video',
    [
      change('photos', 'casa-0', { url: PHOTO('other') }),
      change('videos', 'casa-0', { url: PHOTO('film') }),
    ],
    '; photo other.jpg: url "…ps://a.example/0-a.jpg" → "…ps://a.example/other.jpg"; video film.jpg',
    {
      'casa-0': {
        photos: [{ url: PHOTO('other'), alt: { en: 'Photo 0-a' } }, {}, {}],
        videos: [{ url: PHOTO('film'), type: 'hero' }],
      },
    },
  ],
  [
    'swaps the URLs of two photos',
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
    'moves a photo to the front with the order 0.5',
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
    'moves a photo with its texts to another home',
    [change('photos', 'casa-0', { listing: 'casa-1', order: 9 }, 1)],
    'casa-1: 1 photo added',
    {
      'casa-0': { photos: addresses('0-a', '0-c') },
      'casa-1': { photos: [{}, {}, {}, photo('0-b', 9)] },
    },
  ],
  [
    'adds a photo for a copied row with another URL',
    [({ photos = [] }) => photos.push({ ...photos[0], url: PHOTO('new'), order: 4, hero: null })],
    'photos!A26 is a copy of photos!A2, and becomes a new record\n',
    { 'casa-0': { photos: addresses('0-a', '0-b', '0-c', 'new') } },
  ],
  ...[{}, { id: null }].map((hidden): (typeof ONE_EDITOR)[number] => [
    `adds a home for a copied row ${'id' in hidden ? 'without' : 'with'} its hidden id`,
    [copyHome({ slug: 'new', ...hidden })],
    'listings!A10 is a copy of listings!A2, and becomes a new record\n',
    { new: { hid: null, price_from: 100, photos: [] }, 'casa-0': { hid: 'H-0' } },
  ]),
  [
    'adds a home with a photo, a new amenity and the slug of a renamed home',
    [
      change('listings', 'casa-0', { slug: 'casa-cero' }),
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
    'adds a feature for a copied row',
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
    'reorders two features with one icon',
    [change('features', 'casa-7', { order: 3 }), change('features', 'casa-7', { order: 1 }, 1)],
    'casa-7: unique features in another order',
    { 'casa-7': { unique_features: [WEST, EAST] } },
  ],
  [
    'identifies a row without an id and with a new slug by its mark',
    [change('listings', 'casa-0', { id: null, hid: null, slug: 'casa-cero' })],
    'casa-0: hid "H-0" → none; slug "casa-0" → "casa-cero"\n',
    { 'casa-cero': { hid: null, photos: addresses('0-a', '0-b', '0-c') } },
  ],
  [
    'identifies rows by their marks if the column id is missing',
    [
      (sheets) => {
        for (const row of Object.values(sheets).flat()) delete row.id;
      },
      price(1),
    ],
    'casa-0: price_from 100 → 1\n',
  ],
  [
    'follows locations that are renamed in the same file',
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
    'clears the field of an empty cell',
    [change('listings', 'casa-0', { 'title.fr': null, price_from: null, location: null })],
    'casa-0: title.fr removed; price_from 100 → none; location "bay" → none\n',
    { 'casa-0': { title: { en: 'Home 0' }, price_from: null, location: null } },
  ],
  [
    'keeps what an unedited cell cannot display',
    [change('listings', 'casa-7', { price_from: 170.5, 'description.en': 'By the lake' })],
    '\ncasa-7: description.en ',
    { 'casa-7': { ...HIDDEN, price_from: 170.5, description: { en: 'By the lake' } } },
  ],
  [
    'changes nothing if whole rows are sorted',
    [(sheets) => Object.values(sheets).map((rows) => rows.reverse())],
    NOTHING,
    { 'casa-0': { photos: addresses('0-a', '0-b', '0-c') } },
  ],
  ['changes nothing if cells without marks have the stored values', [clearMarks], NOTHING],
  ...(['listings', 'photos', 'videos', 'amenities'] as const).map(
    (name): (typeof ONE_EDITOR)[number] => [
      `rejects the sheet ${name} under another name`,
      [renameSheet(name, 'Other')],
      `!The sheet "Other" has the columns of the missing sheet ${name}. Rename it to ${name}.\nNothing was changed.\n`,
    ],
  ),
];

/** Edits of two people who both keep their changes, whether or not they share an export. */
const TWO_EDITORS: [title: string, first: Edit, second: Edit, stored: Stored][] = [
  [
    'translate one photo',
    change('photos', 'casa-0', { 'alt.es': 'Foto' }),
    change('photos', 'casa-0', { 'alt.fr': 'Photo' }),
    { 'casa-0': { photos: [{ alt: { en: 'Photo 0-a', es: 'Foto', fr: 'Photo' } }, {}, {}] } },
  ],
  [
    'remove and change photos of one home',
    removePhoto,
    change('photos', 'casa-0', { 'alt.en': 'New' }),
    { 'casa-0': { photos: [{ alt: { en: 'New' } }, { url: PHOTO('0-c') }] } },
  ],
  [
    'move one of two photos with the same number and change a home',
    change('photos', 'casa-6', { order: 9 }, 1),
    price(1),
    { 'casa-6': { photos: addresses('6-a', '6-b', '6-c') } },
  ],
  [
    'add a feature and relabel another feature',
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
    'rename a home and change its price',
    change('listings', 'casa-0', { slug: 'casa-cero' }),
    price(1),
    { 'casa-cero': { price_from: 1 } },
  ],
  [
    'change two texts of one location',
    change('locations', 'bay', { 'name.es': 'La cala' }),
    change('locations', 'bay', { 'name.fr': 'La baie' }),
    { 'casa-0': { location: { name: { en: 'The bay', es: 'La cala', fr: 'La baie' } } } },
  ],
];

const addAll = [
  add('locations', { slug: 'isle', 'name.en': 'The isle' }),
  add('amenities', { slug: 'pool', 'label.en': 'Pool' }),
  add('listings', { slug: 'new', ...REQUIRED, location: 'isle', amenities: 'pool' }),
  add('photos', { listing: 'new', order: 1, url: PHOTO('new') }),
  add('features', { listing: 'new', order: 1, icon_slug: 'sun', 'label.en': 'Sun' }),
  newPhoto('added', 9),
];

const STORIES: Story[] = [
  [
    'reports a value that is back at what was exported',
    [
      ana('2 changed', [price(295), price(7, 'casa-1')]),
      ana(
        'Worth a look: 1 value is back at what was exported: casa-0 price_from 295 → 100 (imported 2026-11-21 10:00 UTC by ana, import-listings listings.json)\n',
        [price(100)],
      ),
    ],
    { 'casa-0': { price_from: 100 }, 'casa-1': { price_from: 7 } },
  ],
  [
    'reports all values of a row that were typed back',
    [
      ana('1 changed', [price(295), setStatus('sold_out')]),
      ana('Worth a look: 2 values are back at what was exported', [
        price(100),
        setStatus('listed'),
      ]),
    ],
    { 'casa-0': { price_from: 100, status: 'listed' } },
  ],
  [
    'rejects a second copy of an export that would take back two changes',
    [
      ana('2 changed', [price(295), price(7, 'casa-1')]),
      secondCopy(
        '!the file: seems to be another copy of its export: it has none of the 2 changes that you have imported from it, such as casa-0 price_from 295 and casa-1 price_from 7. Importing it would take them back',
      ),
      secondCopy('!another copy of its export', [title('New')]),
      secondCopy(
        'casa-0: title.en "Home 0" → "New"; price_from 295 → 100',
        [title('New')],
        '--overwrite',
      ),
    ],
    { 'casa-0': { price_from: 100, title: { en: 'New' } }, 'casa-1': { price_from: 101 } },
  ],
  [
    'rejects a second copy with a new edit that would take back two values of another row',
    [
      ana('1 changed', [price(295), setStatus('sold_out')]),
      secondCopy('!has none of the 2 changes', [price(7, 'casa-1')]),
    ],
  ],
  [
    'rejects a second copy without the photos and the home that the first copy added',
    [
      ana('New: new', [newPhoto('one', 4), ...addAll.slice(0, 3)]),
      secondCopy('!such as casa-0 photos 4 rows and location isle was added', [price(7)]),
    ],
  ],
  [
    'rejects a second copy with the exported hero photo and order',
    [
      ana('1 changed', [
        change('photos', 'casa-0', { hero: null }),
        change('photos', 'casa-0', { hero: 'yes', order: 0 }, 1),
      ]),
      secondCopy('!has none of the 2 changes', [price(7)]),
    ],
  ],
  [
    'accepts a file that still has one of three imported changes',
    [
      ana('3 changed', [price(295), price(7, 'casa-1'), price(8, 'casa-2')]),
      ana('Worth a look: 2 values are back at what was exported', [
        price(100),
        price(101, 'casa-1'),
      ]),
    ],
    { 'casa-0': { price_from: 100 }, 'casa-2': { price_from: 8 } },
  ],
  [
    'rejects a second copy without the two photos that the first copy added',
    [
      ana('2 photos added', [newPhoto('one', 4), newPhoto('two', 5)]),
      secondCopy('!has none of the 2 changes', [price(7, 'casa-1')]),
    ],
  ],
  [
    'imports a file without the sheet listings twice',
    [
      ana('2 changed', [
        (sheets) => delete sheets.listings,
        change('photos', 'casa-0', { order: 9 }),
        change('photos', 'casa-1', { order: 9 }),
      ]),
      ana('1 changed', [change('photos', 'casa-2', { 'alt.fr': 'Photo' })]),
    ],
  ],
  [
    'imports a second copy without the sheet listings after the first copy added homes',
    [
      ana('New: new, newer', [
        add('listings', { slug: 'new', ...REQUIRED }, { slug: 'newer', ...REQUIRED }),
      ]),
      secondCopy('casa-0: photo 0-a.jpg: alt.en', [
        (sheets) => delete sheets.listings,
        change('photos', 'casa-0', { 'alt.en': 'New' }),
      ]),
    ],
  ],
  [
    'imports the whole export after a copy without the sheet listings',
    [
      ana('2 changed', [
        (sheets) => delete sheets.listings,
        change('photos', 'casa-0', { order: 9 }),
        change('photos', 'casa-1', { order: 9 }),
      ]),
      does(() => workbooks.delete('ana')),
      ana('casa-2: price_from', [({ listings = [] }) => listings.splice(0, 2), price(7, 'casa-2')]),
    ],
    { 'casa-2': { price_from: 7 } },
  ],
  [
    'accepts a second copy of the export from another person',
    [
      ana('2 changed', [price(295), price(7, 'casa-1')]),
      ben('Kept 2 newer values of the store', [title('New')]),
    ],
    { 'casa-0': { price_from: 295, title: { en: 'New' } } },
  ],
  [
    'accepts a second copy after the changes were undone',
    [
      ana('2 changed', [price(295), price(7, 'casa-1')]),
      undoes,
      secondCopy('title.en "Home 0" → "New"', [title('New')]),
    ],
    { 'casa-0': { price_from: 100, title: { en: 'New' } } },
  ],
  [
    'accepts new values in two cells that were imported before',
    [
      ana('2 changed', [price(295), price(7, 'casa-1')]),
      ana('2 changed', [price(296), price(8, 'casa-1')]),
    ],
    { 'casa-0': { price_from: 296 }, 'casa-1': { price_from: 8 } },
  ],
  [
    'retains with --prune a home that the editor added to the export',
    [
      ana('New: new', [add('listings', { slug: 'new', ...REQUIRED })]),
      secondCopy(
        'new was added by your earlier import of this export and stays. --overwrite hides it',
        [price(7)],
        '--prune',
      ),
      secondCopy(
        'Hidden, because the file does not name them: 1 listing',
        [],
        '--prune',
        '--overwrite',
      ),
    ],
    { new: { status: 'hidden' } },
  ],
  [
    'names the rows of a list that were added, changed and removed in the store',
    [
      exports('ben'),
      ben('1 changed', [
        newPhoto('one', 4),
        newPhoto('two', 5),
        change('photos', 'casa-0', { 'alt.en': 'New' }),
        ({ photos = [] }) => photos.splice(1, 1),
      ]),
      ana(
        '!photos has changed in the store too: one.jpg and two.jpg were added, 0-a.jpg was changed and 1 row was removed since your export. The record was last changed 2026-11-21 10:00 UTC by ben',
        [newPhoto('three', 4)],
      ),
    ],
  ],
  [
    'shows the values of a conflict in a dry run',
    [
      ben('1 changed', [price(300)]),
      ana(
        '!casa-0: title.en "Home 0" → "New"\ncasa-0: price_from 300 → 310\n',
        [price(310), title('New')],
        '--dry-run',
      ),
    ],
    { 'casa-0': { price_from: 300 } },
  ],
  [
    'keeps translations by others of records that the editor added',
    [
      ana('New: new', [...addAll, copyHome({ slug: 'copy' })]),
      exports('ben'),
      ben('copy: status', [
        change('locations', 'isle', { 'name.fr': 'Île' }),
        change('amenities', 'pool', { 'label.fr': 'Piscine' }),
        change('listings', 'new', { 'title.fr': 'Neuve', status: 'sold_out' }),
        change('photos', 'new', { 'alt.fr': 'Façade' }),
        change('features', 'new', { 'label.fr': 'Soleil' }),
        change('listings', 'copy', { price_from: 7, status: 'coming_soon' }),
        add('photos', { listing: 'new', order: 2, url: PHOTO('two') }),
      ]),
      ana(
        'Kept 9 newer values of the store: location isle name.fr "Île" (no value in an earlier import)',
        [price(1)],
      ),
    ],
    {
      new: {
        status: 'sold_out',
        title: { fr: 'Neuve' },
        location: { name: { en: 'The isle', fr: 'Île' } },
        amenities: [{ label: { en: 'Pool', fr: 'Piscine' } }],
        photos: [{ alt: { fr: 'Façade' } }, { url: PHOTO('two') }],
        unique_features: [{ label: { en: 'Sun', fr: 'Soleil' } }],
      },
      copy: { price_from: 7, status: 'coming_soon' },
    },
  ],
  [
    'does not repeat an import that was undone',
    [
      ana('New: new', addAll),
      undoes,
      ana('locations!A4 (slug "isle") was removed from the store after your export', [price(1)]),
    ],
    {
      new: { status: 'hidden' },
      'casa-0': { price_from: 1, photos: addresses('0-a', '0-b', '0-c') },
    },
  ],
  [
    'lets an editor change a cell and change it back',
    [
      ana('price_from 100 → 295', [price(295), setStatus('sold_out')]),
      ben('1 changed', [title('By Ben')]),
      ana('price_from 295 → 100', [price(100), setStatus('listed')]),
    ],
    { 'casa-0': { price_from: 100, status: 'listed', title: { en: 'By Ben' } } },
  ],
  [
    'keeps a value that another editor has reverted',
    [
      ana('price_from 100 → 295', [price(295)]),
      exports('ben'),
      ben('price_from 295 → 100', [price(100)]),
      ana('Kept 1 newer value of the store: casa-0 price_from 100 (295 in an earlier import)', [
        price(1, 'casa-1'),
      ]),
    ],
    { 'casa-0': { price_from: 100 } },
  ],
  [
    "does not overwrite another editor's price after an import of a different cell",
    [
      exports('ben'),
      ben('price_from 100 → 300', [price(300)]),
      ana('price_from 300 (100 in your export)', [title('New')]),
      ana('!price_from has changed since your export: the store has 300, your file has 310\n', [
        price(310),
      ]),
      ana(
        'Warning: listings!Q2 (slug "casa-0"): price_from has changed since your export: the store has 300, your file has 310',
        [],
        '--overwrite',
      ),
    ],
    { 'casa-0': { price_from: 310 } },
  ],
  [
    'names the author of a conflicting value that was imported from the same export',
    [
      ben('price_from 100 → 300', [price(300)]),
      ana(
        '!price_from has changed since your export: the store has 300, your file has 310. The stored value was imported 2026-11-21 10:00 UTC by ben, import-listings',
        [price(310)],
      ),
    ],
    { 'casa-0': { price_from: 300 } },
  ],
  [
    "does not treat values from another editor's file as edits",
    [
      ana('price_from 100 → 295', [price(295)]),
      gives('ana', 'ben'),
      exports('cleo'),
      editor('cleo')('price_from 295 → 300', [price(300)]),
      ben('Kept 1 newer value of the store: casa-0 price_from 300', [title('New')]),
    ],
    { 'casa-0': { price_from: 300, title: { en: 'New' } } },
  ],
  [
    'rejects a new photo if another editor has added one to the same home',
    [
      ana('1 photo added', [newPhoto('one', 4)]),
      ben(
        '!photos!A2 (slug "casa-0"): photos has changed in the store too: one.jpg was added since your export. The stored value was imported 2026-11-21 10:00 UTC by ana',
        [newPhoto('two', 4)],
      ),
    ],
    { 'casa-0': { photos: addresses('0-a', '0-b', '0-c', 'one') } },
  ],
  [
    'does not remove a photo that another editor has translated',
    [
      ben('alt.fr', [change('photos', 'casa-0', { 'alt.fr': 'Photo' }, 1)]),
      ana(
        '!listings!A2 (slug "casa-0"): photos is without casa-0 0-b.jpg, an entry that has changed since your export',
        [removePhoto],
      ),
      ana('1 photo removed', [], '--overwrite'),
    ],
    { 'casa-0': { photos: addresses('0-a', '0-c') } },
  ],
  [
    'does not report a renumbered list as a conflict',
    [
      exports('ana'),
      patch({ slug: 'casa-0', photos: [...addresses('0-c', '0-b', '0-a', 'd')] }),
      ana('photos 4 rows (3 rows in your export)', [price(1)]),
    ],
    { 'casa-0': { price_from: 1, photos: addresses('0-c', '0-b', '0-a', 'd') } },
  ],
  [
    'accepts only new records from a file without marks',
    [
      patch({ slug: 'casa-0', price_from: 300 }),
      ana(
        '!the file: has rows whose hidden cells are lost, so that an import cannot tell which cells you edited. 1 cell differs from the store, first listings!Q2: price_from 300 → 100',
        [clearMarks],
      ),
      exports('ana'),
      ana('New: new', [clearMarks, ...addAll.slice(0, 5)]),
    ],
    { 'casa-0': { price_from: 300 } },
  ],
  [
    'identifies the export by the marks if the sheet "read me" is missing',
    [
      patch({ slug: 'casa-0', price_from: 300 }),
      ana('Kept 1 newer value', [(sheets) => delete sheets['read me'], title('New')]),
      ana('New', [title('Newer')]),
    ],
    { 'casa-0': { price_from: 300, title: { en: 'Newer' } } },
  ],
  [
    'ignores the mark of another row',
    [
      ana('!1 cell differs from the store', [
        price(1),
        ({ listings = [] }) => {
          const [first, second] = listings;
          Object.assign(first ?? {}, { 'as of': second?.['as of'] });
        },
      ]),
    ],
  ],
  [
    'imports a workbook that was rehearsed in another database',
    [
      goesTo(another),
      ana(FROM_ELSEWHERE, [price(295)]),
      ana('price_from 100 → 295', [], '--overwrite'),
      goesTo(production),
      ana('price_from 100 → 295'),
    ],
    { 'casa-0': { price_from: 295 } },
  ],
  [
    'does not revert newer values with a workbook of another database',
    [
      patch({ slug: 'casa-0', price_from: 300 }),
      goesTo(another),
      exports('ana'),
      goesTo(production),
      ana(FROM_ELSEWHERE, [title('New')]),
    ],
    { 'casa-0': { price_from: 300 } },
  ],
  [
    'imports a workbook with copied rows into an empty database twice',
    [
      does(() => another.clear()),
      goesTo(another),
      ana('9 listings: 9 added', [copyHome({ slug: 'copy' })]),
      ana('casa-0: price_from 100 → 1\ncopy: price_from 100 → 2\n', [price(1), price(2, 'copy')]),
    ],
    { copy: { price_from: 2 } },
  ],
  [
    'rejects an edited row of a removed record, unless --overwrite adds it again',
    [
      does(() => imports.load({ removed: { locations: [], amenities: ['wifi'] } })),
      ana('amenities!A2 (slug "wifi") was removed from the store after your export\n'),
      ana('!was removed from the store after your export. Delete the row', [
        change('amenities', 'wifi', { 'label.es': 'Red' }),
        change('listings', 'casa-0', { amenities: 'wifi' }),
      ]),
      ana('1 amenity: 1 added', [], '--overwrite'),
    ],
    { 'casa-0': { amenities: [{ label: { en: 'Wi-Fi', es: 'Red' } }] } },
  ],
  [
    'retains with --prune the listings that others have changed',
    [
      ben('1 changed', [price(7, 'casa-7')]),
      ana(
        'casa-7 has changed since the export and stays',
        [({ listings = [] }) => listings.splice(6, 2)],
        '--prune',
        '--many',
      ),
    ],
    { 'casa-6': { status: 'hidden' }, 'casa-7': { status: 'listed' } },
  ],
  [
    'reverts the changes of others with --overwrite',
    [
      patch({ slug: 'casa-0', price_from: 298, hero_photo: PHOTO('0-b') }),
      ana(
        'Warning: listings!Q2 (slug "casa-0"): price_from has changed since your export: the store has 298, your file has 100',
        [],
        '--overwrite',
      ),
    ],
    { 'casa-0': { price_from: 100 } },
  ],
  [
    'rejects a column that was shifted on its own, unless --many is given',
    [
      ana(
        '!2 (slug "casa-0"): price_from has the value of another row, as do 8 of the 8 changed cells in this column. The column seems to have been sorted or shifted on its own. Sort all columns together, or use --many to import the file.',
        [shiftPrices],
      ),
      ana('price_from 100 → 107', [], '--many'),
    ],
    { 'casa-0': { price_from: 107 } },
  ],
  [
    'imports an edited JSON export repeatedly',
    [
      exportsJson,
      json('ana', 'price_from 100 → 1', { 'casa-0': { price_from: 1 } }),
      json('ana', 'price_from 1 → 2', { 'casa-0': { price_from: 2 } }),
      json('ben', '!by ana, import-listings listings.json', { 'casa-0': { price_from: 3 } }),
      does(() => imports.setStatus('hidden', 'casa-1')),
      json(
        'ana',
        '!properties[1] (slug "casa-1"): has changed since the file was made, 2026-11-21 10:00 UTC by ben, set-status',
        { 'casa-0': { price_from: 4 } },
      ),
    ],
    { 'casa-0': { price_from: 2 }, 'casa-1': { status: 'hidden' } },
  ],
  [
    'accepts a JSON record without a version although the store has changed',
    [
      exportsJson,
      patch({ slug: 'casa-0', price_from: 300 }),
      does(() => imports.load({ locations: [{ slug: 'bay', name: { en: 'Cove' } }] }, '--patch')),
      json('ana', 'price_from 300 → 100', { 'casa-0': { as_of: undefined } }),
    ],
    { 'casa-0': { price_from: 100, location: { name: { en: 'The bay' } } } },
  ],
  [
    'rejects an undo file if a record has changed since the import',
    [
      ana('New: new', addAll.slice(0, 3)),
      does(async () => files.set('undo', readFileSync(undo, 'utf8'))),
      patch({ slug: 'new', name: 'Newer' }),
      {
        says: `!properties[0] (slug "new"): has changed since the file was made, 2026-11-21 10:00 UTC by cleo, import-listings listings.json`,
        run: () => importAs('ana', files.get('undo')),
      },
    ],
    { new: { name: 'Newer' } },
  ],
];

const ALL: Story[] = [
  ...ONE_EDITOR.map(([name, edits, says, stored]): Story => [name, [ana(says, edits)], stored]),
  ...TWO_EDITORS.flatMap(([name, first, second, stored]) =>
    [[], [exports('ben')]].map(
      (before): Story => [
        `lets two editors ${name} with ${before.length > 0 ? 'two exports' : 'one export'}`,
        [...before, ana('changed', [first]), ben('changed', [second])],
        stored,
      ],
    ),
  ),
  ...STORIES,
];

describe('an import', () => {
  it.each(ALL)('%s', async (_title, steps, stored = {}) => {
    let before = catalogue();
    let code: number | null = 0;
    for (const { says, run } of steps) {
      before = catalogue();
      const done = await run();
      code = done.code;
      const report = `${done.stderr}${done.stdout}`;
      const isRejected = says.startsWith('!');
      expect(report).toContain(isRejected ? says.slice(1) : says);
      expect(code, report).toBe(isRejected ? 1 : 0);
      if (isRejected) expect(catalogue()).toEqual(before);
    }
    for (const [slug, fields] of Object.entries(stored)) {
      expect(await imports.stored(slug), slug).toMatchObject(fields);
    }
    if (code === 1) return;
    const [after, saved] = [catalogue(), existsSync(undo) ? readFileSync(undo) : undefined];
    const repeated = await importAs(...last);
    expect([repeated.code, catalogue()], repeated.stderr).toEqual([0, after]);
    if (saved === undefined) return;
    const undone = await importAs('cleo', saved, '--many');
    expect([undone.code, catalogue()], undone.stderr).toEqual([0, before]);
  });
});
