/** Only the cells that an editor has touched count: the edits of one workbook, and two editors. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { editWorkbook } from '../../support/node/workbook.ts';

type Edit = Parameters<typeof editWorkbook>[1];
type Row = Parameters<Edit>[0][string][number];

const imports = openMemoryImports();
const other = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'touched-'));
afterAll(() => rmSync(folder, { recursive: true }));
const PHOTO = (name: string) => `https://a.example/${name}.jpg`;
const photo = (name: string, order: number) => ({
  url: PHOTO(name),
  alt: { en: `Photo ${name}` },
  section: 'gallery',
  web_visible: true,
  web_sort_order: order,
});
const homes = Array.from({ length: 8 }, (_, at) =>
  propertyOf({
    slug: `casa-${at}`,
    name: `Casa ${at}`,
    hid: `H-${at}`,
    title: { en: `Home ${at}` },
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
const LOCATIONS = [
  { slug: 'bay', name: { en: 'The bay' } },
  { slug: 'hill', name: { en: 'The hill' } },
];

beforeEach(async () => {
  imports.clear();
  const amenities = [{ slug: 'wifi', label: { en: 'Wi-Fi' } }];
  const done = await imports.load({ locations: LOCATIONS, amenities, properties: homes });
  expect(done).toMatchObject({ code: 0, stderr: '' });
});

const rowOf = (rows: Row[] = [], slug: string): Row =>
  rows.find((row) => row.slug === slug) ?? expect.fail(slug);
const photosOf = (rows: Row[] = [], slug = 'casa-0') => rows.filter((row) => row.listing === slug);
const stored = async (slug = 'casa-0') => (await imports.stored(slug)) ?? expect.fail(slug);
const importEdited = async (exported: Uint8Array, edit: Edit, ...options: string[]) =>
  imports.loadWorkbook(await editWorkbook(exported, edit), ...options);
const patch = (fields: object) => imports.load({ properties: [fields] }, '--patch');
const setPrice =
  (slug: string, price: number): Edit =>
  ({ listings }) => {
    rowOf(listings, slug).price_from = price;
  };

/** The edit, what the report says of it, and what is stored afterwards. */
const EDITS: [title: string, edit: Edit, line: string, expected: () => Promise<void>][] = [
  [
    'another address in the row of a photo is another address of that photo',
    ({ photos }) => Object.assign(photosOf(photos)[0] ?? {}, { url: PHOTO('other') }),
    '; photo other.jpg: url "…ps://a.example/0-a.jpg" → "…ps://a.example/other.jpg"',
    async () => {
      const { photos, hero_photo_id } = await stored();
      expect(photos[0]).toMatchObject({ url: PHOTO('other'), alt: { en: 'Photo 0-a' } });
      expect(photos[0]?.id).toBe(hero_photo_id);
    },
  ],
  [
    'another address in the row of a video is another address of that video',
    ({ videos }) => Object.assign(photosOf(videos)[0] ?? {}, { url: PHOTO('film') }),
    'video film.jpg: url',
    async () =>
      expect((await stored()).videos).toMatchObject([{ url: PHOTO('film'), type: 'hero' }]),
  ],
  [
    'two photos swap their addresses',
    ({ photos }) => {
      const [first, second] = photosOf(photos);
      Object.assign(first ?? {}, { url: PHOTO('0-b') });
      Object.assign(second ?? {}, { url: PHOTO('0-a') });
    },
    'photo 0-b.jpg: url',
    async () =>
      expect((await stored()).photos.slice(0, 2)).toMatchObject([
        { url: PHOTO('0-b'), alt: { en: 'Photo 0-a' } },
        { url: PHOTO('0-a'), alt: { en: 'Photo 0-b' } },
      ]),
  ],
  [
    'all photos are at another host',
    ({ photos = [] }) => {
      for (const row of photos) row.url = String(row.url).replace('a.example', 'cdn.example');
    },
    '8 listings: 0 added, 8 changed, 0 unchanged',
    async () => expect((await stored('casa-7')).photos[2]?.url).toBe('https://cdn.example/7-c.jpg'),
  ],
  [
    'an order of 0.5 moves a photo to the front, and the other numbers stay',
    ({ photos }) => Object.assign(photosOf(photos)[2] ?? {}, { order: 0.5 }),
    'casa-0: photo 0-c.jpg: web_sort_order 3 → 0',
    async () =>
      expect((await stored()).photos.map((each) => [each.url, each.web_sort_order])).toEqual([
        [PHOTO('0-c'), 0],
        [PHOTO('0-a'), 1],
        [PHOTO('0-b'), 2],
      ]),
  ],
  [
    'a copied row of a photo with another address is a new photo',
    ({ photos = [] }) => {
      const [first] = photosOf(photos);
      photos.push({ ...first, url: PHOTO('new'), order: 4, hero: null });
    },
    'photos!A26 is a copy of photos!A2: a new record with its own id\n',
    async () => {
      const { photos } = await stored();
      expect(photos.map(({ url }) => url)).toEqual(['0-a', '0-b', '0-c', 'new'].map(PHOTO));
      expect(new Set(photos.map(({ id }) => id)).size).toBe(4);
    },
  ],
  [
    'a copied row of a home with another slug is a new home',
    ({ listings = [] }) => {
      listings.push({ ...rowOf(listings, 'casa-0'), slug: 'casa-dos' });
    },
    'listings!A10 is a copy of listings!A2: a new record with its own id\n',
    async () => {
      expect(await stored('casa-dos')).toMatchObject({ hid: null, price_from: 100, photos: [] });
      expect(await stored()).toMatchObject({ hid: 'H-0' });
    },
  ],
  [
    'a new home has the slug that another one had before',
    ({ listings = [] }) => {
      const required = { name: 'Another', status: 'listed', display_order: 9 };
      rowOf(listings, 'casa-0').slug = 'casa-cero';
      listings.push({ slug: 'casa-0', ...required });
    },
    'casa-0: slug "casa-0" → "casa-cero"',
    async () => {
      expect(await stored('casa-0')).toMatchObject({ name: 'Another', hid: null });
      expect(await stored('casa-cero')).toMatchObject({ name: 'Casa 0', hid: 'H-0' });
    },
  ],
  [
    'a copied row of a feature is a new feature',
    ({ features = [] }) => {
      const [first] = photosOf(features);
      features.push({ ...first, icon_slug: 'sauna', order: 0 });
    },
    'casa-0: 1 unique feature added',
    async () =>
      expect((await stored()).unique_features).toEqual([
        { icon_slug: 'sauna', label: { en: 'Sea 0' } },
        { icon_slug: 'sea', label: { en: 'Sea 0' } },
        { icon_slug: 'pool', label: { en: 'Pool 0' } },
      ]),
  ],
  [
    'a row without its hidden cells is found by its hid',
    ({ listings }) => {
      const row = rowOf(listings, 'casa-0');
      Object.assign(row, { id: null, hid: 'H-0', 'as of': null, slug: 'casa-cero' });
    },
    'casa-0: slug "casa-0" → "casa-cero"',
    async () => expect((await stored('casa-cero')).photos).toHaveLength(3),
  ],
  [
    'rows that are sorted by another column change nothing',
    (sheets) => {
      for (const rows of Object.values(sheets)) rows.reverse();
    },
    'Nothing changed: the store already holds all of it.',
    async () => expect((await stored()).photos[0]?.url).toBe(PHOTO('0-a')),
  ],
  [
    'columns in another order keep their marks',
    ({ listings = [] }) => {
      for (const row of listings.splice(0).toReversed()) {
        const { slug, 'as of': asOf, ...others } = row;
        listings.push({ 'as of': asOf ?? null, ...others, slug: slug ?? null });
      }
    },
    'Nothing changed: the store already holds all of it.',
    async () => expect(await stored()).toMatchObject({ price_from: 100 }),
  ],
];

