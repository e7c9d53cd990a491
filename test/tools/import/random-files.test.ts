/**
 * Random listings files: each is read without an exception, and an accepted one leaves a catalogue
 * that can be exported.
 */

import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' };
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readListingsFile } from '../../../tools/import/file.ts';
import { completeFile } from '../../../tools/import/read/complete.ts';
import { fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const runs = (usual: number) => ({ numRuns: process.env.FULL ? usual * 8 : usual });
/** Reads a file, and completes its records without a store. */
function read(text: string): string {
  const file = readListingsFile(Buffer.from(text));
  const stored = { locations: [], amenities: [], summaries: new Map() };
  if (file.kind === 'read') completeFile(file, stored, () => [], new Map());
  return file.kind;
}

const imports = openMemoryImports();

/** A sheet after it was opened and saved: the cells are quoted only where they must be. */
function savedByExcel(sheet: string): string {
  const delimiter = sheet.includes(';') && /^[^,]*;/.test(sheet) ? ';' : ',';
  const rows: string[][] = parse(sheet, { delimiter, bom: true });
  const quoted = (cell: string) =>
    /[";,\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
  return `\ufeff${rows.map((row) => row.map(quoted).join(delimiter)).join('\r\n')}\r\n`;
}

describe('a listings file', () => {
  it('of any JSON or bytes is read or rejected without an exception', () => {
    const home = propertyOf({ slug: 'home' });
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5 }),
        fc.uint8Array({ maxLength: 100 }),
        (value, bytes) => {
          const documents = [{ ...home, description: { en: value } }, value];
          for (const content of [value, { properties: documents }]) {
            expect(['read', 'unreadable']).toContain(read(JSON.stringify(content)));
          }
          expect(['read', 'unreadable']).toContain(readListingsFile(new Uint8Array(bytes)).kind);
        },
      ),
      runs(150),
    );
  });

  it('keeps every naughty string unchanged, from the file to the feed', async () => {
    const texts = naughtyStrings.filter((each) => each.trim() !== '');
    const homes = texts.map((text, index) =>
      propertyOf({ slug: `naughty-${index}`, name: text, description: { fr: text } }),
    );
    expect(await imports.load({ properties: homes })).toMatchObject({ code: 0, stderr: '' });
    const rows = imports.rows(`SELECT document FROM properties WHERE slug LIKE 'naughty-%'`);
    const shown = rows.map(({ document }) => JSON.parse(String(document)));
    expect(new Set(shown.map(({ name }) => name))).toEqual(new Set(texts));
    for (const { name, description } of shown) expect(description).toEqual({ fr: name });
  });

  const text = fc.constantFrom(
    ...['', ' ', 'a', 'é', '😀\n', '<b>', '0', ' b', 'a;"b",c', 'd\r\ne'],
    ...['=1+1', "'=1", '-5', '@x', "'quoted'", 'sep=;', '295.000'],
  );
  const texts = fc.record({ en: text, es: text, fr: text }, { requiredKeys: [] });
  const paths = ['Can Roig é', 'Can%20Roig%20%C3%A9', '1', 'a/../1', '2', '3'];
  const url = fc.constantFrom(...paths).map((path) => `HTTPS://images.example.com/${path}.jpg`);
  const section = fc.constantFrom('hero', 'gallery');
  const photo = fc.record({ url, alt: texts, section }, { requiredKeys: ['url'] });
  const listing = fc.record(
    {
      slug: fc.constantFrom('a', 'b', 'c'),
      hid: fc.constantFrom('H-1', 'H-2', ''),
      title: texts,
      description: texts,
      city: text,
      photos: fc.array(photo, { maxLength: 2 }),
      unique_features: fc.array(fc.record({ icon_slug: text, label: texts }), { maxLength: 3 }),
      amenities: fc.subarray(['wifi']),
      location: fc.constantFrom('bay', null),
      size: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
      price_from: fc.constantFrom(118000, 118000.5, 295.125, 1e21, null),
      is_early_access: fc.boolean(),
    },
    { requiredKeys: ['slug'] },
  );

  const listings = fc.uniqueArray(listing, { selector: ({ slug }) => slug, minLength: 1 });
  const required = { name: 'Home', status: 'listed', display_order: 1 };
  const entry = { section: 'gallery', web_visible: true, web_sort_order: 1 };
  type Listing = typeof listing extends fc.Arbitrary<infer L> ? L : never;
  const wholeOf = ({ hid: _, photos = [], ...each }: Listing) => ({
    ...required,
    ...each,
    photos: photos.map((photo) => ({ ...entry, ...photo })),
  });
  const COLUMNS = 'slug,hid,city,size,location,title.en,description.fr,photos,amenities\n';
  const rowOf = ({ size = 1, photos = [], ...each }: Listing) => {
    const urls = photos.map((photo) => photo.url).join('|');
    const texts = [each.title?.en, each.description?.fr, urls, each.amenities?.join('|')];
    const cells = [each.slug, each.hid, each.city, Math.round(size % 9e9), each.location, ...texts];
    return `${cells.map((cell) => `"${String(cell ?? '').replaceAll('"', '""')}"`).join(',')}\n`;
  };

  it.each([
    [
      'file',
      (list: Listing[]) => imports.load({ properties: list.map(wholeOf) }, '--allow-emptied'),
    ],
    ['patch', (list: Listing[]) => imports.load({ properties: list }, '--patch')],
    ['sheet', (list: Listing[]) => imports.loadSheet(COLUMNS + list.map(rowOf).join(''))],
  ])('or %s that is accepted leaves a catalogue whose export changes nothing', async (_, load) => {
    imports.clear();
    const { properties: _none, ...records } = fileOf([]);
    const homes = ['a', 'b', 'c'].map((slug) => ({ ...required, slug }));
    await imports.load({ ...records, properties: homes });
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(listings, async (list) => {
        const { code, stdout } = await load(list);
        if (code !== 0) return;
        accepted += stdout.includes('Nothing changed') ? 0 : 1;
        const sheets = [await imports.exported(','), await imports.exported(';')];
        const again = [await imports.load(await imports.exported())];
        for (const sheet of [...sheets, ...sheets.map(savedByExcel)]) {
          again.push(await imports.loadSheet(sheet));
        }
        for (const { stdout, stderr } of again) {
          expect([stdout, stderr]).toEqual([expect.stringContaining('Nothing changed'), '']);
        }
      }),
      runs(40),
    );
    expect(accepted).toBeGreaterThan(5);
  });
});
