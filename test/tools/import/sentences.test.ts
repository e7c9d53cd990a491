/**
 * Tests the messages of rejected imports for each kind of file. A rejected import changes nothing, and
 * the repair that a message suggests is accepted.
 */

import { beforeAll, expect, it } from 'vitest';
import { openDesk } from '../../support/node/desk.ts';
import { BAY, makeFile, makeProperty } from '../../support/node/listings-file.ts';
import type { Finished } from '../../support/node/project-copy.ts';
import {
  change,
  type Edit,
  editSheets,
  formulaCell,
  openDocument,
  parseCell,
  parseSheets,
  toSheets,
  workbook,
  zip,
} from '../../support/node/workbook.ts';

const SLUG_RULE =
  'must be lower-case letters and digits in words joined by single hyphens or underscores';
const ID = '6f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';
const OTHER_ID = '7f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';
const HELP =
  '`npm run -s export-listings -- --out catalogue.xlsx` lists the known locations and amenities';
/** A text of the maximum length in each language. */
const LONG = Object.fromEntries(
  ['en', 'es', 'fr'].map((language) => [language, 'x'.repeat(100_000)]),
);

const home = { id: ID, slug: 'home', name: 'Home', status: 'listed', display_order: 1 };
const unkeyed = { ...home, id: undefined };
const url = 'https://images.example.com/1.jpg';
const PHOTO = 'https://images.example.com/2.jpg';
const photo = { id: OTHER_ID, url, section: 'hero', web_visible: true, web_sort_order: 1 };
const video = { id: OTHER_ID, url, type: 'hero', web_visible: true, sort_order: 1 };
const marea = makeProperty({
  slug: 'casa-marea',
  hid: 'H-1',
  city: 'Inca',
  photos: [{ ...photo, id: undefined }],
});
const secret = makeProperty({ slug: 'secret', status: 'hidden', city: 'Inca' });
const other = makeProperty({ slug: 'other', hid: 'H-3', city: 'Inca' });
const twin = makeProperty({ slug: 'twin', hid: 'H-4', city: 'Inca' });
const plain = ['1', '2', '3', '4', '5', '6'].map((number) =>
  makeProperty({ slug: `plain-${number}` }),
);