it.each(EDITS)('%s', async (_title, edit, line, expected) => {
  const edited = await editWorkbook(await imports.exportedWorkbook(), edit);
  const done = await imports.loadWorkbook(edited);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  expect(done.stdout).toContain(line);
  await expected();
  const again = await imports.loadWorkbook(edited);
  expect(again, again.stderr).toMatchObject({ code: 0 });
  await expected();
});

/** Edits that are rejected, and what the first line says. */
const REJECTED: [title: string, edit: Edit, problem: RegExp][] = [
  [
    'a row without its id whose slug is not known',
    ({ listings }) =>
      Object.assign(rowOf(listings, 'casa-0'), { id: null, hid: null, slug: 'casa-cero' }),
    /^listings!A2 \(slug "casa-cero"\): slug "casa-cero" has no id, and the listing of its mark has the slug casa-0 now/,
  ],
  [
    'a column that was shifted by one row',
    ({ listings = [] }) => {
      const prices = listings.map((row) => row.price_from ?? null);
      for (const [at, row] of listings.entries()) row.price_from = prices.at(at - 1) ?? null;
    },
    /^listings!\w+2 \(slug "casa-0"\): price_from has the value of another row, as 8 of the 8 changed cells of this column: it was sorted or shifted alone\. --many imports it/,
  ],
];

