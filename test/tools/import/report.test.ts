/** The report of an import: dry runs, pruned listings, emptied fields, and quality. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { importListings } from '../../../tools/import/command.ts';
import { runImportOn } from '../../support/node/in-process.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { tapD1 } from '../../support/tap.ts';

const SAMPLES = readFileSync('tools/samples/listings.json', 'utf8');
const HOME = 'casa-ginebrera';
const languages = z.record(z.string(), z.string());
const catalogue = z.object({
  locations: z.array(z.looseObject({ id: z.string(), name: languages })),
  amenities: z.array(z.looseObject({ label: languages })),
  properties: z.array(
    z.looseObject({
      slug: z.string(),
      title: languages.default({}),
      photos: z.array(z.looseObject({})).default([]),
    }),
  ),
});

const imports = openMemoryImports();
beforeEach(async () => {
  imports.clear();
  await imports.load(SAMPLES);
});

/** Returns the samples, and one of their public homes. */
function samples() {
  const file = catalogue.parse(JSON.parse(SAMPLES));
  const home = file.properties.find(({ slug }) => slug === HOME);
  if (home === undefined) throw new Error(`the samples have no ${HOME}`);
  return { file, home };
}

describe('a dry run', () => {
  it('names each listing that would change with its fields, old and new, and writes nothing', async () => {
    const before = imports.rows('SELECT * FROM properties');
    const { file, home } = samples();
    const old = home.price_from;
    delete home.title.fr;
    home.title.en = 'Stone house above the cove near Sóller';
    home.photos.splice(-3);
    Object.assign(home, { price_from: 121000, name: `${home.name} ${'x'.repeat(200)}` });
    file.properties.push({ ...home, slug: 'new-home', id: undefined, hid: null });
    const dry = await imports.load(file, '--dry-run');
    expect(dry).toMatchObject({
      code: 0,
      stderr: `Warning: would empty title.fr of 1 listing: ${HOME}\n`,
    });
    const line = dry.stdout.split('\n').find((each) => each.startsWith(`${HOME}: `));
    expect(line).toMatch(/: name ".{1,60}" → ".{1,70}x…"; /);
    expect(line).toContain(
      '; title.en "…the cove at Deià" → "…the cove near Sóller"; title.fr removed; ',
    );
    expect(line).toContain(`; price_from ${old} → 121000; `);
    expect(line).toMatch(/; 3 photos removed$/);
    expect(dry.stdout).toContain('\nNew: new-home\n');
    expect(dry.stdout).toContain('72 listings: 1 added, 1 changed, 70 unchanged');
    expect(imports.rows('SELECT * FROM properties')).toEqual(before);
    expect(imports.rows('SELECT kind FROM import_staging')).toEqual([{ kind: 'applied' }]);
  });

  it('begins with the summary, and lists the first 50 changes, with --all every one', async () => {
    const { properties } = samples().file;
    const renamed = properties.map((each) => ({ ...each, name: 'Renamed' }));
    const { stdout } = await imports.load({ properties: renamed }, '--dry-run');
    const lines = stdout.split('\n');
    expect(lines.slice(0, 2)).toEqual([
      'Dry run: nothing was written. An import would give:',
      '71 listings: 0 added, 71 changed, 0 unchanged',
    ]);
    expect(lines.filter((line) => line.includes('"Renamed"'))).toHaveLength(50);
    expect(lines.at(-2)).toBe('And 21 more changes: --all lists them');
    const all = await imports.load({ properties: renamed }, '--dry-run', '--all');
    expect(all.stdout.match(/"Renamed"/g)).toHaveLength(71);
  });

  it('names the changes that reach listings outside the file, and the listings that --prune hides', async () => {
    const { locations, properties } = samples().file;
    const [place] = locations;
    const renamed = { ...place, name: { ...place?.name, en: 'New name' } };
    const outside = await imports.load({ locations: [renamed] }, '--dry-run');
    expect(outside.stdout).toContain('location mallorca: name.en "Mallorca" → "New name"');
    const [, lines = ''] = outside.stdout.split(
      'Outside the file, because their location or amenities change:\n',
    );
    const users = properties.filter((each) => each.location_id === place?.id);
    expect(users.length).toBeGreaterThan(1);
    for (const { slug } of users) {
      expect(lines).toContain(`${slug}: location.name.en "Mallorca" → "New name"\n`);
    }
    const others = properties.filter(({ slug }) => slug !== HOME);
    const pruned = await imports.load({ properties: others }, '--dry-run', '--prune');
    expect(pruned.stdout).toContain(
      `Hidden, because the file does not name them:\n${HOME}: status "listed" → "hidden"\n`,
    );
  });
});

it('--prune hides up to a fifth of the public listings, --prune=all any number, and the last line counts them', async () => {
  const { properties } = samples().file;
  for (const [kept, option, hidden] of [
    [66, '--prune', 5],
    [66, '--prune', 0],
    [10, '--prune=all', 52],
  ] as const) {
    const done = await imports.load({ properties: properties.slice(-kept) }, option);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    const count = /\nHidden, because the file does not name them: (\d+) listings\n$/;
    expect(count.exec(done.stdout)?.[1]).toBe(String(hidden));
  }
});

