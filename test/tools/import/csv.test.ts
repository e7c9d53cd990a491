/** A listings file as a spreadsheet. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
beforeEach(async () => {
  const title = { en: 'House', fr: 'Maison' };
  const home = propertyOf({ slug: 'casa-marea', hid: 'H-1', title, price_from: 1 });
  await imports.load(fileOf([home, propertyOf({ slug: 'other', price_from: 2 })]));
});
afterEach(() => imports.clear());

describe('a sheet', () => {
  it('changes the fields of its cells, and an empty cell changes nothing', async () => {
    const before = await imports.stored('casa-marea');
    const done = await imports.loadSheet(
      'slug,price_from,title.en,is_early_access,location,amenities\n' +
        'casa-marea,121000.5,"The house, ""by"" the sea",YES,bay,\n' +
        ',,,,,\n' +
        '\n' +
        'other, ,,no,,wifi\n',
    );
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(await imports.stored('casa-marea')).toEqual({
      ...before,
      price_from: 121000.5,
      title: { en: 'The house, "by" the sea', fr: 'Maison' },
      is_early_access: true,
      location: { id: expect.any(String), slug: 'bay', name: { en: 'The bay' } },
    });
    expect(await imports.stored('other')).toMatchObject({
      price_from: 2,
      amenities: [{ slug: 'wifi' }],
    });
  });

  it('may have semicolons, a byte order mark, Windows line ends, and headings and slugs in any case', async () => {
    const done = await imports.loadSheet(
      '\ufeffHid;BEDS;Description.ES;Slug;status;type;location;amenities\r\n' +
        'H-1;4;"Una casa;\r\ncon terraza";Casa-Marea;Sold_Out;Beach;Bay;WiFi\r\n',
    );
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(await imports.stored('casa-marea')).toMatchObject({
      beds: 4,
      description: { es: 'Una casa;\r\ncon terraza' },
      status: 'sold_out',
      type: 'beach',
      location: { slug: 'bay' },
      amenities: [{ slug: 'wifi' }],
    });
  });

  it('may have line ends of several kinds, and the first line that Excel writes', async () => {
    const sheet = 'sep=|\r\nslug|city|beds\r\ncasa-marea|Inca; Mallorca|1\nother|Artà|2\r\n';
    expect(await imports.loadSheet(sheet)).toMatchObject({ code: 0, stderr: '' });
    expect(await imports.stored('casa-marea')).toMatchObject({ city: 'Inca; Mallorca', beds: 1 });
    expect(await imports.stored('other')).toMatchObject({ city: 'Artà', beds: 2 });
    const { stderr } = await imports.loadSheet('sep=;\nslug;beds\nother;two\n');
    expect(stderr).toMatch(/^row 2, beds \(slug "other"\): "two" /);
  });

  it.each([
    ['size', '9007199254740993', 'is a number that is too large'],
    ['size', '1'.repeat(400), 'is a number that is too large'],
    ['display_order', 'x', 'must be a whole number such as 12'],
    ['photos', 'https://a.example/1.jpg, HTTPS://a.example/2.jpg', 'must be one URL, not two'],
  ])('rejects the %s %s: it %s', async (column, cell, problem) => {
    const { stderr } = await imports.loadSheet(`slug,${column}\nother,"${cell}"\n`);
    expect(stderr).toMatch(new RegExp(`^row 2, ${column} \\(slug "other"\\): ".*" ${problem}`));
  });

  it('shows a text on one line, without what would steer a terminal, and cuts it between words', async () => {
    const cell = `\u001b[31m\u2028\u202e${'villages '.repeat(20)}`;
    const { stderr } = await imports.loadSheet(`slug,type\nother,"${cell}"\n`);
    expect(stderr).toMatch(/: "\\u001b\[31m\\u2028\\u202e(villages )+villages…" must be one of /);
  });

  it('gives photos by their addresses, and one of them as hero', async () => {
    const sheet =
      'slug,photos,hero_photo\n' +
      `casa-marea,"https://a.example/Casa d'Or 1.jpg | https://a.example/2.jpg\nhttps://a.example/3.jpg",https://a.example/2.jpg\n`;
    expect(await imports.loadSheet(sheet)).toMatchObject({ code: 0, stderr: '' });
    const stored = await imports.stored('casa-marea');
    expect(stored?.photos).toMatchObject([
      { url: 'https://a.example/Casa%20d%27Or%201.jpg', section: 'gallery', web_sort_order: 1 },
      { url: 'https://a.example/2.jpg', web_visible: true, web_sort_order: 2 },
      { url: 'https://a.example/3.jpg', alt: {}, web_sort_order: 3 },
    ]);
    expect(stored?.hero_photo_id).toBe(stored?.photos[1]?.id);
    expect((await imports.loadSheet(sheet)).stdout).toContain('Nothing changed');
  });

  it('names problems by row and column as a spreadsheet shows them, one line for a cause', async () => {
    const prices = ['99,000.00', 'on request', 'x', 'y', 'n/a', '7'];
    const rejected = await imports.loadSheet(
      'slug,price_from,is_early_access,photos,amenities,display_order\n' +
        'casa-marea,€ 118.000,maybe,,,\n' +
        '\n' +
        'other,"€ 98.250",,a/1.jpg|a/2.jpg,wify,1.5\n' +
        'new-one,1,,,,\n' +
        ',1,,,,\n' +
        prices.map((price, index) => `home-${index},"${price}",,,wify,\n`).join(''),
    );
    expect(rejected.code).toBe(1);
    expect(rejected.stderr.trim().split('\n')).toEqual([
      'price_from must be a number such as 118000 or 118000.5: 7 listings, first casa-marea (row 2, price_from): "€ 118.000", "€ 98.250", "99,000.00", "on request", "x" and others',
      'row 2, is_early_access (slug "casa-marea"): "maybe" must be yes, no, true or false',
      'photos must be an absolute http or https URL: 2 times in 1 listing, first other (row 4, photos): "a/1.jpg", "a/2.jpg"',
      'row 4, display_order (slug "other"): 1.5 must be a whole number',
      'no listing is stored under this slug, and a new one needs name, status, display_order: 7 listings, first new-one (row 5)',
      'row 6: names no listing: give its slug, hid or id',
      'amenity "wify" is not known: 7 listings, first other (row 4, amenities): did you mean wifi?',
      expect.stringMatching(/^The first lines of `npm run -s export-listings`/),
      expect.stringMatching(/^\d+ problems of 7 kinds. Nothing was changed.$/),
    ]);
  });

  it('reports a cell of a new home once, and not as missing too', async () => {
    const { stderr } = await imports.loadSheet(
      'slug,name,status,display_order\nnew,New,listed,x\n',
    );
    expect(stderr.trim().split('\n')).toEqual([
      'row 2, display_order (slug "new"): "x" must be a whole number such as 12',
      '1 problem. Nothing was changed.',
    ]);
  });

  it('names the public homes that get another slug, with both slugs', async () => {
    const sheet = 'hid,slug\nH-1,villa-mar\n';
    const line =
      'Worth a look: another slug, and so another address: 1 listing: casa-marea → villa-mar\n';
    expect((await imports.loadSheet(sheet, '--dry-run')).stdout).toContain(line);
    expect((await imports.loadSheet(sheet)).stdout).toContain(line);
    await imports.setStatus('hidden', 'villa-mar');
    expect((await imports.loadSheet('hid,slug\nH-1,casa-mar\n')).stdout).not.toContain('address');
  });

  it.each([
    [new Uint8Array([0x73, 0xe9]), 'the file: is not UTF-8 text: save it as "CSV UTF-8"'],
    ['', 'the file: has no header row'],
    ['slug\n"casa', 'the file: is not CSV: Quote Not Closed'],
    ['Notes,slug\n1,other', 'row 1: "Notes" is no column of a sheet: delete or rename it\n'],
    ['slug,Photo\nother,x', 'row 1: "Photo" is no column of a sheet: did you mean photos?\n'],
    ['slug,title\nother,x', 'row 1: "title" is no column of a sheet: did you mean title.en?\n'],
    [
      'slug,hid\nother,H-1',
      'row 2, hid (slug "other"): "H-1" is the hid of the stored listing casa-marea, and other is the slug of another one\n',
    ],
    ['slug,beds,Beds\nother,1,2', 'row 1: "beds" heads two columns'],
    [
      'slug,city\nother,Palma,Mallorca',
      'row 2 (slug "other"): "Mallorca" is in a column without a name',
    ],
  ])('is rejected whole: %j', async (content, line) => {
    const { code, stderr } = await imports.loadSheet(content);
    expect([code, stderr]).toEqual([1, expect.stringContaining(line)]);
  });
});
