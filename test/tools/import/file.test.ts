import { describe, expect, it } from 'vitest';
import { readListingsFile } from '../../../tools/import/file.ts';
import { problemLine } from '../../../tools/import/problem.ts';

const ID = '5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';
const OTHER_ID = '6f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';
// Computed by Python's uuid.uuid5.
const LOCATION_OF_SLUG = '71add1fe-794e-5ece-bba1-b7df74a74a65';
const ID_OF_HID = '0a733ae9-ac99-5d39-aff9-63cd6fd581fc';
const ID_OF_SLUG = '26c49cef-45d2-575d-8fdf-e0df5d9f275d';
const ID_OF_URL = '4459ad89-5545-5454-9fa1-749010c760b7';
const home = { id: ID, slug: 'home', name: 'Home', status: 'listed', display_order: 1 };
const photo = {
  id: OTHER_ID,
  url: 'https://images.example.com/1.jpg',
  section: 'hero',
  web_visible: true,
  web_sort_order: 1,
};

const place = { id: ID, slug: null, name: {} };
const wifi = { slug: 'wifi', label: {} };

/** Reads a text as it is, anything else as JSON. */
function readOf(content: unknown) {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return readListingsFile(Buffer.from(text));
}

function linesOf(content: unknown): string[] {
  return readOf(content).problems.map(problemLine);
}

function listingsOf(content: unknown) {
  const read = readOf(content);
  expect(read.problems).toEqual([]);
  return read.kind === 'read' ? read.file.properties.map(({ value }) => value) : [];
}

/** A listing's fields with a URL, each with this one. */
function addresses(url: string) {
  const video = { id: OTHER_ID, url, type: 'hero', web_visible: true, sort_order: 1 };
  return { financial_analysis_url: url, photos: [{ ...photo, url }], videos: [video] };
}

