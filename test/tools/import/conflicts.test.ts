/**
 * A file that was made before the store changed, by editors who do not know of each other: an export
 * as JSON or a workbook, or the file that undoes an import. `--overwrite` replaces what the others have stored.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { add, change, type Edit, editWorkbook } from '../../support/node/workbook.ts';

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'conflicts-'));
const undo = join(folder, 'undo.json');
afterAll(() => rmSync(folder, { recursive: true }));

const PHOTO = (name: string) => `https://a.example/${name}.jpg`;
const homes = Array.from({ length: 8 }, (_, at) =>
  propertyOf({
    slug: `casa-${at}`,
    name: `Casa ${at}`,
    hid: `H-${at}`,
    price_from: 100 + at,
    display_order: at,
    location: 'bay',
    amenities: ['wifi'],
    photos: ['a', 'b'].map((name, index) => ({
      url: PHOTO(`${at}-${name}`),
      section: 'gallery',
      web_visible: true,
      web_sort_order: index + 1,
    })),
    hero_photo: PHOTO(`${at}-a`),
  }),
);
const locations = [{ slug: 'bay', name: { en: 'The bay' } }];
const amenities = ['wifi', 'pool'].map((slug) => ({ slug, label: { en: slug } }));

beforeEach(async () => {
  imports.clear();
  rmSync(undo, { force: true });
  await imports.load({ locations, amenities, properties: homes });
});

/** An export as JSON, with other fields of some listings. */
const json = (changes: Record<string, object>) => async () => {
  const file: { properties: { slug: string }[] } = JSON.parse(await imports.exported());
  return {
    ...file,
    properties: file.properties.map((each) => ({ ...each, ...changes[each.slug] })),
  };
};
/** An export as a workbook, with edits. */
const sheets =
  (...edits: Edit[]) =>
  async () =>
    editWorkbook(await imports.exportedWorkbook(), ...edits);
const patch = (fields: object) => imports.load({ properties: [fields] }, '--patch');
/** The file that undoes a patch. */
const undoOf = (fields: object) => async () => {
  await imports.load({ properties: [fields] }, '--patch', '--undo', undo);
  return readFileSync(undo);
};
const rename = (en: string) =>
  imports.load({ locations: [{ slug: 'bay', name: { en } }] }, '--patch');

/** Runs what Ana does at ten o’clock. */
async function atTen(work: () => Promise<unknown>) {
  vi.stubEnv('GITHUB_ACTOR', 'ana');
  vi.useFakeTimers({ now: Date.UTC(2026, 10, 21, 10), toFake: ['Date'] });
  await work();
  vi.useRealTimers();
  vi.unstubAllEnvs();
}

/** Expects these fields of stored listings, by slug. */
async function expectStored(expected: Record<string, object>) {
  for (const [slug, fields] of Object.entries(expected)) {
    expect(await imports.stored(slug), slug).toMatchObject(fields);
  }
}
const rows = () => imports.rows('SELECT * FROM properties ORDER BY id');

const SINCE = 'has changed since the file was made, 2026-11-21 10:00 UTC by ana,';
const IMPORTED = 'changed 2026-11-21 10:00 UTC by ana, import-listings listings.json (operation 2)';

type Story = [title: string, file: () => Promise<unknown>, between: () => Promise<unknown>];