it.each(REJECTED)('rejects %s', async (_title, edit, problem) => {
  const edited = await editWorkbook(await imports.exportedWorkbook(), edit);
  const before = imports.rows('SELECT * FROM properties ORDER BY id');
  const done = await imports.loadWorkbook(edited);
  expect([done.code, done.stderr]).toEqual([1, expect.stringMatching(problem)]);
  expect(imports.rows('SELECT * FROM properties ORDER BY id')).toEqual(before);
});

it.each([
  ['listings', 'Homes'],
  ['photos', 'Pictures'],
  ['videos', 'Films'],
  ['amenities', 'Comfort'],
])('rejects the sheet %s under the name %s, which would lose its edits', async (name, other) => {
  const rejected = await importEdited(await imports.exportedWorkbook(), (sheets) => {
    sheets[other] = sheets[name] ?? [];
    delete sheets[name];
  });
  expect(rejected).toEqual({
    code: 1,
    stdout: '',
    stderr: `the file: the sheet "${other}" has the columns of the missing sheet ${name}: give it that name\n1 problem. Nothing was changed.\n`,
  });
});

it('a sheet that was sorted by another column keeps the order of photos with one number', async () => {
  const photos = ['c', 'b', 'a'].map((name) => ({ ...photo(name, 1), id: crypto.randomUUID() }));
  await imports.load({ properties: [{ slug: 'casa-0', photos }] }, '--patch');
  const edit =
    (isUpwards: boolean): Edit =>
    ({ photos: rows = [] }) =>
      rows.sort((a, b) => (`${a.url}` < `${b.url}` === isUpwards ? -1 : 1));
  const exported = await imports.exportedWorkbook();
  for (const isUpwards of [true, false]) {
    const { stdout } = await importEdited(exported, edit(isUpwards));
    expect(stdout).toContain('Nothing changed');
  }
});

it('imports a column that was shifted alone with --many', async () => {
  const shift = REJECTED.at(-1)?.[1] ?? expect.fail();
  const done = await importEdited(await imports.exportedWorkbook(), shift, '--many');
  expect(done, done.stderr).toMatchObject({ code: 0 });
  expect(await stored()).toMatchObject({ price_from: 107 });
});