describe('a listings file', () => {
  it('is read with its sections missing, or behind a byte order mark', () => {
    expect(linesOf({})).toEqual([]);
    expect(linesOf(`\ufeff${JSON.stringify({ properties: [home] })}`)).toEqual([]);
  });

  it.each([
    ['', /^the file: is not JSON: /],
    [[], /^the file: must be/],
  ])('must be an object of three lists, not %j', (content, line) => {
    expect(linesOf(content)).toEqual([expect.stringMatching(line)]);
  });

  const address = (url: string) => ({ photos: [{ ...photo, url }] });
  const document = (text: string) => ({
    type: 'doc',
    content: [{ type: 'paragraph', content: [{ type: 'text', text }] }],
  });

  it.each([
    [{ name: undefined }, 'name is required'],
    [{ name: '' }, 'name "" must be at least 1 character long'],
    [{ bed: 1 }, 'bed is not a field of this resource: did you mean beds?'],
    [{ status: 'sold' }, 'status "sold" must be one of listed, coming_soon, sold_out, hidden'],
    [{ hid: ['x'] }, 'hid ["x"] must be of type string'],
    [{ display_order: 2 ** 31 }, 'display_order 2147483648 must be at most 2147483647'],
    [{ title: { es: 'a\0b' } }, 'title.es "a\\u0000b" must not contain NUL (U+0000)'],
    [
      { title: { es: 'a\ud800b' } },
      'title.es "a\\ud800b" must not contain half of a surrogate pair',
    ],
    [
      { description: { en: { ...document(''), attrs: { '\0': 1 } } } },
      'description.en {"type":"doc","content":"…","attrs":"…"} must not contain NUL (U+0000)',
    ],
    [
      { description: { en: { ...document(''), marks: [{ href: 'a\ud800' }] } } },
      'description.en {"type":"doc","content":"…","marks":"…"} must not contain half of a surrogate pair',
    ],
    [
      address('https://images.example.com/\udc00'),
      'photos.0.url "https://images.example.com/\\udc00" must be an absolute http or https URL',
    ],
    [address('javascript:1'), 'photos.0.url "javascript:1" must be an absolute http or https URL'],
    [{ photos: [photo, photo] }, `photos.1 "${OTHER_ID}" repeats photos.0`],
    [{ amenities: ['wifi', 'pool', 'wifi'] }, 'amenities.2 "wifi" repeats amenities.0'],
    [{ location: 'bay', location_id: ID }, 'location "bay" must not be combined with location_id'],
    [
      { photos: [photo], hero_photo_id: ID },
      `hero_photo_id "${ID}" must be the id of one of the photos of this listing`,
    ],
  ])('rejects %j: %s', (fields, problem) => {
    expect(linesOf({ properties: [{ ...home, ...fields }] })).toEqual([
      `properties[0] (slug "home"): ${problem}`,
    ]);
  });

  it.each([
    [`{"properties":[],"locations":[],"properties":[]}`, 'the file: properties'],
    [`{"properties":[{"slug":"a","na\\u006de":"a","name":"b"}]}`, 'properties[0] (slug "a"): name'],
    [
      `{"properties":[{},{"photos":[{},{"alt":{},"url":"\\\\","alt":{"en":"\\"{"}}]}]}`,
      'properties[1]: photos.1.alt',
    ],
    [`{"properties":{"a":1,"a":2}}`, 'the file: properties.a'],
  ])('must not have a field twice in one object: %s', (text, place) => {
    expect(linesOf(text)).toContain(`${place} appears twice in the same object`);
  });

  it('reports a repeated section alone: either of the two may be meant', () => {
    const text = `{"properties":[{"slug":1}],"properties":[{"slug":2}],"homes":[]}`;
    expect(linesOf(text)).toEqual(['the file: properties appears twice in the same object']);
  });

  it.each([
    ['9007199254740993', 'is a number that JavaScript would round to 9007199254740992'],
    ['90071992547409.93e+2', 'is a number that JavaScript would round to 9007199254740992'],
    ['-1e999', 'is a number that is too large'],
    ['1'.repeat(400), 'is a number that is too large'],
  ])('must not have the number %s, which %s', (number, problem) => {
    const attributes = `{"en":{"type":"doc","attrs":{"id":[${number}]}}}`;
    const text = `{"properties":[{"slug":"home","size":${number},"description":${attributes}}]}`;
    const lines = linesOf(text).filter(
      (line) => !line.endsWith('hidden') && !/required$/.test(line),
    );
    for (const path of ['size', 'description.en.attrs.id.0']) {
      expect(lines).toContain(`properties[0] (slug "home"): ${path} ${problem}`);
    }
    expect(lines.filter((line) => line.includes('null'))).toEqual([]);
  });

  it.each([
    ['size', ['9007199254740991', '9007199254740992', '1e21', '1E+23', '100000.0e18']],
    ['latitude', ['0e99999', '-0', '0.1e1', '1.5e-400', '41.123456789012345678']],
  ])('may have any %s that JavaScript holds', (field, numbers) => {
    const text = JSON.stringify({ properties: [{ ...home, [field]: 0 }] });
    for (const number of numbers) {
      expect(linesOf(text.replace(`"${field}":0`, `"${field}":${number}`))).toEqual([]);
    }
  });

  it.each([
    [128, []],
    [129, ['description.fr {"type":"doc","attrs":"…"} must be nested at most 128 levels deep']],
  ])('may have attributes with %i levels around them: %j', (levels, problems) => {
    const attrs = JSON.parse(`${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`);
    const description = { fr: { type: 'doc', attrs } };
    const lines = linesOf({ properties: [{ ...home, description }] });
    expect(lines).toEqual(problems.map((each) => `properties[0] (slug "home"): ${each}`));
  });

  it('must not be nested deeper than its reader can follow', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(linesOf(`{"properties":[${deep}]}`)).toEqual(['the file: is nested too deep']);
  });

  it('keeps a field named __proto__ in attributes as data: it changes no object, and shows nowhere', () => {
    const text = '{"type":"text","text":"Hello"}';
    const attrs = '{"__proto__":{"status":"hidden"}}';
    const document = `{"type":"doc","content":[{"type":"paragraph","attrs":${attrs},"content":[${text}]}]}`;
    const file = JSON.stringify({ properties: [{ ...home, description: { en: 0 } }] });
    for (const isPatch of [false, true]) {
      const bytes = new TextEncoder().encode(file.replace('{"en":0}', `{"en":${document}}`));
      const read = readListingsFile(bytes, { isPatch });
      const [listing] = read.kind === 'read' ? read.file.properties : [];
      expect([read.problems, JSON.stringify(listing?.value?.description)]).toEqual([
        [],
        `{"en":${document}}`,
      ]);
    }
    expect({}).not.toHaveProperty('status');
  });

  it.each([
    [' https://a.example/1.jpg', 'must be an absolute http or https URL'],
    ['https://a.example/a\nb', 'must not contain line breaks or tabs'],
    [`https://o'brien.example/`, 'must be an absolute http or https URL'],
    ['https://user@a.example/', 'must not contain credentials'],
  ])('must not have the URL %j anywhere', (url, message) => {
    const lines = linesOf({ properties: [{ ...home, ...addresses(url) }] });
    expect(lines).toEqual(
      ['financial_analysis_url', 'photos.0.url', 'videos.0.url'].map(
        (path) => `properties[0] (slug "home"): ${path} ${JSON.stringify(url)} ${message}`,
      ),
    );
  });

  it.each([
    ['HTTPS://IMAGES.Example.com:443/a/../é.jpg', 'https://images.example.com/%C3%A9.jpg'],
    [`https://a.example/Casa d'Or 1.jpg `, 'https://a.example/Casa%20d%27Or%201.jpg'],
    ['https://a.example/a\u00a0b', 'https://a.example/a%C2%A0b'],
    ['https://a.example/"onload="x', 'https://a.example/%22onload=%22x'],
    [`https://a.example/?q='#'`, 'https://a.example/?q=%27#%27'],
    ['https://a.example/<script>', 'https://a.example/%3Cscript%3E'],
  ])('has the URL %j in normal form', (url, normal) => {
    const [listing] = listingsOf({ properties: [{ ...home, ...addresses(url) }] });
    expect(listing).toMatchObject({
      financial_analysis_url: normal,
      photos: [{ url: normal }],
      videos: [{ url: normal }],
    });
  });

  it('bounds a URL in its normal form', () => {
    const url = `https://a.example/${'é'.repeat(20_000)}`;
    expect(linesOf({ properties: [{ ...home, financial_analysis_url: url }] })).toHaveLength(1);
  });

  it('lists every problem, however many there are', () => {
    const amenities = Array.from({ length: 200_000 }, () => 'wifi');
    const lines = linesOf({ properties: [{ ...home, amenities }] });
    expect(lines).toHaveLength(200_000);
    expect(lines[0]).toMatch(/: amenities \["wifi",.*… must be a list of at most 1000 entries$/);
  });

  it('counts the characters of a text, not its UTF-16 units', () => {
    const widest = '\u{1f600}'.repeat(100_000);
    const texts = (text: string) => ({ name: text, description: { en: text } });
    expect(linesOf({ properties: [{ ...home, ...texts(widest) }] })).toEqual([]);
    expect(linesOf({ properties: [{ ...home, ...texts(`${widest}x`) }] })).toHaveLength(2);
  });

  it.each([
    [{ homes: [] }, 'read', 'homes is not a field of this resource'],
    [{ amenities: {} }, 'unreadable', 'amenities must be of type array'],
  ])('lists every problem of every record beside %j', (more, kind, message) => {
    const read = readOf({ ...more, properties: [{ ...home, beds: -1 }, home, 1] });
    expect(read.kind).toBe(kind);
    expect(read.problems.map(problemLine)).toEqual([
      `the file: ${message}`,
      'properties[0] (slug "home"): beds -1 must be at least 0',
      'properties[2]: must be of type object',
      expect.stringMatching(/^properties\[1] \(slug "home"\): id ".*" repeats the id of/),
      expect.stringMatching(/^properties\[1] \(slug "home"\): slug "home" repeats the slug of/),
    ]);
  });

  describe('without ids', () => {
    const { id: _, ...own } = home;
    const { id: __, ...picture } = photo;
    const video = { url: photo.url, type: 'hero', web_visible: true, sort_order: 1 };

    it('gets them from hid, slug and url, the same for ever', () => {
      const written = { ...own, hid: 'H-1', photos: [picture], videos: [video] };
      const read = readOf({
        locations: [{ slug: 'mallorca', name: {} }],
        properties: [written, { ...own, slug: 'casa-marea' }],
      });
      expect(read.kind === 'read' && [read.problems, read.file]).toMatchObject([
        [],
        {
          // uuidv5 of mallorca, H-1, casa-marea and the address, under
          // dab30d73-9ba7-4be9-995d-d83048c8cdd4
          locations: [{ value: { id: LOCATION_OF_SLUG } }],
          properties: [
            { value: { id: ID_OF_HID, photos: [{ id: ID_OF_URL }], videos: [{ id: ID_OF_URL }] } },
            { value: { id: ID_OF_SLUG } },
          ],
        },
      ]);
    });

    it('names the written field when two records get the same id', () => {
      const twice = { ...picture, url: 'HTTPS://images.example.com/1.jpg' };
      const properties = [
        { ...own, hid: 'H-1', slug: 'a' },
        { ...own, hid: 'H-1', slug: 'b', status: 'x' },
        { ...own, slug: 'c', photos: [picture, twice] },
        { ...own, slug: 'c' },
        { ...own, slug: 'd', id: ID },
        { ...own, slug: 'e', id: ID.toUpperCase() },
      ];
      const locations = [place, { ...place, id: OTHER_ID }, place];
      expect(linesOf({ locations, amenities: [wifi, wifi], properties }).slice(2)).toEqual([
        `locations[2] (id "${ID}"): id "${ID}" repeats the id of locations[0] (id "${ID}")`,
        'amenities[1] (slug "wifi"): slug "wifi" repeats the slug of amenities[0] (slug "wifi")',
        'properties[1] (slug "b"): hid "H-1" repeats the id of properties[0] (slug "a")',
        'properties[3] (slug "c"): slug "c" repeats the slug of properties[2] (slug "c")',
        `properties[5] (slug "e"): id "${ID}" repeats the id of properties[4] (slug "d")`,
      ]);
    });

    it('of a record without keys is not asked for: a slug or an address is', () => {
      const properties = [{ ...own, slug: undefined, photos: [{ ...picture, url: 'x' }] }];
      expect(linesOf({ locations: [{ name: {} }], properties })).toEqual([
        'locations[0]: slug is required',
        'properties[0] (name "Home"): slug is required',
        'properties[0] (name "Home"): photos.0.url "x" must be an absolute http or https URL',
      ]);
    });
  });
});
