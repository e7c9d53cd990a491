/** A listings file as a spreadsheet. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { type MemoryImports, openMemoryImports } from '../../support/node/memory-imports.ts';

let imports: MemoryImports;
beforeAll(async () => {
  imports = openMemoryImports();
});
beforeEach(async () => {
  await imports.load(
    fileOf([
      propertyOf({
        slug: 'casa-marea',
        hid: 'H-1',
        title: { en: 'House', fr: 'Maison' },
        price_from: 1,
      }),
      propertyOf({ slug: 'other', price_from: 2 }),
    ]),
  );
});
afterEach(() => imports.clear());
afterAll(() => imports.close());

describe('a sheet', () => {
  it('changes what its cells give, and an empty cell changes nothing', async () => {
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

  it('may have semicolons, a byte order mark and Windows line ends', async () => {
    const done = await imports.loadSheet(
      '\ufeffhid;beds;description.es\r\nH-1;4;"Una casa;\r\ncon terraza"\r\n',
    );
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(await imports.stored('casa-marea')).toMatchObject({
      beds: 4,
      description: { es: 'Una casa;\r\ncon terraza' },
    });
  });

  it('may have its headings in any case', async () => {
    const done = await imports.loadSheet('Slug,Title.EN,BEDS\ncasa-marea,Home,7\n');
    expect(done).toMatchObject({ code: 0, stderr: '' });
    const title = { en: 'Home', fr: 'Maison' };
    expect(await imports.stored('casa-marea')).toMatchObject({ title, beds: 7 });
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
    const photos = stored?.photos.map(({ id }) => ({ id, alt: { en: 'A view' }, section: 'hero' }));
    await imports.load({ properties: [{ slug: 'casa-marea', photos }] }, '--patch');
    await imports.loadSheet(
      'slug,photos\ncasa-marea,https://a.example/3.jpg|https://a.example/2.jpg\n',
    );
    expect((await imports.stored('casa-marea'))?.photos).toMatchObject([
      { url: 'https://a.example/3.jpg', alt: { en: 'A view' }, section: 'hero', web_sort_order: 3 },
      { url: 'https://a.example/2.jpg', alt: { en: 'A view' }, section: 'hero', web_sort_order: 4 },
    ]);
  });

  it('names a problem by row and column as a spreadsheet shows them, with the value', async () => {
    const refused = await imports.loadSheet(
      'slug,price_from,is_early_access,photos,name,status,display_order\n' +
        'casa-marea,€ 118.000,maybe,,,,\n' +
        '\n' +
        'other,"118,000",,htp://a.example/1.jpg,,,1.5\n' +
        'new-one,1,,,,,\n' +
        ',1,,,,,\n',
    );
    expect(refused.code).toBe(1);
    expect(refused.stderr.trim().split('\n')).toEqual([
      'price_from must be a number such as 118000 or 118000.5: 2 listings, first casa-marea (row 2, price_from): "€ 118.000", "118,000"',
      'row 2, is_early_access (slug "casa-marea"): "maybe" must be yes, no, true or false',
      'row 4, photos (slug "other"): "htp://a.example/1.jpg" must be an absolute http or https URL',
      'row 4, display_order (slug "other"): 1.5 must be a whole number such as 12',
      'row 5 (slug "new-one"): no listing is stored under this slug, and a new one needs name, status, display_order',
      'row 6: names no listing: give its slug, hid or id',
      '7 problems of 6 kinds. Nothing was changed.',
    ]);
  });

  it('shows the values of one cause that differ in more than their digits', async () => {
    const rows = ['€ 98.250', '€ 104.500', '99,000.00', 'on request', 'x', 'y', 'z', 'n/a', '7'];
    const refused = await imports.loadSheet(
      `hid,price_from,status\n${rows.map((price) => `H-1,"${price}",Listed`).join('\n')}\n`,
    );
    expect(refused.stderr.split('\n').slice(0, 2)).toEqual([
      'status must be one of listed, coming_soon, sold_out, hidden: 9 listings, first H-1 (row 2, status): "Listed"',
      'price_from must be a number such as 118000 or 118000.5: 8 listings, first H-1 (row 2, price_from): "€ 98.250", "99,000.00", "on request", "x", "y" and others',
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
    [
      'is in another encoding',
      new Uint8Array([0x73, 0xe9]),
      'the file: is not UTF-8 text: save it as "CSV UTF-8"',
    ],
    ['is empty', '', 'the file: has no header row'],
    ['has an open quotation', 'slug\n"casa', 'the file: is not CSV: Quote Not Closed'],
    [
      'has an unknown column',
      'slug,price\nother,1',
      'row 1: "price" is no column: delete it, or give it one of these names: id, hid, slug, ',
    ],
    [
      'has several unknown columns',
      'Ref,slug,Notes\n1,other,2',
      'row 1: "Ref", "Notes" is no column: delete it, or ',
    ],
    ['has a column twice', 'slug,beds,Beds\nother,1,2', 'row 1: "beds" heads two columns'],
    [
      'has more cells than columns',
      'slug,city\nother,Palma,Mallorca',
      'row 2 (slug "other"): "Mallorca" stands in a column without a name',
    ],
  ])('that %s is refused', async (_, content, line) => {
    const { code, stderr } = await imports.loadSheet(content);
    expect([code, stderr]).toEqual([1, expect.stringContaining(line)]);
  });
});