const imports = openDesk();
beforeAll(async () => {
  const large = { description: LONG, location_text: LONG, amenities: ['wifi'] };
  const photos = [{ ...photo, id: undefined }];
  const locations = [{ slug: 'coast', name: {} }];
  const moved = { ...unkeyed, status: 'hidden', slug: 'moved', hid: 'H-old', location: 'coast' };
  const file = [marea, other, twin, secret, ...plain];
  await imports.load(makeFile([...file, makeProperty({ slug: 'large', ...large })]));
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

type Run = () => Promise<Finished>;
/** The expected messages, one per line, and the repair that they suggest. */
type Case = [title: string, run: Run, messages: string, repair?: Run | undefined];

const whole =
  (content: unknown, ...options: string[]): Run =>
  () =>
    imports.load(content, ...options);
const patch = (content: object) => whole(content, '--patch');
const sheets =
  (text: string, more: Parameters<typeof workbook>[1] = {}): Run =>
  async () =>
    imports.load(
      Object.keys(more).length === 0
        ? toSheets(parseSheets(text))
        : await workbook(parseSheets(text), more),
      '--dry-run',
    );

const NUMBER = 'is not a number. Format the cell as a number and enter';
const STATUSES = 'one of listed, coming_soon, sold_out, hidden';
/**
 * Fields of `casa-marea`: the field, a wrong value, the messages for JSON and for a workbook (`=` the
 * same, `-` not tested), and a correct value.
 */
const VALUES = `
name | null | must be of type string | must not be empty | Casa
name | " " | must not be blank | - | Casa
status | sold | must be ${STATUSES} | = | sold_out
status | null | - | must not be empty | listed
price_from | "295.000" | must be of type number | ${NUMBER} it again. | 295
price_from | € 1.295.000,50 | must be of type number | ${NUMBER} 1295000.5. | 1295000.5
price_from | true | must be of type number | ${NUMBER} it again. | 1
beds | 2.5 | must be a whole number | = | 2
fraction_from | "0.125" | must be a fraction such as 1/8 | = | 1/8
city | true | must be of type string | is not text. Format the cell as text and enter it again. | TRUE
is_early_access | maybe | - | must be yes or no | no
location | bai | is not known. Did you mean bay? | = | bay
display_order | 2147483648 | must be at most 2147483647 | = | 2147483647
financial_analysis_url | https://user@o'brien.example/ | must be an absolute http or https URL | = | https://obrien.example/
financial_analysis_url | https://user@a.example/ | must not contain credentials | = | https://a.example/
`;

const CELLS = VALUES.trim()
  .split('\n')
  .flatMap((line): Case[] => {
    const [field = '', wrong = '', json = '', sheet = '', right = ''] = line.split(' | ');
    const listing = (cell: string) => ({ ...marea, [field]: parseCell(cell) });
    const change = (cell: string) => ({ slug: marea.slug, [field]: parseCell(cell) });
    const quotedField = `${field} ${JSON.stringify(parseCell(wrong))}`;
    const case_ = (form: string, message: string, run: (cell: string) => Run): Case[] => {
      if (message === '-') return [];
      const isEmptyCell = form === 'workbook' && wrong === 'null';
      const position = form === 'workbook' ? 'listings!B2' : 'properties[0]';
      const start = `${position} (slug "casa-marea"): ${isEmptyCell ? field : quotedField}`;
      return [[`${field} ${wrong} (${form})`, run(wrong), `${start} ${message}`, run(right)]];
    };
    return [
      ...case_('whole', json, (cell) => whole({ properties: [listing(cell)] }, '--dry-run')),
      ...case_('patch', json, (cell) =>
        whole({ properties: [change(cell)] }, '--patch', '--dry-run'),
      ),
      ...case_('workbook', sheet === '=' ? json : sheet, (cell) =>
        sheets(`slug | ${field}\ncasa-marea | ${cell}`),
      ),
    ];
  });

const description = (fields: object) => ({ description: { fr: { type: 'doc', ...fields } } });
const nested = JSON.parse('['.repeat(128) + ']'.repeat(128));
const odsRow = (...cells: string[]) =>
  `<table:table-row>${cells.map((cell) => `<table:table-cell office:value-type="string"><text:p>${cell}</text:p></table:table-cell>`).join('')}</table:table-row>`;
const odsRows = [odsRow('slug', 'city'), odsRow('casa-marea', 'Deià'), odsRow('other', 'Sóller')];
const odsWith = (element: string, at: number) =>
  openDocument(odsRows.with(at, `<table:${element}>${odsRows[at]}</table:${element}>`).join(''));
const UNREADABLE: [title: string, content: string | Uint8Array, message: string][] = [
  ['a CSV', 'slug,city\ncasa-marea,Palma\n', 'is neither JSON (Unexpected token'],
  ['deep JSON', '['.repeat(100_000) + ']'.repeat(100_000), 'is JSON that is nested too deep'],
  ['a JSON list', '[]', 'must be of type object'],
  ['a file without records', '{"properties": [], "removed": {"locations": []}}', 'has no record'],
  ['a ZIP archive without a workbook', zip({ 'a.txt': 'x' }), 'is a ZIP archive, not a workbook'],
  [
    'an .ods with a header on each page',
    odsWith('table-header-rows', 0),
    'has grouped rows, or rows that are repeated on each printed page, which cannot be read from an .ods. Save it as .xlsx.',
  ],
  ['an .ods with a group of rows', odsWith('table-row-group', 2), 'has grouped rows'],
];

/** Fields that have no cell of their own. */
const FIELDS: [fields: object, message: string][] = [
  [{ name: undefined }, 'name is required'],
  [{ bed: 1 }, 'bed is not a field of this resource. Did you mean beds?'],
  [{ amenities: ['wi fi'] }, `amenities.0 "wi fi" ${SLUG_RULE}`],
  [
    { type: `\u001b[31m\u2028\u202e${'villages '.repeat(20)}` },
    `type "\\u001b[31m\\u2028\\u202e${'villages '.repeat(5).trimEnd()}…" must be one of beach, ski`,
  ],
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
  [{ photos: [photo, photo] }, `photos.1 "${url}" repeats photos.0`],
  [{ videos: [video, { ...video, url: `${url}?2` }] }, `videos.1 "${url}?2" repeats videos.0`],
  [{ location: 'bay', location_id: BAY }, 'location "bay" must not be combined with location_id'],
  [
    { photos: [{ ...photo, url: 'https://a.example/a\nb' }] },
    'photos.0.url "https://a.example/a\\nb" must not contain line breaks or tabs',
  ],
  [{ name: `${LONG.en}x` }, `name "${'x'.repeat(59)}…" must be at most 100000 characters long`],
  [{ unique_features: Array(1_001).fill({}) }, 'must be a list of at most 1000 entries'],
  [{ financial_analysis_url: `https://a.example/${'é'.repeat(20_000)}` }, 'characters long'],
  [{ title: LONG, description: LONG, location_text: LONG }, 'is too large to store: 90… bytes'],
  // The resource has the hero image twice, and the card once.
  [{ photos: [{ ...photo, alt: LONG }] }, 'is too large to show: 90… bytes'],
];

const FILES: Case[] = [
  [
    'a time in an .ods',
    whole(
      openDocument(
        odsRows[0] +
          odsRow('casa-marea', '').replace(
            /"string"><text:p><.*?p>/,
            '"time" office:time-value="PT12H30M00S">',
          ),
      ),
    ),
    'listings!B2 (slug "casa-marea"): city "PT12H30M00S" is a date. Format the cell as text and enter it again.',
  ],
  [
    'fields that have no cell of their own',
    whole({
      properties: FIELDS.map(([fields], at) => ({ ...unkeyed, slug: `home-${at}`, ...fields })),
    }),
    FIELDS.map(([, message]) => message).join('\n'),
  ],
  [
    'unknown and malformed sections',
    whole({ homes: [], amenities: {} }),
    `
the file: amenities {} must be of type array
the file: homes is not a field of this resource`,
  ],
  [
    'a section that appears twice',
    whole('{"properties":[{"slug":1}],"properties":[{"slug":2}],"homes":[]}'),
    `
the file: homes is not a field of this resource
the file: properties appears twice in the same object`,
  ],
  [
    'fields that appear twice',
    whole(
      `{"properties":[${JSON.stringify(home).replace('{', '{"na\\u006de":"a",')}],
        "removed":{"locations":[],"amenities":[],"amenities":[]}}`,
    ),
    `
the file: name appears twice in the same object
the file: amenities appears twice in the same object`,
  ],
  [
    'numbers that JSON.parse would change',
    whole(
      JSON.stringify({ properties: [{ ...home, size: 1, beds: 2 }] })
        .replace('"size":1', '"size":9007199254740993')
        .replace('"beds":2', '"beds":-1e999'),
    ),
    `
properties[0] (slug "home"): size is a number that JavaScript would round to 9007199254740992
properties[0] (slug "home"): beds is a number that is too large`,
  ],
  [
    'records without a key or with a repeated key',
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
    `
locations[0]: slug is required
amenities[0]: slug is required
properties[1] (slug "b"): status "x" must be one of listed, coming_soon, sold_out, hidden
properties[6]: must be of type object
properties[1] (slug "b"): is the same listing as properties[0] (slug "a")
properties[3] (slug "c"): is the same listing as properties[2] (slug "c")
properties[5] (slug "e"): is the same listing as properties[4] (slug "d")`,
  ],
  [
    'a slug that is taken, and references to unknown records',
    whole({
      properties: [
        makeProperty({ slug: 'casa-marea' }),
        { ...home, location: 'hills', amenities: ['wifi', 'wify'], hero_photo: url },
      ],
    }),
    `
properties[1] (slug "home"): hero_photo "${url}" must be the address of one of the photos of this listing
properties[0] (slug "casa-marea"): slug "casa-marea" repeats the slug of the stored listing casa-marea (id "${marea.id}")
properties[1] (slug "home"): location "hills" is not known
properties[1] (slug "home"): amenity "wify" is not known. Did you mean wifi?
${HELP}`,
  ],
  [
    'an amenity that makes a listing outside the file too large',
    whole({ amenities: [{ slug: 'wifi', label: LONG }] }),
    'the stored listing (slug "large"): is too large to store: 90… bytes, at most 900000',
  ],
  [
    'patches that do not lead to complete records',
    patch({
      locations: [{ slug: 'hills' }, { id: null, slug: 'bay' }],
      amenities: [{ slug: 'sauna' }],
      properties: [
        { slug: 'casa-marea', beds: 'two' },
        { hid: 'H-1', beds: 3 },
        { slug: 'other', id: marea.id },
        { beds: 1 },
        { slug: 'No Slug' },
        { slug: 'plain-1', beds: 3 },
        { slug: 'nueva', beds: 2 },
        { hid: 'H-8', slug: 'Casa 8' },
        { slug: 'twin', photos: [{ section: 'hero' }], hero_photo_id: ID },
      ],
    }),
    `
locations[0] (slug "hills"): is not a stored location, and a new one needs name
locations[1] (slug "bay"): id null must be of type string
amenities[0] (slug "sauna"): is not a stored amenity, and a new one needs label
properties[0] (slug "casa-marea"): beds "two" must be of type number
properties[3]: is not a stored listing, and a new one needs slug, name, status, display_order
is not a stored listing, and a new one needs name, status, display_order: 3 listings, first No Slug (properties[4])
single hyphens or underscores: 2 listings, first No Slug (properties[4], slug): "No Slug", "Casa 8"
properties[8] (slug "twin"): photos.0.url is required
properties[8] (slug "twin"): hero_photo_id "${ID}" must be the id of one of the photos of this listing
slug "bay" repeats the slug of the stored location bay (id "${BAY}")
is the same listing as properties[0] (slug "casa-marea"): 2 listings, first H-1 (properties[1])
properties[2] (slug "other"): slug "other" repeats the slug of the stored listing other (id "${other.id}")`,
  ],
  [
    'new records whose derived ids belong to renamed records',
    whole({
      locations: [{ slug: 'coast', name: {} }],
      properties: [{ ...unkeyed, hid: 'H-old', slug: 'new' }],
    }),
    `
locations[0] (slug "coast"): slug "coast" gives the id of the stored location shore, which had this slug before. 
properties[0] (slug "new"): hid "H-old" gives the id of the stored listing moved, which had this hid before. Give the new one another id, or name the stored one by its id or slug.`,
    whole({ properties: [{ ...home, hid: 'H-old', slug: 'new' }] }, '--dry-run'),
  ],
  [
    'a photo whose derived id belongs to a photo with a new URL',
    patch({ properties: [{ slug: 'moved', photos: [{ url }] }] }),
    `
properties[0] (slug "moved"): photos.0.url "${url}" gives the id of the stored photo ${url}?2, which had this url before. Give the new one another id, or name the stored one by its id or url.`,
  ],
  [
    'an unknown status or listing in set-status',
    () => imports.setStatus('sold', 'other', 'casa-mare'),
    `
status must be one of listed, coming_soon, sold_out, hidden: 2 listings, first other: "sold"
casa-mare: is not a stored listing. Did you mean casa-marea?`,
  ],
  [
    'a hid that another listing has',
    patch({
      properties: [
        { id: marea.id, hid: 'H-3' },
        { id: secret.id, hid: 'H-5' },
        { slug: 'large', hid: 'H-5' },
      ],
    }),
    `
properties[0] (hid "H-3"): hid "H-3" repeats the hid of the stored listing 
properties[2] (slug "large"): hid "H-5" repeats the hid of properties[1] (hid "H-5")`,
  ],
  [
    'two URLs in one field',
    patch({
      properties: [',', ';', '|', ' '].map((between, index) => ({
        slug: ['casa-marea', 'other', 'twin', 'secret'][index],
        photos: [{ url: `https://a.example/1.jpg${between}https://a.example/2.jpg` }],
      })),
    }),
    'photos.*.url must be one URL, not two: 4 listings, first casa-marea',
  ],
];

const edited =
  (...edits: Edit[]): Run =>
  async () =>
    imports.load(editSheets(await imports.exportedWorkbook(), ...edits), '--many', '--dry-run');
const CHANGED = 'a hidden id, which must not be changed. Undo the change, or clear the cell.';

const google = (value: string) =>
  formulaCell(`IFERROR(__xludf.DUMMYFUNCTION("GOOGLETRANSLATE(A1)"),"${value}")`, value);
const FORMULAS = new Map([
  ['1,1', { value: '#N/A', type: 'error' }],
  ['1,2', formulaCell('1+1')],
  ['1,3', google('Loading...')],
  ['1,4', google('La maison')],
  ['1,5', formulaCell('A1', '#REF!')],
]);
const MERGES = [{ startRow: 1, endRow: 2, startCol: 1, endCol: 1 }];
const CITIES = `
slug | city
casa-marea | Palma
other | Palma`;
const PHOTOS = `
== photos
listing | url | alt.en | section | hero
casa-marea | ${PHOTO} | Pool | hero | yes
`;

const SHEETS: Case[] = [
  [
    'a sheet with only a header',
    sheets('slug | price_from'),
    'the file: has no record',
    sheets('slug | price_from\ncasa-marea | 1'),
  ],
  [
    'invalid cells of photos and amenities',
    sheets(
      `slug | amenities\ncasa-marea | wifi, wify\nother | wifi, wifi${PHOTOS}casa-marea | a/1.jpg | The sea | garden`,
    ),
    `
photos!B3 (slug "casa-marea"): url "a/1.jpg" must be an absolute http or https URL
photos!D3 (slug "casa-marea"): section "garden" must be one of hero, gallery, studio, location, what_to_do, other
listings!B3 (slug "other"): amenities "wifi" repeats amenities.0
listings!B2 (slug "casa-marea"): amenity "wify" is not known. Did you mean wifi?
${HELP}`,
    sheets(`slug | amenities\ncasa-marea | wifi${PHOTOS}casa-marea | ${PHOTO}?3 | The sea | other`),
  ],
  [
    'photos of an unknown or missing listing',
    sheets(`${PHOTOS}casa-mare | ${PHOTO}?3 | x | other\n | ${PHOTO}?4`),
    'listing must be the slug of a listing: 2 rows, first casa-mare (photos!A3): "casa-mare". Did you mean casa-marea?',
    sheets(`${PHOTOS}casa-marea | ${PHOTO}?3 | x | other`),
  ],
  [
    'invalid words, which it quotes as they were typed',
    sheets(`
slug | status | amenities
Casa-Marea | SOLD | wifi, Wi-Fy
Casa Marea | Listed |`),
    `
listings!B2 (slug "casa-marea"): status "SOLD" must be ${STATUSES}
listings!A3 (slug "casa marea"): is not a stored listing, and a new one needs name, display_order
listings!A3 (slug "casa marea"): slug "Casa Marea" ${SLUG_RULE}
listings!C2 (slug "casa-marea"): amenity "Wi-Fy" is not known. Did you mean wifi?
${HELP}`,
    sheets('slug | status | amenities\nCASA-MAREA | Sold_Out | WIFI'),
  ],
  [
    'a repeated photo and a second hero photo',
    sheets(`${PHOTOS}casa-marea | ${PHOTO} | Pool | hero | yes`),
    `
photos!E3 (slug "casa-marea"): hero marks a second hero photo. Only one photo of a listing can have yes.
photos!B3 (slug "casa-marea"): url "${PHOTO}" repeats photos!B2`,
    sheets(`${PHOTOS}casa-marea | ${PHOTO}?3 | Pool | hero | no`),
  ],
  [
    'a hidden id that find and replace has changed',
    edited(change('listings', 'casa-marea', { id: ID })),
    `listings!AG… (slug "casa-marea"): id "${ID}" is ${CHANGED}`,
    edited(change('listings', 'casa-marea', { id: null })),
  ],
  [
    'a hidden id that was filled down',
    edited(change('listings', 'other', { id: marea.id })),
    `listings!AG… (slug "other"): id "${marea.id}" is ${CHANGED}`,
  ],
  [
    'visible columns that were sorted without the hidden columns',
    edited(({ listings = [] }) => {
      const sorted = listings.toReversed().map(({ id, 'as of': marks, ...cells }) => cells);
      for (const [at, cells] of sorted.entries()) Object.assign(listings[at] ?? {}, cells);
    }),
    'the sheet listings was sorted without its hidden columns: undo that, and sort all columns together',
    edited(({ listings }) => listings?.reverse()),
  ],
  [
    'rows with the same hidden id',
    sheets(`
slug | id | name | status | display_order
casa-marea | ${marea.id} | A | listed | 1
casa-marea | ${marea.id} | A | listed | 1
one | ${other.id} | B | listed | 2
two | ${other.id} | C | listed | 3`),
    `
slug is ambiguous, because several rows have the same hidden id (listings!A2, listings!A3): 2 rows, first casa-marea (listings!A2). Clear the hidden cells of the copies, and give each copy its own slug.
slug is ambiguous, because several rows have the same hidden id (listings!A4, listings!A5): 2 rows, first one (listings!A4). Clear the hidden cells of the copies, and give each copy its own slug.`,
    sheets(`
slug | id | name | status | display_order
casa-marea | ${marea.id} | A | listed | 1
copy | | A | listed | 1
one | ${other.id} | B | listed | 2
two | | C | listed | 3`),
  ],
  [
    'unknown columns and remarks beside the table',
    sheets(`
slug | name | status | display_order | Notes | Titel.EN | city | City |
new | New | listed | 1 | 1 | 2 | 3 | 4 | ask Pere
newer | New | listed | 1 | 1 | 2 | 3 | 4 | x`),
    `
listings!E1: "Notes" is not a column of this sheet. Delete it, or begin its name with #.
listings!F1: "Titel.EN" is not a column of this sheet. Did you mean title.en?
listings!H1: "City" heads two columns. Delete one, or begin its name with #.
is in a column without a name: 2 cells, first listings!I2: "ask Pere", "x". Delete the cell, or enter # into listings!I1.`,
    sheets(`
slug | name | status | display_order | #Notes | title.en | city | #City | #
new | New | listed | 1 | 1 | "2" | "3" | 4 | ask Pere`),
  ],
  [
    'a title above the header',
    sheets(`Our homes\n\n${CITIES.trim()}`),
    'listings!A1: is not a header with the column slug or hid or id. The sheet listings needs this column, and its header in the first row.',
    sheets(CITIES),
  ],
  [
    'sheets without a key column',
    sheets(`city\nPalma\n== photos\nurl\n${PHOTO}`),
    `
listings!A1: is not a header with the column slug or hid or id. The sheet listings needs this column, and its header in the first row.
photos!A1: is not a header with the column listing. The sheet photos needs this column, and its header in the first row.`,
    sheets(`${CITIES}${PHOTOS}`),
  ],
  [
    'new listings without their required fields',
    sheets('slug | name\n | Nobody\nnewer | Newer'),
    `
listings!A2 (name "Nobody"): is not a stored listing, and a new one needs slug, status, display_order
listings!A3 (slug "newer"): is not a stored listing, and a new one needs status, display_order`,
    sheets('slug | name | status | display_order\nnewer | Newer | listed | 2'),
  ],
  [
    'a workbook without a sheet of a catalogue',
    sheets('== Sheet1\ncity\nPalma'),
    'The workbook has no sheet of a catalogue, only Sheet1. The names of its sheets are listings, photos, videos, features, locations, amenities.',
    sheets(CITIES),
  ],
  [
    'merged cells',
    sheets(CITIES, { listings: { merges: MERGES } }),
    'listings!B2: is the first of several merged cells. Unmerge them and fill in each cell.',
    sheets(CITIES),
  ],
  [
    'formula errors and formulas without a value',
    sheets(
      'slug | city | beds | title.en | title.fr | address | title.es\ncasa-marea | | | | | | Y...',
      {
        listings: { cells: FORMULAS },
      },
    ),
    `
listings!B2 (slug "casa-marea"): city "#N/A" is an error, not a value. Enter the value instead.
listings!C2 (slug "casa-marea"): beds is a formula without a value. Open the workbook in a spreadsheet program and save it.
listings!D2 (slug "casa-marea"): title.en "Loading..." is a formula that Google Sheets has not computed yet. Open the sheet, wait for its values, and download it again.
listings!F2 (slug "casa-marea"): address "#REF!" is the error of a formula. Correct the formula or enter its value.`,
  ],
];

const tables = () => [imports.listings(), imports.catalogue()];

it.each([
  ...CELLS,
  ...UNREADABLE.map(([title, content, message]): Case => [title, whole(content), message]),
  ...FILES,
  ...SHEETS,
])('rejects %s', async (_title, run, messages, repair) => {
  const before = tables();
  const { code, stdout, stderr } = await run();
  const lines = stderr
    .replaceAll(/90\d{4} bytes/g, '90… bytes')
    .replaceAll(/!AG\d+/g, '!AG…')
    .trimEnd()
    .split('\n');
  expect(lines.pop()).toMatch(/^(\d+ problems?\. )?Nothing was changed\.$/);
  const expected = messages.trim().split('\n');
  const relevant = messages.includes(HELP) ? lines : lines.filter((line) => !line.startsWith(HELP));
  expect(relevant).toEqual(expected.map((message) => expect.stringContaining(message)));
  expect([code, stdout]).toEqual([1, '']);
  if (repair !== undefined) expect(await repair()).toMatchObject({ code: 0, stderr: '' });
  expect(tables()).toEqual(before);
});

it('reads cells as a spreadsheet displays them although the last possible row has a formatted cell', async () => {
  const last = { value: null, type: 'empty', style: { font: { bold: true } } } as const;
  const file = sheets(
    `slug | price_from | #seen\ncasa-marea | ${412000 * 1.1} | DAY\n== photos\nlisting | url\ncasa-marea | ${url}\u200b`,
    { listings: { cells: new Map([['1048575,40', last]]) } },
  );
  const { code, stdout } = await file();
  expect(stdout).toContain('\ncasa-marea: price_from none → 453200\n');
  expect(code).toBe(0);
});

it.each(['#,##0.00 [$€-42D]', '#,##0 [$kr-81D];[Red]-#,##0 [$kr-81D]'])(
  'reads a price in the format %s as a number',
  async (numFmt) => {
    const cells = new Map(
      [291000, 60, 415000.55].map((value, at) => [
        `${at + 1},1`,
        { value, type: 'number' as const, style: { numFmt } },
      ]),
    );
    const file = sheets('slug | price_from\ncasa-marea\nother\ntwin', { listings: { cells } });
    const { stdout } = await file();
    for (const price of ['291000', '60', '415000.55']) {
      expect(stdout).toContain(`: price_from none → ${price}\n`);
    }
  },
);