/** What happens after the file is made, its problems, and what `--overwrite` stores. */
it.each<[...Story, problems: string[], stored: Record<string, object>]>([
  [
    'an export as JSON',
    json({ 'casa-2': { title: { en: 'Fishers' } } }),
    async () => {
      await imports.setStatus('hidden', 'casa-1');
      await patch({ slug: 'casa-0', price_from: 305 });
    },
    [
      `properties[0] (slug "casa-0"): ${SINCE} import-listings listings.json (operation 3): the file would change price_from 305 → 100`,
      `properties[1] (slug "casa-1"): ${SINCE} set-status (operation 2): the file would change status "hidden" → "listed"`,
    ],
    {
      'casa-0': { price_from: 100 },
      'casa-1': { status: 'listed' },
      'casa-2': { title: { en: 'Fishers' } },
    },
  ],
  [
    'a cell that both have changed',
    sheets(change('listings', 'casa-0', { price_from: 305 })),
    () => patch({ slug: 'casa-0', price_from: 298 }),
    [`listings!Q2 (slug "casa-0"): price_from 305 is 298 in the store now, ${IMPORTED}`],
    { 'casa-0': { price_from: 305 } },
  ],
  [
    'a list that both have changed',
    sheets(add('photos', { listing: 'casa-0', order: 9, url: PHOTO('one') })),
    () =>
      patch({ slug: 'casa-0', photos: ['0-a', '0-b', '2'].map((each) => ({ url: PHOTO(each) })) }),
    [`photos!A2 (slug "casa-0"): photos 3 rows is 3 other rows in the store now, ${IMPORTED}`],
    { 'casa-0': { photos: ['0-a', '0-b', 'one'].map((each) => ({ url: PHOTO(each) })) } },
  ],
  [
    'the undo of an import that another one follows',
    undoOf({ slug: 'casa-0', price_from: 310 }),
    () => patch({ slug: 'casa-0', name: 'New', status: 'hidden' }),
    [
      `properties[0] (slug "casa-0"): ${SINCE} import-listings listings.json (operation 3): the file would change name "New" → "Casa 0"; status "hidden" → "listed"; price_from 310 → 100`,
    ],
    { 'casa-0': { name: 'Casa 0', price_from: 100, status: 'listed' } },
  ],
  [
    'the undo of an added home that has changed',
    undoOf({ slug: 'new', name: 'New', status: 'listed', display_order: 9 }),
    () => patch({ slug: 'new', name: 'Newer' }),
    [
      `properties[0] (slug "new"): ${SINCE} import-listings listings.json (operation 3): the file would change name "Newer" → "New"; status "listed" → "hidden"`,
    ],
    { new: { status: 'hidden' } },
  ],
])(
  '%s: a problem, and a warning with --overwrite',
  async (_title, file, between, problems, stored) => {
    const content = await file();
    await atTen(between);
    const operations = imports.rows('SELECT id FROM operations ORDER BY rowid');
    const run = async (...options: string[]) => {
      const { code, stderr } = await imports.load(content, ...options);
      const named = operations.reduce(
        (text, { id }, at) => text.replaceAll(`${id}`, `operation ${at + 1}`),
        stderr,
      );
      return [code, ...named.trimEnd().split('\n')];
    };
    const before = rows();
    expect(await run()).toEqual([
      1,
      ...problems,
      'Export the catalogue again, and repeat the change there. --overwrite replaces what is stored.',
      `${problems.length} problem${problems.length > 1 ? 's' : ''}. Nothing was changed.`,
    ]);
    expect(rows()).toEqual(before);
    const [code, ...warnings] = await run('--overwrite');
    expect([code, ...warnings.slice(0, problems.length)]).toEqual([
      0,
      ...problems.map((each) => `Warning: ${each}`),
    ]);
    await expectStored(stored);
  },
);

it.each<[...Story, stored: Record<string, object>]>([
  [
    'a JSON record without a version is not checked',
    json({ 'casa-0': { as_of: undefined } }),
    () => patch({ slug: 'casa-0', price_from: 1 }),
    { 'casa-0': { price_from: 100 } },
  ],
  [
    'neither is one that is not stored',
    json({}),
    async () => imports.clear(),
    { 'casa-0': { price_from: 100 } },
  ],
  [
    'a location or an amenity with another name ages no file',
    json({ 'casa-0': { price_from: 7 } }),
    async () => {
      await rename('The cove');
      await imports.load({ amenities: [{ slug: 'wifi', label: { en: 'W' } }] }, '--patch');
    },
    { 'casa-0': { price_from: 7, location: { name: { en: 'The bay' } } } },
  ],
  [
    'a cell that says what the other editor has stored is no conflict',
    sheets(change('listings', 'casa-0', { price_from: 298 })),
    () => patch({ slug: 'casa-0', price_from: 298 }),
    { 'casa-0': { price_from: 298 } },
  ],
  [
    'a row without its hidden cells, whose slug has changed, is found by the former slug',
    sheets(change('listings', 'casa-0', { id: null, hid: null, 'as of': null, price_from: 1 })),
    () => patch({ hid: 'H-0', slug: 'casa-cero' }),
    { 'casa-cero': { hid: null, price_from: 1 } },
  ],
  [
    'marks of another database do not count',
    sheets(),
    async () => {
      await patch({ slug: 'casa-0', price_from: 298 });
      imports.rows(`UPDATE database_identity SET lineage = 'other'`);
    },
    { 'casa-0': { price_from: 100 } },
  ],
])('%s', async (_title, file, between, stored) => {
  const content = await file();
  await between();
  const done = await imports.load(content);
  expect(done, done.stderr).toMatchObject({ code: 0 });
  await expectStored(stored);
});

it('an export is imported again after it was corrected, unless another export came between', async () => {
  const exported = JSON.parse(await imports.exported());
  const book = await imports.exportedWorkbook();
  const load = (price_from: number) => {
    const properties = [{ ...exported.properties[0], price_from }];
    return imports.load({ ...exported, properties });
  };
  const loadBook = async (price_from: number) =>
    imports.load(await editWorkbook(book, change('listings', 'casa-0', { price_from })));
  for (const again of [load, loadBook]) {
    for (const price of [1, 2]) {
      expect(await again(price)).toMatchObject({ code: 0, stderr: '' });
    }
    await imports.load(await json({ 'casa-0': { price_from: 3 } })());
    expect(await again(1)).toMatchObject({ code: 1 });
    await patch({ slug: 'casa-0', price_from: 100 });
  }
});

