/** The version of a listing, and stored listings without the newest fields. */

import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { computeVersion, readSource } from '../../../tools/import/catalogue/version.ts';
import { makeListing } from '../../support/listings.ts';
import { makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const id = '00000000-0000-4000-8000-0000000000a1';
const photo = {
  id,
  url: 'https://images.example.com/1.jpg',
  alt: {},
  section: 'gallery' as const,
  web_visible: true,
  web_sort_order: 1,
};
const wifi = { slug: 'wifi', label: { en: 'Wi-Fi' } };
const bay = { id, slug: 'bay', name: { en: 'The bay' } };
const home = makeListing({ id, slug: 'home', photos: [photo], amenities: [wifi], location: bay });

it.each([
  ['an amenity with another label', { amenities: [{ ...wifi, label: { en: 'Internet' } }] }],
  [
    'a location with another name and id',
    { location: { ...bay, id: crypto.randomUUID(), name: {} } },
  ],
  ['a new field without a value', { floors: null }],
  ['a new field that is not set', { is_sold: false }],
  ['a new field of its photos', { photos: [{ ...photo, caption: null, tags: [] }] }],
])('is the same with %s', (_, fields) => {
  expect(computeVersion({ ...home, ...fields })).toBe(computeVersion(home));
});

it.each([
  ['a field', { price_from: 0 }],
  ['a language', { title: { fr: 'Maison' } }],
  ['the order of its amenities', { amenities: [{ slug: 'pool', label: {} }, wifi] }],
  ['a photo that is hidden', { photos: [{ ...photo, web_visible: false }] }],
])('is another one with %s', (_, fields) => {
  expect(computeVersion({ ...home, ...fields })).not.toBe(computeVersion(home));
});

it('is the same in each release, in any order of fields', () => {
  const reversed = Object.fromEntries(Object.entries(home).reverse());
  expect(computeVersion({ ...reversed, ...home })).toBe('v1_d6eed6c02015b1b4');
});

it('adds the defaults of missing fields in the order of the schema', () => {
  const { city, is_early_access, title, photos, ...stored } = home;
  const text = JSON.stringify({ ...stored, photos: [{ ...photo, alt: undefined }], title });
  expect(JSON.stringify(readSource(text))).toBe(JSON.stringify(home));
});

it('keeps a field that the current schema does not have', () => {
  expect(readSource(JSON.stringify({ ...home, floors: 2 }))).toEqual({ ...home, floors: 2 });
});

const imports = openMemoryImports();
/** Fields with each kind of default: null, an empty map, an empty list, false. */
const NEW = ['beds', 'fraction_from', 'location_text', 'videos', 'is_early_access'];

it('does not clear newer fields that an earlier export or undo file does not have', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'version-'));
  const undo = join(folder, 'undo.json');
  /** Returns a file whose records lack the fields, and have another price. */
  const yesterdays = (json: string, price_from: number) => {
    const file: { properties: Record<string, unknown>[] } = JSON.parse(json);
    const properties = file.properties.map((record) => {
      const fields = Object.entries({ ...record, price_from });
      return Object.fromEntries(fields.filter(([name]) => !NEW.includes(name)));
    });
    return { ...file, properties };
  };
  await imports.load({ properties: [makeProperty({ slug: 'casa-a', price_from: 1 })] });
  const exported = await imports.exported();
  const patch = { properties: [{ slug: 'casa-a', price_from: 2 }] };
  await imports.load(patch, '--patch', '--undo', undo);
  const undoing = readFileSync(undo, 'utf8');
  // The listings were stored by a version without the fields.
  const paths = NEW.map((name) => `'$.${name}'`).join();
  imports.rows(`UPDATE properties SET source = json_remove(source, ${paths})`);
  for (const [file, change] of [
    [yesterdays(undoing, 1), 'casa-a: price_from 2 → 1\n'],
    [yesterdays(exported, 3), 'casa-a: price_from 1 → 3\n'],
  ] as const) {
    const { code, stdout, stderr } = await imports.load(file);
    expect([code, stderr, stdout]).toEqual([0, '', expect.stringContaining(`\n${change}`)]);
    imports.rows(`UPDATE properties SET source = json_remove(source, ${paths})`);
  }
  expect((await imports.load(exported, '--overwrite')).stderr).toBe('');
});
