/** `import-listings` in this process: on a database in memory, and on the local D1. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BAY, fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openLocalImports } from '../../support/node/local-imports.ts';
import { type MemoryImports, openMemoryImports } from '../../support/node/memory-imports.ts';
import type { Finished } from '../../support/node/project-copy.ts';
import { copyWithStore } from '../../support/node/stores.ts';

const LISTINGS = 'SELECT id, slug, source, document, rendering FROM properties ORDER BY id';
const EAST = '00000000-0000-4000-8000-0000000000ea';
const WEST = '00000000-0000-4000-8000-0000000000ee';
const NOWHERE = '00000000-0000-4000-8000-000000000000';

let imports: MemoryImports;

beforeAll(async () => {
  imports = openMemoryImports();
  expectDone(await imports.run('tools/samples/listings.json'));
});
afterAll(() => imports.close());

const load = (content: unknown, ...options: string[]) => imports.load(content, ...options);

function documentOf(slug: string): Record<string, unknown> {
  const [row] = imports.rows(`SELECT document FROM properties WHERE slug = '${slug}'`);
  return JSON.parse(String(row?.document));
}

function expectDone(finished: Finished): void {
  expect(finished).toMatchObject({ code: 0, stderr: '' });
}

describe('import-listings', () => {
  it('changes nothing when it is run again, and says so', async () => {
    const before = [imports.rows(LISTINGS), imports.rows('SELECT * FROM import_staging')];
    const again = await imports.run('tools/samples/listings.json');
    expectDone(again);
    expect(again.stdout).toContain('71 listings: 0 added, 0 changed, 71 unchanged');
    expect(again.stdout).toContain('Nothing changed');
    expect([imports.rows(LISTINGS), imports.rows('SELECT * FROM import_staging')]).toEqual(before);
  });

  it('refuses a file whole and lists every problem, also against the store', async () => {
    const before = imports.rows(LISTINGS);
    const refused = await load({
      properties: [
        propertyOf({ slug: 'fine' }),
        propertyOf({ slug: 'casa-ginebrera' }),
        propertyOf({
          slug: 'lost',
          location_id: NOWHERE,
          amenities: ['wifi', 'moat'],
          beds: 'two',
        }),
      ],
    });
    expect(refused.code).toBe(1);
    expect(refused.stderr.trim().split('\n')).toEqual([
      'properties[2] (slug "lost"): beds "two" must be of type number',
      expect.stringMatching(
        /^properties\[1\] \(slug "casa-ginebrera"\): slug "casa-ginebrera" is the slug of the stored listing [0-9a-f-]{36}$/,
      ),
      'properties[2] (slug "lost"): location "00000000-0000-4000-8000-000000000000" is not known',
      'properties[2] (slug "lost"): amenity "moat" is not known',
      'The first lines of `npm run -s export-listings` are the known locations and amenities; docs/guides/listings-file.md says how to add one.',
      '4 problems. Nothing was changed.',
    ]);
    expect(imports.rows(LISTINGS)).toEqual(before);
  });

  it('lets listings and locations swap slugs, and a slug move away', async () => {
    const [a, b, c] = ['swap-a', 'swap-b', 'swap-c'].map((slug) => propertyOf({ slug }));
    const places = (slugs: [string, string]) =>
      [EAST, WEST].map((id, index) => ({ id, slug: slugs[index], name: {} }));
    expectDone(await load({ locations: places(['east', 'west']), properties: [a, b, c] }));
    const swapped = await load({
      locations: places(['west', 'east']),
      properties: [
        { ...a, slug: 'swap-b' },
        { ...b, slug: 'swap-a' },
        { ...c, slug: 'swap-d' },
        propertyOf({ slug: 'swap-c' }),
      ],
    });
    expectDone(swapped);
    expect(swapped.stdout).toContain('4 listings: 1 added, 3 changed, 0 unchanged');
    const slugOf = (id: unknown) => imports.rows(`SELECT slug FROM properties WHERE id = '${id}'`);
    expect([slugOf(a?.id), slugOf(b?.id)]).toEqual([[{ slug: 'swap-b' }], [{ slug: 'swap-a' }]]);
    expect(imports.rows(`SELECT slug FROM locations WHERE id = '${EAST}'`)).toEqual([
      { slug: 'west' },
    ]);
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
  });

  it('refuses a listing that D1 cannot hold', async () => {
    const big = 'x'.repeat(100_000);
    const photos = Array.from({ length: 10 }, (_, index) => ({
      id: `00000000-0000-4000-8000-00000000000${index}`,
      url: `https://images.example.com/${big.slice(100)}`,
      section: 'gallery',
      web_visible: true,
      web_sort_order: index,
    }));
    const refused = await load({
      properties: [propertyOf({ slug: 'big', photos })],
    });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('properties[0] (slug "big"): is too large to store');
  });

  it('refuses a change that would make listings outside the file too large, and names each', async () => {
    const half = { en: 'x'.repeat(100_000), es: 'x'.repeat(100_000), fr: 'x'.repeat(100_000) };
    const large = { description: half, location_text: half, amenities: ['wifi'] };
    const outside = [
      propertyOf({ slug: 'nearly-too-large', ...large }),
      propertyOf({ slug: 'nearly-too-large-too', ...large, location_id: BAY }),
      propertyOf({ slug: 'small', amenities: ['wifi'] }),
    ];
    expectDone(await load(fileOf(outside)));
    const stored = () => [imports.rows(LISTINGS), imports.rows('SELECT * FROM amenities')];
    const before = stored();
    const label = half;
    for (const options of [[], ['--dry-run']]) {
      const refused = await load(
        { amenities: [{ slug: 'wifi', label }], properties: [propertyOf({ slug: 'new' })] },
        ...options,
      );
      expect(refused.code).toBe(1);
      expect(refused.stderr.trim().split('\n').sort()).toEqual([
        '2 problems. Nothing was changed.',
        expect.stringMatching(
          /^the stored listing \(slug "nearly-too-large"\): is too large to store: 90\d{4} bytes, at most 900000$/,
        ),
        expect.stringMatching(
          /^the stored listing \(slug "nearly-too-large-too"\): is too large to store: /,
        ),
      ]);
      expect(stored()).toEqual(before);
      expect(imports.rows('SELECT kind FROM import_staging')).toEqual([{ kind: 'applied' }]);
    }
  });

  it('refuses a listing whose resource would be too large, though its source is not', async () => {
    const alt = { en: 'x'.repeat(100_000), es: 'x'.repeat(100_000), fr: 'x'.repeat(100_000) };
    const url = 'https://images.example.com/1.jpg';
    const photo = { id: BAY, url, alt, section: 'hero', web_visible: true, web_sort_order: 1 };
    // The resource has the hero image twice, and the card once.
    const refused = await load({ properties: [propertyOf({ slug: 'twice', photos: [photo] })] });
    expect(refused.stderr).toMatch(
      /^properties\[0\] \(slug "twice"\): is too large to show: 90\d{4} bytes, at most 900000$/m,
    );
  });
});

describe('the local D1', () => {
  it('keeps any text unchanged, takes a swap of slugs, and gets nothing from the same file', async () => {
    const project = await copyWithStore('empty');
    const { run, close } = await openLocalImports(project);
    try {
      const text = `'); DROP TABLE properties; -- " \\ \\u0000 \u2028 🏖️ ${'\u0001'} %s ?1 </script>\r\n\t`;
      const title = { en: text, fr: `"${'\\"'.repeat(50)}"` };
      const numbers = { price_from: 1e21, size: 1.5e-7 };
      const hostile = propertyOf({ slug: 'hostile', name: text, title, ...numbers });
      const plain = propertyOf({ slug: 'plain' });
      expectDone(await run(project.write('listings.json', { properties: [hostile, plain] })));
      const swapped = [
        { ...hostile, slug: 'plain' },
        { ...plain, slug: 'hostile' },
      ];
      const file = project.write('listings.json', { properties: swapped });
      expectDone(await run(file));
      const before = project.rows(LISTINGS);
      const again = await run(file);
      expect(again.stdout).toContain('2 listings: 0 added, 0 changed, 2 unchanged');
      expect(project.rows(LISTINGS)).toEqual(before);
      const row = before.find(({ slug }) => slug === 'plain');
      const document = JSON.parse(String(row?.document));
      expect(document).toMatchObject({ slug: 'plain', name: text, title, ...numbers });
      expect(row?.document).toBe(JSON.stringify(document));
      expect(row?.source).toBe(JSON.stringify(JSON.parse(String(row?.source))));
    } finally {
      await close();
      await project.remove();
    }
  });
});