it('an untouched cell that is newer in the store stays, and is named, without the sheet "read me" too', async () => {
  const exported = await imports.exportedWorkbook();
  await atTen(async () => {
    await patch({ slug: 'casa-0', price_from: 298, hero_photo: PHOTO('0-b') });
    await rename('The cove');
  });
  const kept = { price_from: 298, location: { name: { en: 'The cove' } } };
  for (const [edit, changed] of [
    [() => {}, 0],
    [(each: Parameters<Edit>[0]) => delete each['read me'], 0],
    [change('listings', 'casa-1', { price_from: 1 }), 1],
  ] as const) {
    const { code, stdout, stderr } = await imports.load(await editWorkbook(exported, edit));
    expect([code, stderr]).toEqual([0, '']);
    const counts = `8 listings: 0 added, ${changed} changed, ${8 - changed} unchanged\n`;
    expect(stdout).toContain(counts);
    expect(stdout).toMatch(
      /^3 cells are newer in the store, and stay: .*casa-0 price_from 298 \(21 Nov, ana\), the file has 100 as in its export/m,
    );
    expect(stdout).not.toContain('Nothing changed');
    await expectStored({ 'casa-0': kept });
  }
  const taken = await imports.load(exported, '--overwrite');
  expect(taken.stderr.match(/^Warning: /gm)).toHaveLength(3);
  await expectStored({ 'casa-0': { price_from: 100, location: { name: { en: 'The bay' } } } });
});

it('a row whose record was removed since is named, and a problem if it is touched', async () => {
  const exported = await imports.exportedWorkbook();
  await imports.load({ removed: { locations: [], amenities: ['pool'] } });
  expect((await imports.load(exported)).stdout).toContain(
    'amenities!A2 (slug "pool") was removed from the store since the export\n',
  );
  const touched = await editWorkbook(exported, change('amenities', 'pool', { 'label.es': 'Agua' }));
  const { code, stderr } = await imports.load(touched);
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('has been removed from the store since the export'),
  ]);
});

it('a workbook in a repository is the truth: after each commit the store equals the file', async () => {
  const exported = await imports.exportedWorkbook();
  const other = openMemoryImports();
  const price = (price_from: number) => change('listings', 'casa-0', { price_from });
  const merged = [
    price(1),
    change('listings', 'casa-1', { 'title.en': 'Merged' }),
    add('listings', { slug: 'new', name: 'New', status: 'listed', display_order: 9 }),
    add('photos', { listing: 'new', order: 1, url: PHOTO('new'), hero: 'yes' }),
  ];
  const withoutPhoto: Edit = ({ photos = [] }) => photos.splice(1, 1);
  const takeBack = () => imports.run(undo, '--many', '--overwrite');
  const nothing = async () => {};
  // What happens before the commit, the file of the commit, and how many listings its import changes.
  const commits: [title: string, between: () => Promise<unknown>, edits: Edit[], count: number][] =
    [
      ['an edit', nothing, [price(1)], 1],
      ['a second edit of the same cell', nothing, [price(2)], 1],
      ['its revert', nothing, [price(1)], 1],
      ['a merge, after another editor', () => patch({ slug: 'casa-2', city: 'Inca' }), merged, 2],
      ['its revert, after a status', () => imports.setStatus('hidden', 'casa-3'), [price(1)], 2],
      ['a photo less, after an undo', takeBack, [withoutPhoto], 3],
      ['the photo again', nothing, [], 1],
    ];
  const documents = ({ rows }: typeof imports) =>
    rows(`SELECT id, slug, document FROM properties WHERE status <> 'hidden' ORDER BY id`);
  let before = exported;
  for (const [title, between, edits, count] of commits) {
    await between();
    const file = Buffer.from(await editWorkbook(exported, ...edits));
    // The job of the pull request, in a separate database.
    other.clear();
    expect(await other.load(before), title).toMatchObject({ code: 0 });
    const dry = await other.load(file, '--dry-run', '--prune', '--overwrite');
    expect(dry, `${title} ${dry.stderr}`).toMatchObject({ code: 0 });
    await other.load(file, '--prune', '--overwrite');
    rmSync(undo, { force: true });
    const done = await imports.load(file, '--prune', '--overwrite', '--undo', undo);
    expect([title, done.code], done.stderr).toEqual([title, 0]);
    expect({ title, stored: documents(imports) }).toEqual({ title, stored: documents(other) });
    expect([title, Number(/ (\d+) changed/.exec(done.stdout)?.[1])]).toEqual([title, count]);
    before = file;
  }
});
