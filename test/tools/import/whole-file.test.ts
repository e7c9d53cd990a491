/** A whole file: its values as they are stored, and the records that it replaces. */

import { beforeEach, expect, it } from 'vitest';
import { propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

// Computed by Python's uuid.uuid5 under dab30d73-9ba7-4be9-995d-d83048c8cdd4.
const ID_OF_LOCATION = '71add1fe-794e-5ece-bba1-b7df74a74a65';
const ID_OF_HID = '0a733ae9-ac99-5d39-aff9-63cd6fd581fc';
const ID_OF_SLUG = '26c49cef-45d2-575d-8fdf-e0df5d9f275d';
const ID_OF_URL = '4459ad89-5545-5454-9fa1-749010c760b7';
const EAST = '00000000-0000-4000-8000-0000000000ea';
const WEST = '00000000-0000-4000-8000-0000000000ee';

const home = propertyOf({ slug: 'home', display_order: 1 });
const photo = { section: 'hero', web_visible: true, web_sort_order: 1 };
const video = { type: 'hero', web_visible: true, sort_order: 1 };

const imports = openMemoryImports();
beforeEach(() => imports.clear());

const load = async (content: unknown, ...options: string[]) => {
  const done = await imports.load(content, ...options);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  return done.stdout;
};

/** Returns the stored listing of a file with one, `home`. */
async function storedOf(fields: object) {
  await load({ properties: [{ ...home, ...fields }] });
  return imports.stored('home');
}

it('a file without ids gets them from hid, slug and URL, the same for ever', async () => {
  const { id: _, ...own } = home;
  const url = 'https://images.example.com/1.jpg';
  const media = { photos: [{ ...photo, url }], videos: [{ ...video, url }] };
  const properties = [
    { ...own, hid: 'H-1', ...media },
    { ...own, slug: 'casa-marea', location: 'mallorca' },
  ];
  await load({ locations: [{ slug: 'mallorca', name: {} }], properties });
  expect(await imports.stored('home')).toMatchObject({
    id: ID_OF_HID,
    photos: [{ id: ID_OF_URL }],
    videos: [{ id: ID_OF_URL }],
  });
  expect(await imports.stored('casa-marea')).toMatchObject({
    id: ID_OF_SLUG,
    location: { id: ID_OF_LOCATION },
  });
});

it('a file may have a byte order mark, and any number that JavaScript holds', async () => {
  const text = `\ufeff${JSON.stringify({ properties: [{ ...home, size: 0 }] })}`;
  for (const number of ['9007199254740992', '123456789012345680000', '1E+23']) {
    await load(text.replace('"size":0', `"size":${number}`));
    expect((await imports.stored('home'))?.size).toBe(Number(number));
  }
});

it('a URL is stored in normal form', async () => {
  const urls = [
    ['HTTPS://IMAGES.Example.com:443/a/../é.jpg', 'https://images.example.com/%C3%A9.jpg'],
    [`https://a.example/Casa d'Or 1.jpg\u00a0`, 'https://a.example/Casa%20d%27Or%201.jpg'],
    ['https://a.example/"onload="x', 'https://a.example/%22onload=%22x'],
    [`https://a.example/?q='#'`, 'https://a.example/?q=%27#%27'],
    ['https://a.example/<script>', 'https://a.example/%3Cscript%3E'],
  ];
  const stored = await storedOf({
    financial_analysis_url: urls[0]?.[0],
    photos: urls.map(([written]) => ({ ...photo, url: written })),
    videos: urls.map(([written]) => ({ ...video, url: written })),
  });
  const normal = urls.map(([, url]) => ({ url }));
  expect(stored).toMatchObject({ photos: normal, videos: normal });
  expect(stored?.financial_analysis_url).toBe(normal[0]?.url);
});

it('a text, a list, a URL in its normal form, and the nesting of a document are bounded', async () => {
  const widest = '\u{1f600}'.repeat(100_000);
  const nested = (levels: number) => ({
    description: {
      fr: { type: 'doc', attrs: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) },
    },
  });
  const features = (length: number) => ({
    unique_features: Array(length).fill({ icon_slug: 'sun', label: {} }),
  });
  await storedOf({ name: widest, ...nested(127), ...features(1_000) });
  for (const fields of [
    { name: `${widest}x` },
    nested(128),
    features(1_001),
    { financial_analysis_url: `https://a.example/${'é'.repeat(20_000)}` },
  ]) {
    expect((await imports.load({ properties: [{ ...home, ...fields }] })).code).toBe(1);
  }
});

it('blank texts are no texts', async () => {
  const empty = { type: 'doc', content: [{ type: 'paragraph' }] };
  const blank = { city: ' ', title: { fr: '' }, description: { en: '', fr: empty } };
  expect(await storedOf(blank)).toMatchObject({ city: null, title: {}, description: {} });
});

it('records may swap slugs, and take a slug from which another one moves away', async () => {
  const [a, b, c] = ['swap-a', 'swap-b', 'swap-c'].map((slug) => propertyOf({ slug }));
  const places = (...slugs: string[]) =>
    [EAST, WEST].map((id, index) => ({ id, slug: slugs[index], name: {} }));
  await load({ locations: places('east', 'west'), properties: [a, b, c] });
  const properties = [
    { ...a, slug: 'swap-b' },
    { ...b, slug: 'swap-a' },
    { ...c, slug: 'swap-d' },
    propertyOf({ slug: 'swap-c' }),
  ];
  const swapped = { locations: places('west', 'east'), properties };
  expect(await load(swapped, '--many')).toContain('4 listings: 1 added, 3 changed, 0 unchanged');
  expect(await imports.stored('swap-b')).toMatchObject({ id: a?.id });
  const [east] = imports.rows(`SELECT slug FROM locations WHERE id = '${EAST}'`);
  expect(east).toEqual({ slug: 'west' });
});

it('the export of an empty store has no record, and is imported in both forms', async () => {
  expect(await imports.load(await imports.exported())).toMatchObject({ code: 0, stderr: '' });
  const sheets = await imports.exportedWorkbook();
  expect(await imports.load(sheets)).toMatchObject({ code: 0, stderr: '' });
});
