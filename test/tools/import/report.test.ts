/** Tests of an import's report: dry runs, pruned listings, cleared fields and warnings. */

import { beforeEach, expect, it } from 'vitest';
import { BAY, makeFile, makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { workbook } from '../../support/node/workbook.ts';

const imports = openMemoryImports();
beforeEach(() => imports.clear());

const photo = (name: string, fields: object = {}) => ({
  url: `https://images.example.com/${name}.jpg`,
  alt: { en: `View ${name}` },
  section: 'hero',
  web_visible: true,
  web_sort_order: 1,
  ...fields,
});
const whole = { title: { en: 'House' }, location_id: BAY, photos: [photo('1')] };

it('shows every kind of change in a dry run without writing anything', async () => {
  const home = makeProperty({
    ...whole,
    slug: 'casa-marea',
    title: { en: 'Stone house above the cove at Deià', fr: 'Maison' },
    price_from: 118000,
    city: 'Inca',
    photos: ['1', '2', '3', '4', '5'].map((name) => photo(name)),
    unique_features: ['Morning', 'Late'].map((en) => ({ icon_slug: 'sun', label: { en } })),
    amenities: ['wifi'],
  });
  const markup = makeProperty({ ...whole, slug: 'markup', description: { en: 'Rooms' } });
  const rooms = { type: 'paragraph', content: [{ type: 'text', text: 'Rooms' }] };
  const order = makeProperty({ ...whole, slug: 'order', photos: [photo('1'), photo('2')] });
  const untitled = makeProperty({ ...whole, slug: 'untitled', title: {} });
  const dark = makeProperty({ ...whole, slug: 'dark' });
  const bare = makeProperty({ ...whole, slug: 'bare' });
  const outside = makeProperty({ ...whole, slug: 'outside', amenities: ['wifi'] });
  const stored = makeFile([home, markup, order, untitled, dark, bare, outside]);
  const amenities = [...stored.amenities, { slug: 'pool', label: { en: 'Pool' } }];
  await imports.load({ ...stored, amenities });
  const before = imports.rows('SELECT * FROM properties');
  const file = {
    amenities: [{ slug: 'wifi', label: { en: 'Fast Wi-Fi', es: 'Wifi' } }],
    properties: [
      {
        ...home,
        slug: 'casa-nueva',
        name: `Home ${'x'.repeat(200)}`,
        title: { en: 'Stone house above the cove near Sóller', es: 'Casa' },
        price_from: 11800,
        city: null,
        photos: [
          photo('1', { alt: {} }),
          photo('2', { section: 'gallery' }),
          photo('3', { web_sort_order: 2 }),
          photo('6'),
        ],
        unique_features: [{ icon_slug: 'sun', label: { en: 'Late' } }],
        amenities: ['pool'],
        location_id: null,
      },
      { ...markup, description: { en: { type: 'doc', content: [rooms] } } },
      { ...order, photos: [photo('2'), photo('1')] },
      untitled,
      { ...dark, photos: [photo('1', { web_visible: false })] },
      { ...bare, photos: [] },
      makeProperty({ ...whole, slug: 'new-home' }),
    ],
  };
  const dry = await imports.load(file, '--dry-run', '--prune', '--many');
  expect(dry.code).toBe(0);
  expect(dry.stdout.split('\n')).toEqual([
    'Dry run: nothing was written. An import would give:',
    '7 listings: 1 added, 5 changed, 1 unchanged',
    '1 amenity: 0 added, 1 changed, 0 unchanged',
    'Worth a look: public without a location: 1 listing: casa-nueva',
    'Worth a look: a number that changes by a factor of ten or more: 1 listing: casa-nueva price_from 118000 → 11800',
    'Worth a look: public without a photo: 2 listings: dark, bare',
    'Hidden, because the file does not name them: 1 listing',
    'casa-marea: slug "casa-marea" → "casa-nueva"; name "Home" → "Home xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"; title.en "…the cove at Deià" → "…the cove near Sóller"; title.fr removed; title.es added: "Casa"; city "Inca" → none; price_from 118000 → 11800; location "bay" → none; 1 photo added; 2 photos removed; photo 1.jpg: alt.en removed; photo 2.jpg: section "hero" → "gallery"; 1 more photo changed; 1 unique feature removed; 1 amenity added (pool); 1 amenity removed (wifi)',
    'markup: description has other markup',
    'order: photos in another order',
    'dark: photo 1.jpg: web_visible true → false',
    'bare: 1 photo removed',
    'amenity wifi: label.en "Wi-Fi" → "Fast Wi-Fi"; label.fr removed',
    'Hidden, because the file does not name them:',
    'outside: status "listed" → "hidden"; amenity wifi: label.en "Wi-Fi" → "Fast Wi-Fi", label.fr removed',
    'New: new-home',
    '',
  ]);
  expect(dry.stderr.split('\n')).toEqual([
    'Warning: would clear title.fr of 1 listing: casa-marea',
    'Warning: would clear city of 1 listing: casa-marea',
    'Warning: would clear location of 1 listing: casa-marea',
    'Warning: would clear photos.alt.en of 1 listing: casa-marea',
    'Warning: would clear gallery of 1 listing: dark',
    'Warning: would clear photos of 1 listing: bare',
    'Warning: would clear label.fr of amenity wifi, shown by 1 listing: outside',
    '',
  ]);
  expect(imports.rows('SELECT * FROM properties')).toEqual(before);
});

it("warns once of a location's cleared name even if several listings show the location", async () => {
  const homes = ['1', '2', '3', '4'].map((number) =>
    makeProperty({ ...whole, id: BAY.replace(/.$/, number), slug: `home-${number}` }),
  );
  await imports.load(makeFile(homes));
  const file = { locations: [{ id: BAY, slug: 'bay', name: {} }] };
  const { stderr } = await imports.load(file, '--many');
  expect(stderr).toContain(
    'Warning: cleared name.en of location bay, shown by 4 listings: home-1, home-2, home-3 and 1 more\n',
  );
  expect(stderr.match(/name/g)).toHaveLength(1);
});

it('reports listings that are rendered again because the rendering rules have changed', async () => {
  const file = makeFile([makeProperty({ slug: 'one' })]);
  await imports.load(file);
  imports.rows(`UPDATE properties SET rendering = 'older'`);
  expect((await imports.load(file, '--dry-run')).stdout).toContain('\none: rendered again\n');
});

it('lists only the first 50 changes in a dry run without --all', async () => {
  const homes = Array.from({ length: 52 }, (_, index) => makeProperty({ slug: `home-${index}` }));
  await imports.load({ properties: homes });
  const properties = homes.map((home) => ({ ...home, name: 'Renamed' }));
  const first = await imports.load({ properties }, '--dry-run');
  expect(first.stdout.match(/"Renamed"/g)).toHaveLength(50);
  expect(first.stdout).toMatch(/\nAnd 2 more changes: --all lists them\n$/);
  const all = await imports.load({ properties }, '--dry-run', '--all');
  expect(all.stdout.match(/"Renamed"/g)).toHaveLength(52);
});

it('names the unknown sheets that an import ignores', async () => {
  await imports.load(makeFile([makeProperty({ slug: 'one' })]));
  const listings = [['slug'], ['one']];
  const otherSheets = { 'read me': [['x']], Photo: [['a']], Notes: [['b']] };
  expect((await imports.load(await workbook({ listings, ...otherSheets }))).stdout).toContain(
    'Ignored: the sheet "Photo", did you mean photos?\nIgnored: the sheet "Notes"\n',
  );
});

const videos = (url: string) => ({
  videos: [{ url, type: 'hero', web_visible: true, sort_order: 1 }],
});

it.each<[finding: string, fields: object]>([
  [
    'HTML tags in a text, which visitors would see',
    { description: { en: 'A <b>large</b> house' } },
  ],
  ['HTML entities in a text, such as &amp;', { title: { en: 'Sea &amp; sun' } }],
  ['HTML entities in a text, such as &amp;', { city: 'Dei&#224;' }],
  ['a text that was decoded wrongly, such as DeiÃ', { city: 'DeiÃ\u00a0' }],
  ['a text that was decoded wrongly, such as DeiÃ', { title: { fr: 'Vue sur la mer â€“ calme' } }],
  // PowerShell decodes the output of programs with an older code page.
  ['a text that was decoded wrongly, such as DeiÃ', { city: 'Dei├á' }],
  ['a text that was decoded wrongly, such as DeiÃ', { title: { es: 'Gen\ufffdve' } }],
  ['a word of a program as a text, such as NULL', { city: 'NULL' }],
  ['a word of a program as a text, such as NULL', { title: { en: '[object Object]' } }],
  ['a word of a program as a text, such as NULL', { name: 'undefined' }],
  ['the error or the placeholder of a formula as a text', { address: '#N/A' }],
  ['the error or the placeholder of a formula as a text', { title: { fr: 'Loading...' } }],
  ['Markdown in a text', { description: { en: 'A **large** house' } }],
  ['Markdown in a text', { description: { en: '## The house' } }],
  ['a document as a text', { description: { en: '{"type":"doc","content":[]}' } }],
  ['the coordinates 0,0', { latitude: 0, longitude: 0 }],
  ['a latitude without a longitude, or the reverse', { longitude: null }],
  ['public without a photo', { photos: [] }],
  ['public without a title', { title: {} }],
  ['public without a location', { location_id: null }],
  ['public without a hero image', { photos: [photo('1', { section: 'gallery' })] }],
  ['a gallery without any alt text', { photos: [photo('1', { alt: {} })] }],
  ['a photo or video whose address is a page, not a file', videos('https://youtu.be/1')],
  ['a photo or video whose address is a page, not a file', videos('https://vimeo.com/1')],
  ...[
    ['https://drive.google.com/file/d/1/view', 'whose address is a page, not a file'],
    ['https://www.dropbox.com/s/1/a.jpg?dl=0', 'whose address is a page, not a file'],
    ['https://a.example/1.HEIC', 'in a form that browsers do not show'],
    ['https://a.example/1.jpg?X-Amz-Expires=1', 'whose address expires'],
    ['http://a.example/1.jpg', 'at http:, which a page at https: blocks'],
  ].map(([url = '', finding = '']): [string, object] => [
    `a photo or video ${finding}`,
    { photos: [photo('1', { url })] },
  ]),
])('warns of %s only in the import that introduces it', async (finding, fields) => {
  await imports.load(makeFile([]));
  const usual = { ...whole, latitude: 39.6, longitude: 2.9, price_from: 2 };
  const odd = makeProperty({ ...usual, slug: 'odd', ...fields });
  const bare = makeProperty({ slug: 'bare', status: 'hidden' });
  const film = videos('https://player.vimeo.com/external/1.hd.mp4');
  const properties = [
    odd,
    makeProperty({ ...usual, slug: 'usual', description: { en: 'a < b and c > d' }, ...film }),
    bare,
  ];
  const { code, stdout } = await imports.load({ properties });
  expect(code).toBe(0);
  expect(stdout.match(/^Worth a look: .*/gm)).toEqual([
    expect.stringMatching(new RegExp(`${RegExp.escape(finding)}.*: 1 listing: odd`)),
  ]);
  const later = [
    { ...odd, price_from: 19 },
    { ...bare, latitude: 39.6, longitude: 2.9 },
  ];
  const secondImport = await imports.load({ properties: later });
  expect([secondImport.code, secondImport.stdout]).toEqual([
    0,
    expect.not.stringContaining('Worth a look'),
  ]);
});

const FACTOR = 'a number that changes by a factor of ten or more: 1 listing: casa-marea';

it.each<[fields: object, ...warnings: string[]]>([
  [{ size: 85125 }, `${FACTOR} size 85.125 → 85125`],
  [{ size: 851.25 }, `${FACTOR} size 85.125 → 851.25`],
  [{ size: 851.24 }],
  [{ size: 0, beds: 4 }],
  [
    { latitude: 2.9, longitude: 39.6 },
    'latitude and longitude that seem swapped: 1 listing: casa-marea',
  ],
  [{ latitude: 40.06 }, 'coordinates more than 50 km from before: 1 listing: casa-marea 51 km'],
  [{ latitude: 40.04 }],
  // Control characters could manipulate the terminal.
  [{ hid: 'H-\u001b[2J2' }, 'a changed hid: 1 listing: casa-marea H-1 → H-\\u001b[2J2'],
])('warns of an unlikely change to %j', async (fields, ...warnings) => {
  const usual = { hid: 'H-1', latitude: 39.6, longitude: 2.9, size: 85.125, beds: 0 };
  const home = makeProperty({ slug: 'casa-marea', ...usual });
  await imports.load({ properties: [home] });
  const { stdout, stderr } = await imports.load({ properties: [{ ...home, ...fields }] });
  expect(stderr).toBe('');
  expect(stdout.match(/^Worth a look: .*/gm) ?? []).toEqual(
    warnings.map((warning) => expect.stringContaining(warning)),
  );
});
