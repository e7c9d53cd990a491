/** Every problem of an import, in the words of its user. A rejected import changes nothing. */

import { beforeAll, expect, it } from 'vitest';
import { BAY, fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import type { Finished } from '../../support/node/project-copy.ts';

const SLUG_RULE =
  'must be lower-case letters and digits in words joined by single hyphens or underscores';
const ID = '6f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';
const OTHER_ID = '7f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';
const HELP =
  '`npm run -s export-listings -- --out catalogue.xlsx` lists the known locations and amenities';
/** As long as three texts in one listing may be. */
const LONG = Object.fromEntries(['en', 'es', 'fr'].map((each) => [each, 'x'.repeat(100_000)]));

const home = { id: ID, slug: 'home', name: 'Home', status: 'listed', display_order: 1 };
const unkeyed = { ...home, id: undefined };
const url = 'https://images.example.com/1.jpg';
const photo = { id: OTHER_ID, url, section: 'hero', web_visible: true, web_sort_order: 1 };
const marea = propertyOf({ slug: 'casa-marea', hid: 'H-1', city: 'Inca' });
const secret = propertyOf({ slug: 'secret', status: 'hidden', city: 'Inca' });
const other = propertyOf({ slug: 'other', hid: 'H-3', city: 'Inca' });
const twin = propertyOf({ slug: 'twin', hid: 'H-3', city: 'Inca' });
const others = [other, twin];

const imports = openMemoryImports();
beforeAll(async () => {
  const large = { description: LONG, location_text: LONG, amenities: ['wifi'] };
  const photos = [{ ...photo, id: undefined }];
  const locations = [{ slug: 'coast', name: {} }];
  const moved = { ...unkeyed, status: 'hidden', slug: 'moved', hid: 'H-old', location: 'coast' };
  const file = [marea, other, { ...twin, hid: 'H-4' }, secret];
  await imports.load(fileOf([...file, propertyOf({ slug: 'large', ...large })]));
  imports.repeatHid('twin', 'H-3');
  await imports.load({ locations, properties: [{ ...moved, photos }] });
  const old = await imports.stored('moved');
  const renamed = { id: old?.location?.id, slug: 'shore' };
  const changed = {
    slug: 'moved',
    hid: 'H-new',
    photos: [{ id: old?.photos[0]?.id, url: `${url}?2` }],
  };
  await imports.load({ locations: [renamed], properties: [changed] }, '--patch');
});

type Case = [title: string, run: () => Promise<Finished>, ...problems: (string | RegExp)[]];

const whole =
  (content: unknown, ...options: string[]) =>
  () =>
    imports.load(content, ...options);
const patch = (content: object) => whole(content, '--patch');

const FILES: Case[] = [
  ['no JSON', whole('{'), /^the file: is neither JSON /],
  ['no UTF-8', whole(new Uint8Array([0xff])), 'the file: is not UTF-8 text: save it as UTF-8'],
  ['deep JSON', whole('['.repeat(100_000) + ']'.repeat(100_000)), 'the file: is nested too deep'],
  ['a list', whole([]), 'the file: must be of type object'],
  [
    'sections that are none',
    whole({ homes: [], amenities: {} }),
    'the file: amenities {} must be of type array',
    'the file: homes is not a field of this resource',
  ],
  [
    'two sections of one name',
    whole('{"properties":[{"slug":1}],"properties":[{"slug":2}],"homes":[]}'),
    'the file: properties appears twice in the same object',
  ],
  [
    'fields and numbers that JSON.parse loses',
    whole(
      `{"properties":[${JSON.stringify({ ...home, size: 1, beds: 2 })
        .replace('{', '{"na\\u006de":"a",')
        .replace('"size":1', '"size":9007199254740993')
        .replace('"beds":2', '"beds":-1e999')}],
        "removed":{"locations":[],"amenities":[],"amenities":[]}}`,
    ),
    'properties[0] (slug "home"): name appears twice in the same object',
    'properties[0] (slug "home"): size is a number that JavaScript would round to 9007199254740992',
    'properties[0] (slug "home"): beds is a number that is too large',
    'the file: removed.amenities appears twice in the same object',
  ],
  [
    'records without a key, or with that of another one',
    whole({
      locations: [{ name: {} }],
      amenities: [{ label: {} }],
      properties: [
        { ...unkeyed, hid: 'H-9', slug: 'a' },
        { ...unkeyed, hid: 'H-9', slug: 'b', status: 'x' },
        { ...unkeyed, slug: 'c' },
        { ...unkeyed, slug: 'c' },
        { ...home, slug: 'd' },
        { ...home, slug: 'e', id: ID.toUpperCase() },
        1,
      ],
    }),
    'locations[0]: slug is required',
    'amenities[0]: slug is required',
    'properties[1] (slug "b"): status "x" must be one of listed, coming_soon, sold_out, hidden',
    'properties[6]: must be of type object',
    'properties[3] (slug "c"): slug "c" repeats the slug of properties[2] (slug "c")',
    'properties[1] (slug "b"): hid "H-9" repeats the id of properties[0] (slug "a")',
    `properties[5] (slug "e"): id "${ID}" repeats the id of properties[4] (slug "d")`,
  ],
  [
    'names that the store has for another record, or for none',
    whole({
      properties: [
        propertyOf({ slug: 'casa-marea' }),
        { ...home, location: 'hills', amenities: ['wifi', 'wify'], hero_photo: url },
      ],
    }),
    `properties[0] (slug "casa-marea"): slug "casa-marea" is the slug of the stored listing ${marea.id}: give that id, or leave the id out and import the file with --patch`,
    'properties[1] (slug "home"): location "hills" is not known',
    'properties[1] (slug "home"): amenity "wify" is not known: did you mean wifi?',
    `properties[1] (slug "home"): hero_photo "${url}" must be the address of one of the photos of this listing`,
    HELP,
  ],
  [
    'a malformed slug, beside the known one that is meant',
    whole({ properties: [{ ...home, amenities: ['wi fi'] }] }),
    `properties[0] (slug "home"): amenities.0 "wi fi" ${SLUG_RULE}: did you mean wifi?`,
  ],
  [
    'an amenity that makes a listing outside the file too large',
    whole({ amenities: [{ slug: 'wifi', label: LONG }] }),
    /^the stored listing \(slug "large"\): is too large to store: 90\d{4} bytes, at most 900000$/,
  ],
  [
    'too many hidden listings',
    whole({ properties: [marea, ...others] }, '--prune'),
    'the file: leaves out 1 of the 4 public listings, more than a fifth: --prune=all hides them all',
  ],
  [
    'too many emptied listings',
    whole({ properties: [...others, secret].map((each) => ({ ...each, city: undefined })) }),
    'Warning: would empty city of 3 listings: other, twin, secret',
    'the file: would empty something of 2 of the 4 public listings, more than a fifth: a JSON file with --patch, or a workbook without the column, keeps it; --allow-emptied empties it',
  ],
];

const description = (place: object) => ({ description: { fr: { type: 'doc', ...place } } });
const nested = JSON.parse('['.repeat(128) + ']'.repeat(128));

/** The fields of a listing, and their problem. */
const FIELDS: [object, string][] = [
  [{ name: undefined }, 'name is required'],
  [{ name: ' ' }, 'name " " must not be blank'],
  [{ bed: 1 }, 'bed is not a field of this resource: did you mean beds?'],
  [{ fraction_from: '0.125' }, 'fraction_from "0.125" must be a fraction such as 1/8'],
  [{ display_order: 2 ** 31 }, 'display_order 2147483648 must be at most 2147483647'],
  [
    description({ attrs: { '\0': 1 } }),
    'description.fr {"type":"doc","attrs":"…"} must not contain NUL (U+0000)',
  ],
  [
    description({ marks: [{ href: '\ud800' }] }),
    'description.fr {"type":"doc","marks":"…"} must not contain half of a surrogate pair',
  ],
  [
    description({ attrs: nested }),
    'description.fr {"type":"doc","attrs":"…"} must be nested at most 128 levels deep',
  ],
  [{ photos: [photo, photo] }, `photos.1 "${photo.url}" repeats photos.0`],
  [
    { photos: [photo, { ...photo, url: `${photo.url}?2` }] },
    `photos.1 "${photo.url}?2" repeats the id of photos.0`,
  ],
  [{ location: 'bay', location_id: BAY }, 'location "bay" must not be combined with location_id'],
  [
    { financial_analysis_url: `https://o'brien.example/` },
    `financial_analysis_url "https://o'brien.example/" must be an absolute http or https URL`,
  ],
  [
    { photos: [{ ...photo, url: 'https://a.example/a\nb' }] },
    'photos.0.url "https://a.example/a\\nb" must not contain line breaks or tabs',
  ],
  [
    { financial_analysis_url: 'https://user@a.example/' },
    'financial_analysis_url "https://user@a.example/" must not contain credentials',
  ],
  [{ title: LONG, description: LONG, location_text: LONG }, 'is too large to store: 90'],
  // The resource has the hero image twice, and the card once.
  [{ photos: [{ ...photo, alt: LONG }] }, 'is too large to show: 90'],
];

const PATCHES: Case[] = [
  [
    'records that a patch cannot complete',
    patch({
      locations: [{ slug: 'hills' }, { id: null, slug: 'bay' }],
      amenities: [{ slug: 'sauna' }],
      properties: [
        { slug: 'casa-marea', beds: 'two' },
        { hid: 'H-1', beds: 3 },
        { slug: 'other', id: marea.id },
        { beds: 1 },
        { slug: 'No Slug' },
        { hid: 'H-3', beds: 3 },
        { slug: 'nueva', beds: 2 },
        { hid: 'H-8', slug: 'Casa 8' },
        { slug: 'twin', name: null, photos: [{ section: 'hero' }], hero_photo_id: ID },
      ],
    }),
    'locations[0] (slug "hills"): no location is stored under this slug, and a new one needs name',
    'locations[1] (slug "bay"): id null must be of type string',
    'amenities[0] (slug "sauna"): no amenity is stored under this slug, and a new one needs label',
    'properties[0] (slug "casa-marea"): beds "two" must be of type number',
    'properties[3]: names no listing: give its slug, hid or id',
    'single hyphens or underscores: 2 listings, first No Slug (properties[4], slug): "No Slug", "Casa 8"',
    'properties[5] (hid "H-3"): hid "H-3" is the hid of several stored listings: name one by its slug or id',
    'properties[6] (slug "nueva"): no listing is stored under this slug, and a new one needs name, status, display_order',
    'properties[7] (slug "Casa 8"): no listing is stored under this hid, and a new one needs name, status, display_order',
    'properties[8] (slug "twin"): name null must be of type string',
    'properties[8] (slug "twin"): photos.0.url is required',
    `properties[8] (slug "twin"): hero_photo_id "${ID}" must be the id of one of the photos of this listing`,
    /^properties\[2\] \(slug "other"\): slug "other" is the slug of the stored listing [0-9a-f-]+: give that id, or another slug$/,
    'properties[1] (hid "H-1"): slug "casa-marea" repeats the slug of properties[0] (slug "casa-marea")',
    'properties[1] (hid "H-1"): hid "H-1" repeats the id of properties[0] (slug "casa-marea")',
    `properties[2] (slug "other"): id "${marea.id}" repeats the id of properties[0] (slug "casa-marea")`,
  ],
  [
    'ids that follow from keys which other records had before',
    whole({
      locations: [{ slug: 'coast', name: {} }],
      properties: [{ ...unkeyed, hid: 'H-old', slug: 'new' }],
    }),
    'locations[0] (slug "coast"): slug "coast" gives the id of the stored location shore, which had this slug before: ',
    'properties[0] (slug "new"): hid "H-old" gives the id of the stored listing moved, which had this hid before: give the new one another id, or name the stored one by its id or slug',
  ],
  [
    'the id of a photo that had the address before',
    patch({ properties: [{ slug: 'moved', photos: [{ url }] }] }),
    `properties[0] (slug "moved"): photos.0.url "${url}" gives the id of the stored photo ${url}?2, which had this url before: give the new one another id, or name the stored one by its id or url`,
  ],
  [
    'a status of a listing that is not stored, or of no kind',
    () => imports.setStatus('sold', 'other', 'casa-mare'),
    'status must be one of listed, coming_soon, sold_out, hidden: 2 listings, first other: "sold"',
    'casa-mare: no stored listing has the slug casa-mare: did you mean casa-marea?',
  ],
];

const MORE: Case[] = [
  [
    'the hid of another listing, in the store or in the file',
    patch({
      properties: [
        { id: marea.id, hid: 'H-3' },
        { id: secret.id, hid: 'H-5' },
        { slug: 'large', hid: 'H-5' },
      ],
    }),
    /^properties\[0\] \(hid "H-3"\): hid "H-3" is the hid of listing (other|twin) too$/,
    'properties[2] (slug "large"): hid "H-5" is the hid of listing secret too',
  ],
  [
    'two addresses in one entry',
    patch({
      properties: [',', ';', '|', ' '].map((between, index) => ({
        slug: ['casa-marea', 'other', 'twin', 'secret'][index],
        photos: [{ url: `https://a.example/1.jpg${between}https://a.example/2.jpg` }],
      })),
    }),
    'photos.*.url must be one URL, not two: 4 listings, first casa-marea',
  ],
  [
    'a text that would steer the terminal, and a long one',
    patch({
      properties: [{ slug: 'other', type: `\u001b[31m\u2028\u202e${'villages '.repeat(20)}` }],
    }),
    /: type "\\u001b\[31m\\u2028\\u202e(villages )+villages…" must be one of /,
  ],
];

const tables = () =>
  ['properties', 'locations', 'amenities'].map((each) =>
    imports.rows(`SELECT * FROM ${each} ORDER BY 1`),
  );

it.each([
  ...FILES,
  [
    'listings with a problem each',
    whole({
      properties: FIELDS.map(([fields], at) => ({ ...unkeyed, slug: `home-${at}`, ...fields })),
    }),
    ...FIELDS.map(([, problem], at) => `properties[${at}] (slug "home-${at}"): ${problem}`),
  ] satisfies Case,
  ...PATCHES,
  ...MORE,
])('%s: the import is rejected', async (_title, run, ...problems) => {
  const before = tables();
  const { code, stdout, stderr } = await run();
  const lines = stderr.trimEnd().split('\n');
  expect(lines.pop()).toMatch(/^\d+ problems?( of \d+ kinds?)?\. Nothing was changed\.$/);
  expect(lines).toEqual(
    problems.map((each) =>
      typeof each === 'string' ? expect.stringContaining(each) : expect.stringMatching(each),
    ),
  );
  expect([code, stdout, tables()]).toEqual([1, '', before]);
});