describe('an import that empties fields', () => {
  it('needs --allow-emptied for more than a fifth of the public listings', async () => {
    const { file } = samples();
    const amenities = file.amenities.map((each) => ({ ...each, label: { en: each.label.en } }));
    const english = { ...file, amenities };
    const rejected = await imports.load(english);
    expect(rejected.stderr).toMatch(
      /^Warning: would empty label\.es, label\.fr of amenity wifi, shown by 61 listings: /m,
    );
    expect(rejected.stderr).toMatch(/^the file: would empty something of \d+ of the 66 public /m);
    expect((await imports.load(english, '--dry-run')).stderr).toBe(rejected.stderr);
    expect(await imports.load(english, '--allow-emptied')).toMatchObject({ code: 0 });
  });

  it.each([
    ['photos', () => []],
    ['gallery', (photos: object[]) => photos.map((each) => ({ ...each, web_visible: false }))],
  ])('names the emptied %s of one listing', async (name, change) => {
    const { file, home } = samples();
    Object.assign(home, { photos: change(home.photos), hero_photo_id: null });
    const { stderr } = await imports.load(file);
    expect(stderr).toContain(`Warning: emptied ${name} of 1 listing: ${HOME}\n`);
  });
});

it('a file to undo an import is never replaced, and is gone if the import fails', async () => {
  const undo = join(mkdtempSync(join(tmpdir(), 'undo-')), 'undo.json');
  const patch = { properties: [{ slug: HOME, city: 'Inca' }] };
  writeFileSync(undo, 'mine');
  const { code, stderr } = await imports.load(patch, '--patch', '--undo', undo);
  expect([code, readFileSync(undo, 'utf8')]).toEqual([1, 'mine']);
  expect(stderr).toMatch(
    /^The file that would undo the import is not written: .*: file already exists\. With --no-undo there is none\.\nNothing was changed\.\n$/,
  );
  rmSync(undo);
  const failing = tapD1(imports.database, (call) => {
    return existsSync(undo) ? Promise.reject(new Error('D1 has failed')) : call();
  });
  const path = join(undo, '../patch.json');
  writeFileSync(path, JSON.stringify(patch));
  const failed = await runImportOn(failing, importListings, path, '--patch', '--undo', undo);
  expect(failed.stderr).toBe('The import failed: D1 has failed\nNothing was changed.\n');
  expect(existsSync(undo)).toBe(false);
});

it('problems are red and warnings yellow where there are colours', async () => {
  vi.stubEnv('FORCE_COLOR', '1');
  vi.stubEnv('NO_COLOR', undefined);
  const wrong = await imports.load({ properties: [{}] });
  const emptied = await imports.load({ properties: [{ slug: HOME, city: null }] }, '--patch');
  vi.unstubAllEnvs();
  expect(wrong.stderr).toContain('\u001b[31mproperties[0]: ');
  expect(emptied.stderr).toBe(`\u001b[33mWarning: emptied city of 1 listing: ${HOME}\u001b[39m\n`);
});

it('quality is reported with counts, and rejects nothing; earlier findings take one line', async () => {
  const photo = { url: 'https://a.example/1.jpg', section: 'hero', web_visible: true };
  const photos = [{ ...photo, alt: { en: 'A view' }, web_sort_order: 1 }];
  const whole = { title: { en: 'House' }, location: 'mallorca', photos };
  const videos = (...urls: string[]) => ({
    videos: urls.map((url) => ({ url, type: 'hero', web_visible: true, sort_order: 1 })),
  });
  const homes = {
    'with-tags': { ...whole, description: { en: 'A <b>large</b> house' } },
    'with-comparison': { ...whole, description: { en: 'a < b and c > d' } },
    bare: {},
    'bare-and-hidden': { status: 'hidden' },
    'no-alt': { ...whole, photos: [{ ...photo, web_sort_order: 1 }] },
    'no-hero': { ...whole, photos: photos.map((each) => ({ ...each, section: 'gallery' })) },
    page: { ...whole, ...videos('https://www.youtube.com/watch?v=1', 'https://vimeo.com/1') },
    film: { ...whole, ...videos('https://player.vimeo.com/external/1.hd.mp4') },
  };
  const own = { name: 'Home', status: 'listed', display_order: 1 };
  const properties = Object.entries(homes).map(([slug, fields]) => ({ slug, ...own, ...fields }));
  const done = await imports.load({ properties });
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout.split('\n').filter((line) => line.startsWith('Worth a look'))).toEqual([
    'Worth a look: HTML tags in a text, which visitors would see: 1 listing: with-tags',
    'Worth a look: public without a photo: 1 listing: bare',
    'Worth a look: public without a title: 1 listing: bare',
    'Worth a look: public without a location: 1 listing: bare',
    'Worth a look: a gallery without any alt text: 1 listing: no-alt',
    'Worth a look: public without a hero image: 1 listing: no-hero',
    'Worth a look: a video address that is a page and no file: 1 listing: page',
  ]);
  const bare = { ...properties[2], beds: 2 };
  const again = await imports.load({ properties: [bare, ...properties.slice(3)] });
  expect(again.stdout).toContain('\nWorth a look, as before: 4 listings\n');
  expect(again.stdout.match(/Worth a look/g)).toHaveLength(1);
});
