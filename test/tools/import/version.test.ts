/** Tests the version of a listing, and stored listings without the newest fields. */

import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
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

describe('computeVersion', () => {
  it.each([
    ['a relabelled amenity', { amenities: [{ ...wifi, label: { en: 'Internet' } }] }],
    [
      'a location with a new name and id',
      { location: { ...bay, id: crypto.randomUUID(), name: {} } },
    ],
    ['a new field without a value', { floors: null }],
    ['a new field that is false', { is_sold: false }],
    ['new empty fields of photos', { photos: [{ ...photo, caption: null, tags: [] }] }],
  ])('returns the same version for %s', (_, fields) => {
    expect(computeVersion({ ...home, ...fields })).toBe(computeVersion(home));
  });

  it.each([
    ['a changed field', { price_from: 0 }],
    ['an added language', { title: { fr: 'Maison' } }],
    ['a new order of amenities', { amenities: [{ slug: 'pool', label: {} }, wifi] }],
    ['a hidden photo', { photos: [{ ...photo, web_visible: false }] }],
  ])('returns a new version for %s', (_, fields) => {
    expect(computeVersion({ ...home, ...fields })).not.toBe(computeVersion(home));
  });

  it('returns the same version in each release, regardless of field order', () => {
    const reversed = Object.fromEntries(Object.entries(home).reverse());
    expect(computeVersion({ ...reversed, ...home })).toBe('v1_d6eed6c02015b1b4');
  });
});

describe('readSource', () => {
  it('adds the defaults of missing fields in the order of the schema', () => {
    const { city, is_early_access, title, photos, ...stored } = home;
    const text = JSON.stringify({ ...stored, photos: [{ ...photo, alt: undefined }], title });
    expect(JSON.stringify(readSource(text))).toBe(JSON.stringify(home));
  });

  it('keeps a field that the schema does not have', () => {
    expect(readSource(JSON.stringify({ ...home, floors: 2 }))).toEqual({ ...home, floors: 2 });
  });
});

const imports = openMemoryImports();
/** Fields with each kind of default: null, an empty map, an empty list, false. */
const NEW = ['beds', 'fraction_from', 'location_text', 'videos', 'is_early_access'];

describe('an import', () => {
  it('keeps newer fields when an older export or undo file is imported', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'version-'));
    const undo = join(folder, 'undo.json');
    /** Returns a file without the newer fields, and with a new price. */
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
});
