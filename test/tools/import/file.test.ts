import { describe, expect, it } from 'vitest';
import { readListingsFile } from '../../../tools/import/file.ts';
import { problemLine } from '../../../tools/import/problem.ts';

const ID = '5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';
const OTHER_ID = '6f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';
const home = { id: ID, slug: 'home', name: 'Home', status: 'listed', display_order: 1 };
const photo = {
  id: OTHER_ID,
  url: 'https://images.example.com/1.jpg',
  section: 'hero',
  web_visible: true,
  web_sort_order: 1,
};

function linesOf(content: unknown): string[] {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return readListingsFile(new TextEncoder().encode(text)).problems.map(problemLine);
}

describe('a listings file', () => {
  it('is read with its sections missing, or behind a byte order mark', () => {
    expect(linesOf({})).toEqual([]);
    expect(linesOf(`\ufeff${JSON.stringify({ properties: [home] })}`)).toEqual([]);
  });

  it('fills in what a listing leaves out', () => {
    const read = readListingsFile(new TextEncoder().encode(JSON.stringify({ properties: [home] })));
    expect(read.kind === 'read' && read.file.properties[0]?.value).toMatchObject({
      ...home,
      hid: null,
      title: {},
      photos: [],
      amenities: [],
      location_id: null,
      is_early_access: false,
    });
  });

  it('must be UTF-8', () => {
    const read = readListingsFile(new Uint8Array([0x7b, 0xff, 0x7d]));
    expect(read.problems.map(problemLine)).toEqual(['the file: is not UTF-8 text']);
  });

  it.each([
    ['nothing', '', /^the file: is not JSON: /],
    ['half of one', '{"properties": [', /^the file: is not JSON: /],
    ['a list', [], /^the file: must be/],
    ['an unknown section', { homes: [] }, /^the file: homes is not a field of this resource$/],
    [
      'a section that is no list',
      { properties: {} },
      /^the file: properties must be of type array$/,
    ],
  ])('must be an object of three lists, not %s', (_, content, line) => {
    const lines = linesOf(content);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(line);
  });

  it.each([
    ['a required field', { ...home, name: undefined }, 'name is required'],
    ['an unknown field', { ...home, bed: 1 }, 'bed is not a field of this resource'],
    ['a derived field', { ...home, url: 'x' }, 'url is not a field of this resource'],
    [
      'a status',
      { ...home, status: 'sold' },
      'status must be one of listed, coming_soon, sold_out, hidden',
    ],
    [
      'a url',
      { ...home, photos: [{ ...photo, url: 'javascript:1' }] },
      'photos.0.url must be an absolute http or https URL',
    ],
    ['a NUL', { ...home, title: { es: 'a\0b' } }, 'title.es must not contain NUL (U+0000)'],
    [
      'a NUL in rich text',
      {
        ...home,
        description: {
          en: {
            type: 'doc',
            content: [{ type: 'paragraph', content: [{ type: 'text', text: '\0' }] }],
          },
        },
      },
      'description.en.content.0.content.0.text must not contain NUL (U+0000)',
    ],
    [
      'half of a surrogate pair',
      { ...home, title: { es: 'a\ud800b' } },
      'title.es must not contain half of a surrogate pair',
    ],
    [
      'half of a surrogate pair in a url',
      { ...home, photos: [{ ...photo, url: 'https://images.example.com/\udc00' }] },
      'photos.0.url must be an absolute http or https URL',
    ],
    ['a list in place of a text', { ...home, hid: ['x'] }, 'hid must be of type string'],
    ['an empty name', { ...home, name: '' }, 'name must be at least 1 character long'],
    ['an order', { ...home, display_order: 2 ** 31 }, 'display_order must be at most 2147483647'],
    ['a repeated photo', { ...home, photos: [photo, photo] }, 'photos.1.id repeats photos.0.id'],
    [
      'a repeated amenity',
      { ...home, amenities: ['wifi', 'pool', 'wifi'] },
      'amenities.2 repeats amenities.0',
    ],
    [
      'a foreign hero photo',
      { ...home, photos: [photo], hero_photo_id: ID },
      'hero_photo_id must be the id of one of the photos of this listing',
    ],
  ])('names %s that is wrong by record and path', (_, property, problem) => {
    expect(linesOf({ properties: [property] })).toEqual([
      `properties[0] (slug "home"): ${problem}`,
    ]);
  });

  it.each([
    ['a section', `{"properties":[],"locations":[],"properties":[]}`, 'the file: properties'],
    [
      'a field',
      `{"properties":[{"slug":"home","title":{"en":"a","en":"b"}}]}`,
      'properties[0] (slug "home"): title.en',
    ],
    [
      'a field in another notation',
      `{"properties":[{"slug":"home","na\\u006de":"a","name":"b"}]}`,
      'properties[0] (slug "home"): name',
    ],
    [
      'a nested field',
      `{"properties":[{},{"photos":[{},{"alt":{},"url":"\\\\","alt":{"en":"\\"{"}}]}]}`,
      'properties[1]: photos.1.alt',
    ],
    ['a field of no record', `{"properties":{"a":1,"a":2}}`, 'the file: properties.a'],
  ])('must not have %s twice in one object', (_, text, place) => {
    expect(linesOf(text)).toContain(`${place} appears twice in the same object`);
  });

  it('reports a repeated section alone: which of the two was meant is not known', () => {
    const text = `{"properties":[{"slug":1}],"properties":[{"slug":2}],"homes":[]}`;
    expect(linesOf(text)).toEqual(['the file: properties appears twice in the same object']);
  });

  it.each([
    ['9007199254740993', '9007199254740992'],
    ['-12345678901234567890', '-12345678901234567000'],
    ['1234567890123456789e3', '1.2345678901234568e+21'],
  ])('must not have the integer %s, which JavaScript would round', (number, rounded) => {
    const home = `{"slug":"home","size":${number},"description":{"en":{"type":"doc","attrs":{"id":[${number}]}}}}`;
    const lines = linesOf(`{"properties":[${home}]}`);
    for (const path of ['size', 'description.en.attrs.id.0']) {
      const problem = `${path} is a number that JavaScript would round to ${rounded}`;
      expect(lines).toContain(`properties[0] (slug "home"): ${problem}`);
    }
  });

  it('must not have a number that is too large for JavaScript', () => {
    expect(linesOf('{"properties":[{"slug":"home","size":-1e999}]}')).toContain(
      'properties[0] (slug "home"): size is a number that is too large',
    );
  });

  it('may have any number that JavaScript holds', () => {
    for (const number of ['9007199254740991', '9007199254740992', '1e21', '1E+23', '100000.0e18']) {
      const text = JSON.stringify({ properties: [{ ...home, size: 0 }] });
      expect(linesOf(text.replace('"size":0', `"size":${number}`))).toEqual([]);
    }
    for (const number of ['0e99999', '-0', '0.1e1', '1.5e-400', '41.123456789012345678']) {
      const text = JSON.stringify({ properties: [{ ...home, latitude: 0 }] });
      expect(linesOf(text.replace('"latitude":0', `"latitude":${number}`))).toEqual([]);
    }
  });

  it.each([65, 1_100, 5_000, 100_000])(
    'must not nest attributes or marks %i levels deep',
    (levels) => {
      const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`;
      const text = `{"type":"text","text":"x","marks":${deep},"content":${deep}}`;
      const paragraph = `{"type":"paragraph","attrs":${deep},"content":[${text}]}`;
      const document = `{"type":"doc","content":[${paragraph}]}`;
      const content = JSON.stringify({ properties: [{ ...home, description: { fr: 0 } }] });
      const record = 'properties[0] (slug "home"): description.fr.content.0';
      const message = 'must be nested at most 64 levels deep';
      expect(linesOf(content.replace('{"fr":0}', `{"fr":${document}}`))).toEqual([
        `${record}.attrs ${message}`,
        `${record}.content.0.marks ${message}`,
        `${record}.content.0.content ${message}`,
      ]);
    },
  );

  it('may nest attributes and marks 64 levels deep', () => {
    const deep = JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`);
    const description = { en: { type: 'doc', content: [{ type: 'paragraph', marks: deep }] } };
    expect(linesOf({ properties: [{ ...home, description }] })).toEqual([]);
  });

  it.each([
    [' https://a.example/1.jpg', 'must be an absolute http or https URL'],
    ['https://a.example/1.jpg ', 'must not contain white space'],
    ['https://a.example/a b', 'must not contain white space'],
    ['https://a.example/a\nb', 'must not contain white space'],
    ['https://a.example/a\tb', 'must not contain white space'],
    ['https://a.example/a\u00a0b', 'must not contain white space'],
    ['https://a.example/"onload="x', 'must not contain white space, quotation marks'],
    [`https://a.example/'onload='x`, 'must not contain white space, quotation marks'],
    ['https://a.example/<script>', 'must not contain white space, quotation marks or angle'],
    ['https://user@a.example/', 'must not contain credentials'],
    ['https://user:secret@a.example/', 'must not contain credentials'],
    ['https://:secret@a.example/', 'must not contain credentials'],
  ])('must not have the URL %j anywhere', (url, message) => {
    const video = { id: OTHER_ID, url, type: 'hero', web_visible: true, sort_order: 1 };
    const lines = linesOf({
      properties: [
        { ...home, financial_analysis_url: url, photos: [{ ...photo, url }], videos: [video] },
      ],
    });
    expect(lines).toEqual(
      ['financial_analysis_url', 'photos.0.url', 'videos.0.url'].map((path) =>
        expect.stringContaining(`properties[0] (slug "home"): ${path} ${message}`),
      ),
    );
  });

  it('has its URLs in normal form', () => {
    const url = 'HTTPS://IMAGES.Example.com:443/a/../é.jpg';
    const normal = 'https://images.example.com/%C3%A9.jpg';
    const video = { id: OTHER_ID, url, type: 'hero', web_visible: true, sort_order: 1 };
    const content = {
      properties: [
        { ...home, financial_analysis_url: url, photos: [{ ...photo, url }], videos: [video] },
      ],
    };
    const read = readListingsFile(new TextEncoder().encode(JSON.stringify(content)));
    expect(read.kind === 'read' && read.file.properties[0]?.value).toMatchObject({
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
    expect(lines[0]).toBe(
      'properties[0] (slug "home"): amenities must be a list of at most 1000 entries',
    );
  });

  it('counts the characters of a text, not the halves of those beyond U+FFFF', () => {
    const widest = '\u{1f600}'.repeat(100_000);
    const paragraph = { type: 'paragraph', content: [{ type: 'text', text: widest }] };
    const longest = { type: 'doc', content: [paragraph] };
    const description = { en: widest, es: longest };
    expect(linesOf({ properties: [{ ...home, name: widest, description }] })).toEqual([]);
    const longer = {
      name: `${widest}x`,
      description: { en: `${widest}x`, es: { ...longest, content: [paragraph, paragraph] } },
    };
    expect(linesOf({ properties: [{ ...home, ...longer }] })).toHaveLength(3);
  });

  it('finds a repeated key, also in records that are wrong otherwise', () => {
    const properties = [
      home,
      { ...home, id: OTHER_ID },
      { ...home, id: ID.toUpperCase(), slug: 'second', status: 'x' },
    ];
    expect(linesOf({ properties }).sort()).toEqual([
      'properties[1] (slug "home"): slug repeats that of properties[0] (slug "home")',
      'properties[2] (slug "second"): id repeats that of properties[0] (slug "home")',
      'properties[2] (slug "second"): status must be one of listed, coming_soon, sold_out, hidden',
    ]);
    const place = { id: ID, slug: null, name: {} };
    expect(linesOf({ locations: [place, { ...place, id: OTHER_ID }] })).toEqual([]);
    expect(linesOf({ locations: [place, place] })).toHaveLength(1);
    const wifi = { slug: 'wifi', label: {} };
    expect(linesOf({ amenities: [wifi, wifi] })).toHaveLength(1);
  });

  it('lists every problem of every record', () => {
    const lines = linesOf({ properties: [1, { slug: 'a' }, { ...home, name: '', beds: -1 }] });
    expect(lines).toHaveLength(1 + 4 + 2);
  });

  it.each([
    ['has an unknown section', { homes: [] }, 'read', 'homes is not a field of this resource'],
    [
      'has a section of no list',
      { amenities: {} },
      'unreadable',
      'amenities must be of type array',
    ],
  ])('lists them also when it %s', (_, more, kind, message) => {
    const content = { ...more, properties: [{ ...home, beds: -1 }, home] };
    const read = readListingsFile(new TextEncoder().encode(JSON.stringify(content)));
    expect(read.kind).toBe(kind);
    expect(read.problems.map(problemLine)).toEqual([
      `the file: ${message}`,
      'properties[0] (slug "home"): beds must be at least 0',
      expect.stringMatching(/^properties\[1] \(slug "home"\): id repeats that of/),
      expect.stringMatching(/^properties\[1] \(slug "home"\): slug repeats that of/),
    ]);
  });
});