describe('two editors', () => {
  /** The edits of B and A, which of them have an export of their own, and what is stored. */
  const STORIES: [title: string, first: Edit, second: Edit, expected: () => Promise<void>][] = [
    [
      'touch different homes',
      setPrice('casa-0', 1),
      ({ listings }) => Object.assign(rowOf(listings, 'casa-1'), { 'title.en': 'New' }),
      async () => {
        expect(await stored('casa-0')).toMatchObject({ price_from: 1 });
        expect(await stored('casa-1')).toMatchObject({ title: { en: 'New' } });
      },
    ],
    [
      'touch different cells of one home',
      setPrice('casa-0', 1),
      ({ listings }) => Object.assign(rowOf(listings, 'casa-0'), { 'title.en': 'New' }),
      async () => expect(await stored()).toMatchObject({ price_from: 1, title: { en: 'New' } }),
    ],
    [
      'translate one gallery',
      ({ photos }) => {
        for (const row of photosOf(photos)) row['alt.es'] = 'Foto';
      },
      ({ photos }) => {
        for (const row of photosOf(photos)) row['alt.fr'] = 'Photo';
      },
      async () => {
        const { photos } = await stored();
        expect(photos.map(({ alt }) => alt)).toEqual(
          ['0-a', '0-b', '0-c'].map((name) => ({ en: `Photo ${name}`, es: 'Foto', fr: 'Photo' })),
        );
      },
    ],
    [
      'add a photo, and translate another one of the same home',
      ({ photos = [] }) => photos.push({ listing: 'casa-0', order: 4, url: PHOTO('new') }),
      ({ photos }) => Object.assign(photosOf(photos)[0] ?? {}, { 'alt.fr': 'Photo' }),
      async () => {
        const { photos } = await stored();
        expect(photos.map(({ url }) => url)).toEqual(['0-a', '0-b', '0-c', 'new'].map(PHOTO));
        expect(photos[0]?.alt).toEqual({ en: 'Photo 0-a', fr: 'Photo' });
      },
    ],
    [
      'remove a photo, and change another one of the same home',
      ({ photos = [] }) => photos.splice(1, 1),
      ({ photos }) => Object.assign(photosOf(photos)[0] ?? {}, { 'alt.en': 'New' }),
      async () => {
        const { photos } = await stored();
        expect(photos.map(({ alt }) => alt.en)).toEqual(['New', 'Photo 0-c']);
      },
    ],
    [
      'add a feature, and change the label of another one',
      ({ features = [] }) => features.push({ listing: 'casa-0', order: 3, icon_slug: 'sauna' }),
      ({ features }) => Object.assign(photosOf(features)[1] ?? {}, { 'label.en': 'Big pool' }),
      async () =>
        expect((await stored()).unique_features).toEqual([
          { icon_slug: 'sea', label: { en: 'Sea 0' } },
          { icon_slug: 'pool', label: { en: 'Big pool' } },
          { icon_slug: 'sauna', label: {} },
        ]),
    ],
    [
      'rename a home, and change its price',
      ({ listings }) => Object.assign(rowOf(listings, 'casa-0'), { slug: 'casa-cero' }),
      setPrice('casa-0', 1),
      async () => expect(await stored('casa-cero')).toMatchObject({ price_from: 1 }),
    ],
    [
      'change two texts of one location',
      ({ locations }) => Object.assign(rowOf(locations, 'bay'), { 'name.es': 'La cala' }),
      ({ locations }) => Object.assign(rowOf(locations, 'bay'), { 'name.fr': 'La baie' }),
      async () =>
        expect((await stored()).location?.name).toEqual({
          en: 'The bay',
          es: 'La cala',
          fr: 'La baie',
        }),
    ],
  ];
  const BOTH = STORIES.flatMap(([title, ...story]) =>
    ['one export', 'an export each'].map((exports) => [exports, title, ...story] as const),
  );

  it.each(BOTH)('with %s %s: nothing is lost', async (exports, _title, first, second, expected) => {
    const one = await imports.exportedWorkbook();
    const other = exports === 'one export' ? one : await imports.exportedWorkbook();
    const done = [await importEdited(one, first), await importEdited(other, second)];
    expect(
      done.map(({ code }) => code),
      done[1]?.stderr,
    ).toEqual([0, 0]);
    await expected();
  });

  it('a cell that both have changed is a problem that names both values and the last change', async () => {
    const [one, other] = [await imports.exportedWorkbook(), await imports.exportedWorkbook()];
    vi.stubEnv('GITHUB_ACTOR', 'ana');
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 21, 10), toFake: ['Date'] });
    await importEdited(one, setPrice('casa-0', 298));
    vi.useRealTimers();
    vi.unstubAllEnvs();
    const rejected = await importEdited(other, setPrice('casa-0', 305));
    expect([rejected.code, rejected.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^listings!\w+2 \(slug "casa-0"\): price_from 305 is 298 in the store now, changed 2026-11-21 10:00 UTC by ana, import-listings catalogue\.xlsx \(.*\)\nExport the catalogue again/,
      ),
    ]);
    expect(await stored()).toMatchObject({ price_from: 298 });
    // The cell of one export may be corrected.
    expect(await importEdited(one, setPrice('casa-0', 305))).toMatchObject({ code: 0 });
    // Both say the same.
    expect(await importEdited(other, setPrice('casa-0', 305))).toMatchObject({ code: 0 });

    const taken = await importEdited(other, setPrice('casa-0', 310), '--overwrite');
    expect([taken.code, taken.stderr]).toEqual([
      0,
      expect.stringMatching(/^Warning: listings!\w+2 \(slug "casa-0"\): price_from 310 is 305 in/),
    ]);
    expect(await stored()).toMatchObject({ price_from: 310 });
  });

  it('an untouched cell that is newer in the store stays, and is named', async () => {
    const exported = await imports.exportedWorkbook();
    vi.stubEnv('GITHUB_ACTOR', 'ana');
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 21, 10), toFake: ['Date'] });
    await patch({ slug: 'casa-0', price_from: 298, hero_photo: PHOTO('0-b') });
    await imports.load({ locations: [{ slug: 'bay', name: { en: 'The cove' } }] }, '--patch');
    vi.useRealTimers();
    vi.unstubAllEnvs();
    for (const [edit, changed] of [
      [() => {}, 0],
      [setPrice('casa-1', 1), 1],
    ] as const) {
      const { code, stdout, stderr } = await importEdited(exported, edit);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain(
        `8 listings: 0 added, ${changed} changed, ${8 - changed} unchanged\n`,
      );
      expect(stdout).toContain('3 cells are newer in the store, and stay: ');
      expect(stdout).toContain(
        'casa-0 price_from 298 (21 Nov, ana), the file has 100 as in its export',
      );
      expect(stdout).not.toContain('Nothing changed');
    }
    expect(await stored()).toMatchObject({
      price_from: 298,
      location: { name: { en: 'The cove' } },
    });
    const taken = await importEdited(exported, () => {}, '--overwrite');
    expect(taken.stderr.match(/^Warning: /gm)).toHaveLength(3);
    expect(await stored()).toMatchObject({
      price_from: 100,
      location: { name: { en: 'The bay' } },
    });
  });

  it('a row without its hidden cells, whose slug another editor has changed, is found by the former slug', async () => {
    const exported = await imports.exportedWorkbook();
    await patch({ hid: 'H-0', slug: 'casa-cero' });
    const done = await importEdited(exported, ({ listings = [] }) => {
      Object.assign(rowOf(listings, 'casa-0'), {
        id: null,
        hid: null,
        'as of': null,
        price_from: 1,
      });
    });
    expect(done, done.stderr).toMatchObject({ code: 0 });
    expect(await stored('casa-cero')).toMatchObject({ hid: null, price_from: 1 });
    expect(await imports.stored('casa-0')).toBeUndefined();
  });

  it('a list that both have changed is a problem', async () => {
    const [one, other] = [await imports.exportedWorkbook(), await imports.exportedWorkbook()];
    const add =
      (name: string): Edit =>
      ({ photos = [] }) =>
        photos.push({ listing: 'casa-0', order: 9, url: PHOTO(name) });
    expect(await importEdited(one, add('one'))).toMatchObject({ code: 0 });
    const rejected = await importEdited(other, add('other'));
    expect([rejected.code, rejected.stderr]).toEqual([
      1,
      expect.stringMatching(
        /\(slug "casa-0"\): photos 4 rows is 4 other rows in the store now, changed /,
      ),
    ]);
  });

  it('a row whose record was removed since is named, and a problem if it is touched', async () => {
    const exported = await imports.exportedWorkbook();
    await imports.load({ removed: { locations: [], amenities: ['wifi'] } });
    const untouched = await importEdited(exported, () => {});
    expect([untouched.code, untouched.stdout]).toEqual([
      0,
      expect.stringContaining(
        'amenities!A2 (slug "wifi") was removed from the store since the export\n',
      ),
    ]);
    const touched = await importEdited(exported, ({ amenities }) => {
      rowOf(amenities, 'wifi')['label.es'] = 'Wifi';
    });
    expect([touched.code, touched.stderr]).toEqual([
      1,
      expect.stringContaining('has been removed from the store since the export'),
    ]);
  });
});

