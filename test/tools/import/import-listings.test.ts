/** A whole file: it replaces what it names, all of it or nothing. */

import { beforeAll, describe, expect, it } from 'vitest';
import { BAY, fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import type { Finished } from '../../support/node/project-copy.ts';

const LISTINGS = 'SELECT id, slug, source, document, rendering FROM properties ORDER BY id';
const EAST = '00000000-0000-4000-8000-0000000000ea';
const WEST = '00000000-0000-4000-8000-0000000000ee';
const NOWHERE = '00000000-0000-4000-8000-000000000000';

const imports = openMemoryImports();

beforeAll(async () => {
  expectDone(await imports.run('tools/samples/listings.json'));
});

const load = (content: unknown, ...options: string[]) => imports.load(content, ...options);

function documentOf(slug: string): Record<string, unknown> {
  const [row] = imports.rows(`SELECT document FROM properties WHERE slug = '${slug}'`);
  return JSON.parse(String(row?.document));
}

function expectDone(finished: Finished): void {
  expect(finished).toMatchObject({ code: 0, stderr: '' });
}

describe('import-listings', () => {
  it('rejects a file whole and lists every problem, also against the store', async () => {
    const before = imports.rows(LISTINGS);
    const rejected = await load({
      properties: [
        propertyOf({ slug: 'fine' }),
        propertyOf({ slug: 'casa-ginebrera' }),
        propertyOf({
          slug: 'lost',
          location_id: NOWHERE,
          amenities: ['wifi', 'garaje'],
          beds: 'two',
        }),
      ],
    });
    expect(rejected.code).toBe(1);
    expect(rejected.stderr.trim().split('\n')).toEqual([
      'properties[2] (slug "lost"): beds "two" must be of type number',
      expect.stringMatching(
        /^properties\[1\] \(slug "casa-ginebrera"\): slug "casa-ginebrera" is the slug of the stored listing [0-9a-f-]{36}: give that id, or import the file with --patch$/,
      ),
      'properties[2] (slug "lost"): location "00000000-0000-4000-8000-000000000000" is not known',
      'properties[2] (slug "lost"): amenity "garaje" is not known: did you mean garage?',
      'The first lines of `npm run -s export-listings` are the known locations and amenities; docs/guides/listings-file.md says how to add one.',
      '4 problems. Nothing was changed.',
    ]);
    expect(imports.rows(LISTINGS)).toEqual(before);
  });

  it('lets listings and locations swap slugs, and a slug move away', async () => {
    const [a, b, c] = ['swap-a', 'swap-b', 'swap-c'].map((slug) => propertyOf({ slug }));
    const places = (...slugs: string[]) =>
      [EAST, WEST].map((id, index) => ({ id, slug: slugs[index], name: {} }));
    expectDone(await load({ locations: places('east', 'west'), properties: [a, b, c] }));
    const properties = [
      { ...a, slug: 'swap-b' },
      { ...b, slug: 'swap-a' },
      { ...c, slug: 'swap-d' },
      propertyOf({ slug: 'swap-c' }),
    ];
    const swapped = await load({ locations: places('west', 'east'), properties });
    expectDone(swapped);
    expect(swapped.stdout).toContain('4 listings: 1 added, 3 changed, 0 unchanged');
    expect(documentOf('swap-b')).toMatchObject({ id: a?.id });
    const [east] = imports.rows(`SELECT slug FROM locations WHERE id = '${EAST}'`);
    expect(east).toEqual({ slug: 'west' });
  });

  it('renders every listing anew that shows a changed location or amenity', async () => {
    const inside = propertyOf({ slug: 'inside', location_id: BAY, amenities: ['wifi'] });
    const outside = [
      propertyOf({ slug: 'by-the-bay', location_id: BAY }),
      propertyOf({ slug: 'with-wifi', amenities: ['terrace', 'wifi'] }),
      propertyOf({ slug: 'neither' }),
    ];
    expectDone(await load(fileOf([inside, ...outside])));
    const before = JSON.stringify(documentOf('neither'));
    const renamed = await load(fileOf([inside], { bay: 'Blue bay', wifi: 'Fast Wi-Fi' }));
    expectDone(renamed);
    expect(renamed.stdout).toContain('1 listing: 0 added, 1 changed, 0 unchanged');
    const bay = { id: BAY, slug: 'bay', name: { en: 'Blue bay' } };
    expect(documentOf('inside')).toMatchObject({ location: bay });
    expect(documentOf('by-the-bay')).toMatchObject({ location: bay });
    expect(documentOf('with-wifi').amenities).toEqual([
      expect.objectContaining({ slug: 'terrace' }),
      { slug: 'wifi', label: { en: 'Fast Wi-Fi', es: 'Wifi', fr: 'Wi-Fi' } },
    ]);
    expect(JSON.stringify(documentOf('neither'))).toBe(before);
    const one = await load(fileOf([inside], { bay: 'Green bay', wifi: 'Fast Wi-Fi' }));
    expect(one.stdout).toContain('because their location or amenities changed: 1 other listing\n');
  });

  const half = { en: 'x'.repeat(100_000), es: 'x'.repeat(100_000), fr: 'x'.repeat(100_000) };
  const url = 'https://images.example.com/1.jpg';
  const photo = { id: BAY, url, alt: half, section: 'hero', web_visible: true, web_sort_order: 1 };

  it.each([
    ['store', { title: half, description: half, location_text: half, name: 'Too large' }],
    // The resource has the hero image twice, and the card once.
    ['show', { photos: [photo] }],
  ])('rejects a listing that is too large to %s', async (verb, fields) => {
    const rejected = await load({ properties: [propertyOf({ slug: 'big', ...fields })] });
    expect(rejected.code).toBe(1);
    expect(rejected.stderr).toMatch(
      new RegExp(
        `^properties\\[0\\] \\(slug "big"\\): is too large to ${verb}: 90\\d{4} bytes, at most 900000$`,
        'm',
      ),
    );
  });

  it('rejects a change that would make listings outside the file too large, and counts equal ones', async () => {
    const large = { description: half, location_text: half, amenities: ['wifi'] };
    const outside = ['one', 'two', 'three'].map((slug) => propertyOf({ slug, ...large }));
    expectDone(await load(fileOf(outside)));
    const before = imports.rows(LISTINGS);
    const rejected = await load({ amenities: [{ slug: 'wifi', label: half }] });
    expect(rejected.stderr.trim().split('\n').sort()).toEqual([
      '3 problems of 2 kinds. Nothing was changed.',
      expect.stringMatching(
        /^is too large to store: 90\d{4} bytes, at most 900000: 2 listings, first (one|two) \(the stored listing\)$/,
      ),
      expect.stringMatching(/^the stored listing \(slug "three"\): is too large to store: /),
    ]);
    expect(imports.rows(LISTINGS)).toEqual(before);
  });
});
