/** A week of an editor with one workbook, and the undo of each day. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { editWorkbook } from '../../support/node/workbook.ts';

type Edit = Parameters<typeof editWorkbook>[1];
type Row = Parameters<Edit>[0][string][number];

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'week-'));
afterAll(() => rmSync(folder, { recursive: true }));

const rowOf = (rows: Row[] = [], slug: string): Row =>
  rows.find((row) => row.slug === slug) ?? expect.fail(slug);
const photosOf = (rows: Row[] = [], slug: string) => rows.filter((row) => row.listing === slug);

const NEW_PHOTOS = ['terrace', 'pool'].map(
  (name, at): Row => ({
    listing: 'casa-nueva',
    order: at + 1,
    url: `https://photos.sample-listings.test/casa-nueva/${name}.jpg`,
    'alt.en': `The ${name}`,
    'alt.es': null,
    hero: at === 0 ? 'yes' : null,
  }),
);

/** The day, what it changes, what the report says, and the slug that the day adds. */
const WEEK: [day: string, edit: Edit, lines: string[], added?: string][] = [
  [
    'prices',
    ({ listings }) => {
      rowOf(listings, 'casa-ginebrera').price_from = 295000;
      rowOf(listings, 'villa-azenha').price_from = 170500.5;
    },
    ['71 listings: 0 added, 2 changed, 69 unchanged'],
  ],
  [
    'a hidden home',
    ({ listings }) => {
      rowOf(listings, 'quinta-do-alecrim').status = 'hidden';
    },
    ['71 listings: 0 added, 1 changed, 70 unchanged'],
  ],
  [
    'a new home with photos and alt texts',
    ({ listings, photos }) => {
      listings?.push({
        slug: 'casa-nueva',
        name: 'Casa Nueva',
        status: 'listed',
        display_order: 99,
        'title.en': 'The new house',
        location: 'mallorca',
        amenities: 'wifi; sauna',
      });
      photos?.push(...NEW_PHOTOS);
    },
    ['72 listings: 1 added, 0 changed, 71 unchanged'],
    'casa-nueva',
  ],
  [
    'a renamed slug, under which its photos stay',
    ({ listings }) => {
      rowOf(listings, 'mas-calafona').slug = 'mas-de-calafona';
    },
    ['71 listings: 0 added, 1 changed, 70 unchanged'],
  ],
  [
    'a photo moved to another place, and one to another home',
    ({ photos }) => {
      const [first, second] = photosOf(photos, 'casa-ginebrera');
      if (second !== undefined) second.order = Number(first?.order) - 1;
      const [, moved] = photosOf(photos, 'villa-azenha');
      if (moved !== undefined) Object.assign(moved, { listing: 'haus-lerchfeld', order: 99 });
    },
    ['71 listings: 0 added, 3 changed, 68 unchanged'],
  ],
  [
    'a language emptied',
    ({ listings }) => {
      const row = rowOf(listings, 'casa-ginebrera');
      for (const column of ['title.fr', 'description.fr', 'location_text.fr']) row[column] = null;
    },
    ['71 listings: 0 added, 1 changed, 70 unchanged'],
  ],
  [
    'a location renamed',
    ({ locations }) => {
      rowOf(locations, 'mallorca')['name.en'] = 'Majorca';
    },
    ['13 locations: 0 added, 1 changed, 12 unchanged'],
  ],
  [
    'the slug of a location, which its listings name by the former one',
    ({ locations }) => {
      rowOf(locations, 'mallorca').slug = 'majorca';
    },
    ['13 locations: 0 added, 1 changed, 12 unchanged'],
  ],
  [
    'an amenity added',
    ({ listings, amenities }) => {
      amenities?.push({ slug: 'climbing-wall', 'label.en': 'Climbing wall' });
      const row = rowOf(listings, 'casa-ginebrera');
      row.amenities = `${row.amenities}, climbing-wall`;
    },
    [
      '27 amenities: 1 added, 0 changed, 26 unchanged',
      '71 listings: 0 added, 1 changed, 70 unchanged',
    ],
  ],
];

const catalogue = () =>
  ['properties', 'locations', 'amenities'].map((table) =>
    imports.rows(
      table === 'properties'
        ? "SELECT id, slug, status, source FROM properties WHERE slug NOT LIKE 'casa-nueva' ORDER BY id"
        : `SELECT * FROM ${table} ORDER BY 1`,
    ),
  );

it.each(WEEK)('%s, and its undo', async (day, edit, lines, added) => {
  imports.clear();
  await imports.load(readFileSync('tools/samples/listings.json', 'utf8'));
  const before = catalogue();
  const exported = await imports.exportedWorkbook();
  const edited = await editWorkbook(exported, edit);
  const undo = join(folder, `${day}.json`);
  const done = await imports.loadWorkbook(edited, '--prune', '--undo', undo);
  expect(done.code, done.stderr).toBe(0);
  for (const line of lines) expect(done.stdout).toContain(line);
  const again = await imports.loadWorkbook(edited, '--dry-run');
  expect(again.stdout, again.stderr).toContain('Nothing changed');
  expect(catalogue()).not.toEqual(added === undefined ? before : []);

  const undone = await imports.run(undo, '--many', '--no-undo');
  expect(undone.code, undone.stderr).toBe(0);
  expect(catalogue()).toEqual(before);
  if (added !== undefined) expect(await imports.stored(added)).toMatchObject({ status: 'hidden' });
});

it('a moved photo keeps its own texts', async () => {
  imports.clear();
  await imports.load(readFileSync('tools/samples/listings.json', 'utf8'));
  const [, move = expect.fail()] = WEEK[4] ?? [];
  const edited = await editWorkbook(await imports.exportedWorkbook(), move);
  const { photos: own = [] } = (await imports.stored('villa-azenha')) ?? {};
  const [, moved] = own.toSorted((a, b) => a.web_sort_order - b.web_sort_order);
  expect(await imports.loadWorkbook(edited)).toMatchObject({ code: 0 });
  const photos = (await imports.stored('haus-lerchfeld'))?.photos ?? [];
  expect(photos.at(-1)).toEqual({ ...moved, web_sort_order: 99 });
});