it('marks count without the sheet "read me"', async () => {
  const exported = await imports.exportedWorkbook();
  await patch({ slug: 'casa-0', price_from: 298 });
  const done = await importEdited(exported, (sheets) => {
    delete sheets['read me'];
  });
  expect(done.stdout, done.stderr).toContain('1 cell is newer in the store, and stays: casa-0');
});

it('marks of another database do not count', async () => {
  const exported = await imports.exportedWorkbook();
  await patch({ slug: 'casa-0', price_from: 298 });
  imports.rows(`UPDATE database_identity SET lineage = 'other'`);
  expect(await importEdited(exported, () => {})).toMatchObject({ code: 0, stderr: '' });
  expect(await stored()).toMatchObject({ price_from: 100 });
});

it('a workbook in a repository is the truth: after each commit the store equals the file', async () => {
  const exported = await imports.exportedWorkbook();
  const edited = (...edits: Edit[]) =>
    editWorkbook(exported, (sheets) => {
      for (const edit of edits) edit(sheets);
    });
  const added: Edit = ({ listings = [], photos = [] }) => {
    listings.push({ slug: 'nueva', name: 'Nueva', status: 'listed', display_order: 9 });
    photos.push({ listing: 'nueva', order: 1, url: PHOTO('nueva'), hero: 'yes' });
    Object.assign(rowOf(listings, 'casa-1'), { 'title.en': 'Merged' });
  };
  const withoutPhoto: Edit = ({ photos = [] }) => photos.splice(1, 1);
  const price = setPrice('casa-0', 1);
  // What happens before the commit, the file of the commit, and how many listings its import changes.
  const COMMITS: [title: string, between: () => Promise<unknown>, edits: Edit[], count: number][] =
    [
      ['an edit', async () => {}, [price], 1],
      ['a second edit of the same cell', async () => {}, [setPrice('casa-0', 2)], 1],
      ['its revert', async () => {}, [price], 1],
      [
        'a merge, after another editor',
        () => patch({ slug: 'casa-2', city: 'Inca' }),
        [price, added],
        2,
      ],
      ['its revert, after a status', () => imports.setStatus('hidden', 'casa-3'), [price], 2],
      [
        'a photo less, after an undo',
        () => imports.run(undo, '--many', '--overwrite'),
        [withoutPhoto],
        3,
      ],
      ['the photo again', async () => {}, [], 1],
    ];
  const undo = join(folder, 'undo.json');
  const documents = ({ rows }: typeof imports) =>
    rows(`SELECT id, slug, document FROM properties WHERE status <> 'hidden' ORDER BY id`);
  let before = exported;
  for (const [title, between, edits, count] of COMMITS) {
    await between();
    const file = await edited(...edits);
    // The job of the pull request, in a database of its own.
    other.clear();
    expect(await other.loadWorkbook(before, '--no-undo'), title).toMatchObject({ code: 0 });
    const dry = await other.loadWorkbook(file, '--dry-run', '--prune', '--overwrite');
    expect(dry, `${title} ${dry.stderr}`).toMatchObject({ code: 0 });
    await other.loadWorkbook(file, '--prune', '--overwrite', '--no-undo');
    rmSync(undo, { force: true });
    const done = await imports.loadWorkbook(file, '--prune', '--overwrite', '--undo', undo);
    expect([title, done.code], done.stderr).toEqual([title, 0]);
    expect({ title, stored: documents(imports) }).toEqual({ title, stored: documents(other) });
    const changed = / (\d+) changed/.exec(done.stdout)?.[1];
    expect([title, Number(changed)]).toEqual([title, count]);
    before = file;
  }
});
