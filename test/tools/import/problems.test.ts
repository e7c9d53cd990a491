/** Every problem of an import, in the words of its user. A rejected import changes nothing. */

import { beforeAll, expect, it } from 'vitest';
import { BAY, fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import type { Finished } from '../../support/node/project-copy.ts';

const ID = '6f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';
const OTHER_ID = '7f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';
const HELP = '`npm run -s export-listings -- --names` lists the known locations and amenities; ';
/** As long as three texts in one listing may be. */
const LONG = Object.fromEntries(['en', 'es', 'fr'].map((each) => [each, 'x'.repeat(100_000)]));

const home = { id: ID, slug: 'home', name: 'Home', status: 'listed', display_order: 1 };
const unkeyed = { ...home, id: undefined };
const url = 'https://images.example.com/1.jpg';
const photo = { id: OTHER_ID, url, section: 'hero', web_visible: true, web_sort_order: 1 };
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const stored = ['casa-marea', 'other', 'double', 'twin', 'fifth', 'sixth'].map((slug, index) =>
  propertyOf({ id: `00000000-0000-4000-8000-00000000000${index}`, slug }),
);

const imports = openMemoryImports();
beforeAll(async () => {
  const hids = ['H-1', 'H-2', 'H-3', 'H-3'];
  const homes = stored.map((each, index) => ({ ...each, hid: hids[index], city: 'Inca' }));
  const large = ['one', 'two', 'six'].map((slug) =>
    propertyOf({ slug, description: LONG, location_text: LONG, amenities: ['wifi'] }),
  );
  await imports.load(fileOf([...homes, ...large]));
  const former = [
    { ...unkeyed, status: 'hidden', slug: 'corrected', hid: 'H-old' },
    { ...unkeyed, status: 'hidden', slug: 'was-slug', photos: [{ ...photo, id: undefined }] },
  ];
  await imports.load({ locations: [{ slug: 'coast', name: {} }], properties: former });
  const [corrected, renamed] = [
    await imports.stored('corrected'),
    await imports.stored('was-slug'),
  ];
  const photos = renamed?.photos.map((each) => ({ id: each.id, url: `${url}?2` }));
  const properties = [
    { id: corrected?.id, hid: 'H-new' },
    { id: renamed?.id, slug: 'renamed', photos },
  ];
  const [coast] = imports.rows(`SELECT id FROM locations WHERE slug = 'coast'`);
  await imports.load({ locations: [{ id: coast?.id, slug: 'shore' }], properties }, '--patch');
});

type Run = () => Promise<Finished>;
type Case = [run: Run, ...problems: (string | RegExp)[]];

const whole =
  (content: unknown, ...options: string[]): Run =>
  () =>
    imports.load(content, ...options);
const sheet =
  (content: string | Uint8Array): Run =>
  () =>
    imports.loadSheet(content);

/** A file with one listing, which has one problem. */
const listing = (fields: object, problem: string): Case => [
  whole({ properties: [{ ...home, ...fields }] }),
  `properties[0] (slug "home"): ${problem}`,
];
/** A document of an editor with something in a place that is never shown. */
const unseen = (place: object, problem: string): Case =>
  listing(
    { description: { fr: { type: 'doc', ...place } } },
    `description.fr {"type":"doc",${problem}`,
  );

const FILES: Case[] = [
  [whole(''), /^the file: is not JSON: /],
  [whole(new Uint8Array([0xff, 0x20])), 'the file: is not UTF-8 text: save it as UTF-8'],
  [whole(Buffer.from('{}', 'utf16le')), 'the file: is UTF-16 text: save it as UTF-8'],
  [whole(`{"properties":[${nested(100_000)}]}`), 'the file: is nested too deep'],
  [whole([]), 'the file: must be of type object'],
  [whole({ homes: [] }), 'the file: homes is not a field of this resource'],
  [
    whole({ amenities: {}, properties: [{ ...home, beds: -1 }, home, 1] }),
    'the file: amenities must be of type array',
    'properties[0] (slug "home"): beds -1 must be at least 0',
    'properties[2]: must be of type object',
    `properties[1] (slug "home"): id "${ID}" repeats the id of properties[0] (slug "home")`,
    'properties[1] (slug "home"): slug "home" repeats the slug of properties[0] (slug "home")',
  ],
  // Either of two sections may be meant.
  [
    whole('{"properties":[{"slug":1}],"properties":[{"slug":2}],"homes":[]}'),
    'the file: properties appears twice in the same object',
  ],
  [
    whole(`{"properties":[${JSON.stringify(home).replace('{', '{"na\\u006de":"a",')}]}`),
    'properties[0] (slug "home"): name appears twice in the same object',
  ],
  [
    whole({ locations: [{ name: {} }], amenities: [{ label: {} }] }),
    'locations[0]: slug is required',
    'amenities[0]: slug is required',
  ],
  [
    whole({
      properties: [
        { ...unkeyed, hid: 'H-9', slug: 'a' },
        { ...unkeyed, hid: 'H-9', slug: 'b', status: 'x' },
        { ...unkeyed, slug: 'c' },
        { ...unkeyed, slug: 'c' },
        { ...home, slug: 'd' },
        { ...home, slug: 'e', id: ID.toUpperCase() },
      ],
    }),
    'properties[1] (slug "b"): status "x" must be one of listed, coming_soon, sold_out, hidden',
    'properties[1] (slug "b"): hid "H-9" repeats the id of properties[0] (slug "a")',
    'properties[3] (slug "c"): slug "c" repeats the slug of properties[2] (slug "c")',
    `properties[5] (slug "e"): id "${ID}" repeats the id of properties[4] (slug "d")`,
  ],
  [
    whole({
      properties: [
        propertyOf({ slug: 'casa-marea' }),
        { ...home, location: 'hills', amenities: ['wifi', 'wify'], beds: 'two' },
      ],
    }),
    'properties[1] (slug "home"): beds "two" must be of type number',
    `properties[0] (slug "casa-marea"): slug "casa-marea" is the slug of the stored listing ${stored[0]?.id}: give that id, or import the file with --patch`,
    'properties[1] (slug "home"): location "hills" is not known',
    'properties[1] (slug "home"): amenity "wify" is not known: did you mean wifi?',
    HELP,
  ],
  [
    whole({ amenities: [{ slug: 'wifi', label: LONG }] }),
    /^is too large to store: 90\d{4} bytes, at most 900000: 3 listings, first \w+ \(the stored /,
  ],
  [
    whole({ properties: [{ ...home, amenities: Array.from({ length: 200_000 }, () => 'wifi') }] }),
    /: amenities \["wifi",.*… must be a list of at most 1000 entries$/,
    'amenities.* repeats amenities.0: 199999 times in 1 listing, first home',
  ],
  [
    whole({ properties: stored.slice(0, 4) }, '--prune'),
    'the file: leaves out 5 of the 9 public listings, more than a fifth: --prune=all hides them all',
  ],
  [
    whole({ properties: stored.slice(4) }),
    'Warning: would empty city of 2 listings: fifth, sixth',
    'the file: would empty something of 2 of the 9 public listings, more than a fifth: --patch keeps what a file leaves out, and --allow-emptied empties it',
  ],
];

const LISTINGS: Case[] = [
  listing({ name: undefined }, 'name is required'),
  listing({ name: '' }, 'name "" must be at least 1 character long'),
  listing({ name: ' ' }, 'name " " must not be blank'),
  listing({ bed: 1 }, 'bed is not a field of this resource: did you mean beds?'),
  listing({ hid: ['x'] }, 'hid ["x"] must be of type string'),
  listing({ display_order: 2 ** 31 }, 'display_order 2147483648 must be at most 2147483647'),
  listing({ title: { es: 'a\0b' } }, 'title.es "a\\u0000b" must not contain NUL (U+0000)'),
  listing({ city: 'a\ud800b' }, 'city "a\\ud800b" must not contain half of a surrogate pair'),
  unseen({ attrs: { '\0': 1 } }, '"attrs":"…"} must not contain NUL (U+0000)'),
  unseen({ marks: [{ href: '\ud800' }] }, '"marks":"…"} must not contain half of a surrogate pair'),
  unseen({ attrs: JSON.parse(nested(128)) }, '"attrs":"…"} must be nested at most 128 levels deep'),
  listing({ photos: [photo, photo] }, `photos.1 "${OTHER_ID}" repeats photos.0`),
  listing({ amenities: ['wifi', 'wifi'] }, 'amenities.1 "wifi" repeats amenities.0'),
  listing(
    { location: 'bay', location_id: BAY },
    'location "bay" must not be combined with location_id',
  ),
  listing(
    { photos: [photo], hero_photo_id: ID },
    `hero_photo_id "${ID}" must be the id of one of the photos of this listing`,
  ),
  listing({ title: LONG, description: LONG, location_text: LONG }, 'is too large to store: 90'),
  // The resource has the hero image twice, and the card once.
  listing({ photos: [{ ...photo, alt: LONG }] }, 'is too large to show: 90'),
];

const NUMBERS = [
  ['9007199254740993', 'is a number that JavaScript would round to 9007199254740992'],
  ['90071992547409.93e+2', 'is a number that JavaScript would round to 9007199254740992'],
  ['-1e999', 'is a number that is too large'],
].map(([number, problem]): Case => {
  const text = JSON.stringify({ ...home, description: { en: { type: 'doc', attrs: 0 } }, size: 0 });
  return [
    whole(`{"properties":[${text.replaceAll(/(attrs|size)":0/g, `$1":${number}`)}]}`),
    `properties[0] (slug "home"): description.en.attrs ${problem}`,
    `properties[0] (slug "home"): size ${problem}`,
  ];
});

const URLS = [
  [' https://a.example/1.jpg', 'must be an absolute http or https URL'],
  ['javascript:1', 'must be an absolute http or https URL'],
  ['https://a.example/\udc00', 'must be an absolute http or https URL'],
  [`https://o'brien.example/`, 'must be an absolute http or https URL'],
  ['https://a.example/a\nb', 'must not contain line breaks or tabs'],
  ['https://user@a.example/', 'must not contain credentials'],
].map(([bad, problem]): Case => {
  const videos = [{ url: bad, type: 'hero', web_visible: true, sort_order: 1 }];
  const addresses = { financial_analysis_url: bad, photos: [{ ...photo, url: bad }], videos };
  const places = ['financial_analysis_url', 'photos.0.url', 'videos.0.url'];
  return [
    whole({ properties: [{ ...home, ...addresses }] }),
    ...places.map(
      (each) => `properties[0] (slug "home"): ${each} ${JSON.stringify(bad)} ${problem}`,
    ),
  ];
});

const PATCH: Case = [
  whole(
    {
      locations: [{ slug: 'hills' }],
      amenities: [{ slug: 'sauna' }],
      properties: [
        { slug: 'casa-marea', beds: 'two' },
        { hid: 'H-1', beds: 3 },
        { hid: 'H-2', slug: 'casa-marea' },
        { beds: 1 },
        { slug: 'casa-marea', bed: 1 },
        { slug: 'other', hero_photo: 'https://images.example.com/9.jpg' },
        { slug: 'No Slug' },
        { hid: 'H-3', beds: 3 },
        { slug: 'nueva', beds: 2 },
        { slug: 'twin', name: null, photos: [{ section: 'hero' }] },
      ],
    },
    '--patch',
  ),
  'locations[0] (slug "hills"): no location is stored under this slug, and a new one needs name',
  'amenities[0] (slug "sauna"): no amenity is stored under this slug, and a new one needs label',
  'properties[0] (slug "casa-marea"): beds "two" must be of type number',
  'properties[3]: names no listing: give its slug, hid or id',
  'properties[4] (slug "casa-marea"): bed is not a field of this resource: did you mean beds?',
  'properties[6] (slug "No Slug"): slug "No Slug" must be lower-case ',
  'properties[7] (hid "H-3"): hid "H-3" is the hid of several stored listings: name one by its slug or id',
  'properties[8] (slug "nueva"): no listing is stored under this slug, and a new one needs name, status, display_order',
  'properties[9] (slug "twin"): name null must be of type string',
  'properties[9] (slug "twin"): photos.0.url is required',
  'properties[1] (hid "H-1"): hid "H-1" repeats the id of properties[0] (slug "casa-marea")',
  'slug repeats the slug of properties[0] (slug "casa-marea"): 3 listings, first casa-marea',
  'properties[5] (slug "other"): slug "other" repeats the id of properties[2] (slug "casa-marea")',
  'properties[5] (slug "other"): hero_photo "https://images.example.com/9.jpg" must be the address of one of the photos of this listing',
];

/** Ids that follow from keys which other stored records had before. */
const TAKEN: Case[] = [
  [
    whole({ properties: [{ ...unkeyed, hid: 'H-old', slug: 'new' }] }, '--patch'),
    'properties[0] (slug "new"): hid "H-old" gives the id of the stored listing corrected, which had this hid before: give the new one another id, or name the stored one by its id or slug',
  ],
  [
    whole({
      locations: [{ slug: 'coast', name: {} }],
      properties: [{ ...unkeyed, slug: 'was-slug' }],
    }),
    'locations[0] (slug "coast"): slug "coast" gives the id of the stored location shore, which had this slug before: ',
    'properties[0] (slug "was-slug"): slug "was-slug" gives the id of the stored listing renamed, which had this slug before: ',
  ],
  [
    whole({ properties: [{ slug: 'renamed', photos: [{ url }] }] }, '--patch'),
    `properties[0] (slug "renamed"): photos.0.url "${url}" gives the id of the stored photo ${url}?2, which had this url before: give the new one another id, or name the stored one by its id or url`,
  ],
  // The id of a location is wrong, and no advice is.
  [
    whole({ locations: [{ id: null, slug: 'bay', name: {} }] }, '--patch'),
    'locations[0] (slug "bay"): id null must be of type string',
  ],
  [
    whole({ properties: [{ id: stored[0]?.id, slug: 'other' }] }, '--patch'),
    /: slug "other" is the slug of the stored listing 00000000-0000-4000-8000-000000000001$/,
  ],
];

const SHEETS: Case[] = [
  [sheet(new Uint8Array([0x73, 0xe9])), 'the file: is not UTF-8 text: save it as "CSV UTF-8"'],
  [sheet(Buffer.from('\ufeffslug', 'utf16le')), 'the file: is UTF-16 text: save it as "CSV UTF-8"'],
  [sheet(''), 'the file: has no header row'],
  [sheet('slug\n"casa'), 'the file: is not CSV: Quote Not Closed'],
  [sheet('Notes\n1'), 'row 1: "Notes" is no column of a sheet: delete or rename it', 'row 2: '],
  [sheet('slug,Photo'), 'row 1: "Photo" is no column of a sheet: did you mean photos?'],
  [sheet('slug,title'), 'row 1: "title" is no column of a sheet: did you mean title.en?'],
  [sheet('slug,beds,Beds'), 'row 1: "beds" heads two columns'],
  [
    sheet('slug,city\nother,Palma,Mallorca'),
    'row 2 (slug "other"): "Mallorca" is in a column without a name',
  ],
  [
    sheet('slug,hid\nother,H-1'),
    'row 2, hid (slug "other"): "H-1" is the hid of the stored listing casa-marea, and other is the slug of another one',
  ],
  [
    sheet('sep=;\nslug;beds\nother;two\n'),
    'row 2, beds (slug "other"): "two" must be a whole number such as 12',
  ],
  [
    sheet('slug,photos\nother,"https://a.example/1.jpg, HTTPS://a.example/2.jpg"'),
    'row 2, photos (slug "other"): "https://a.example/1.jpg, HTTPS://a.example/2.jpg" must be one URL, not two joined by a comma',
  ],
  [
    sheet('slug,price_from,beds,size\nother,295.000,-2.000,95.125'),
    'row 2, price_from (slug "other"): "295.000" has a dot before three digits: write 295000, or 295',
    'row 2, beds (slug "other"): "-2.000" has a dot before three digits: write -2000, or -2',
  ],
  // A cell is reported once, and not as missing too.
  [
    sheet('slug,name,status,display_order\nnew,New,listed,x\n'),
    'row 2, display_order (slug "new"): "x" must be a whole number such as 12',
  ],
  // A character that would steer a terminal is escaped, and a long text is cut between words.
  [
    sheet(`slug,type\nother,"\u001b[31m\u2028\u202e${'villages '.repeat(20)}"\n`),
    /: "\\u001b\[31m\\u2028\\u202e(villages )+villages…" must be one of /,
  ],
  [
    sheet('slug,size\nother,9007199254740993'),
    'row 2, size (slug "other"): "9007199254740993" is a number that is too large',
  ],
  [
    sheet(
      'slug,price_from,is_early_access,photos,amenities,display_order\n' +
        'casa-marea,€ 118.000,maybe,,,\n' +
        '\n' +
        'other,"€ 98.250",,a/1.jpg|a/2.jpg,wify,1.5\n' +
        ',1,,,,\n' +
        ['99,000.00', 'on request', 'x', 'y', 'n/a', '7']
          .map((price, index) => `home-${index},"${price}",,,wify,\n`)
          .join(''),
    ),
    'price_from must be a number such as 118000 or 118000.5: 7 listings, first casa-marea (row 2, price_from): "€ 118.000", "€ 98.250", "99,000.00", "on request", "x" and others',
    'row 2, is_early_access (slug "casa-marea"): "maybe" must be yes, no, true or false',
    'photos must be an absolute http or https URL: 2 times in 1 listing, first other (row 4, photos): "a/1.jpg", "a/2.jpg"',
    'row 4, display_order (slug "other"): 1.5 must be a whole number',
    'row 5: names no listing: give its slug, hid or id',
    'no listing is stored under this slug, and a new one needs name, status, display_order: 6 listings, first home-0 (row 6)',
    'amenity "wify" is not known: 7 listings, first other (row 4, amenities): did you mean wifi?',
    HELP,
  ],
];

const STATUSES: Case[] = [
  [
    () => imports.setStatus('sold', 'other'),
    'other: status "sold" must be one of listed, coming_soon, sold_out, hidden',
  ],
  [
    () => imports.setStatus('hidden', 'other', 'casa-mare', 'nowhere'),
    'casa-mare: no stored listing has the slug casa-mare: did you mean casa-marea?',
    'nowhere: no stored listing has the slug nowhere',
  ],
];

const tables = () =>
  ['properties', 'locations', 'amenities'].map((each) =>
    imports.rows(`SELECT * FROM ${each} ORDER BY 1`),
  );

it.each([...FILES, ...LISTINGS, ...NUMBERS, ...URLS, PATCH, ...TAKEN, ...SHEETS, ...STATUSES])(
  'is rejected: case %#',
  async (run, ...problems) => {
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
  },
);
