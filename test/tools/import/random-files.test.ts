/**
 * Random listings files. Each is read without an exception. An accepted one changes no record
 * outside it, leaves a catalogue whose exports change nothing, and can be undone.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { workbook } from '../../support/node/workbook.ts';

const runs = (usual: number) => ({ numRuns: process.env.FULL ? usual * 8 : usual });

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'undo-'));

it('any JSON and any bytes are read or rejected without an exception', async () => {
  const home = makeProperty({ slug: 'home' });
  await fc.assert(
    fc.asyncProperty(
      fc.jsonValue({ maxDepth: 5 }),
      fc.uint8Array({ maxLength: 100 }),
      async (value, bytes) => {
        const properties = [{ ...home, description: { en: value } }, value];
        for (const content of [value, { properties }, bytes]) {
          const { stderr } = await imports.load(content, '--dry-run');
          expect(stderr).not.toContain('The import failed');
        }
      },
    ),
    runs(150),
  );
});

const text = fc.constantFrom(
  ...['', ' ', 'a', 'é', '😀\n', '<b>', '0', ' b', 'a;"b",c', 'd\r\ne'],
  ...['=1+1', "'=1", '-5', '@x', "'quoted'", 'sep=;', '295.000'],
  ...['00123', '1E5', '1/8', 'TRUE', '12:30', '50 %', "'1", 'a\tb,c', '\u200b'],
);
const texts = fc.record({ en: text, es: text, fr: text }, { requiredKeys: [] });
const paths = ['Can Roig é', 'Can%20Roig%20%C3%A9', '1', 'a/../1', '2', 'a|b'];
const url = fc.constantFrom(...paths).map((path) => `HTTPS://images.example.com/${path}.jpg`);
const section = fc.constantFrom('hero', 'gallery');
const photo = fc.record({ url, alt: texts, section }, { requiredKeys: ['url'] });
const place = fc.constantFrom('bay', 'coast', 'hills');
const amenity = fc.constantFrom('wifi', 'pool');
const home = fc.record(
  {
    slug: fc.constantFrom('one', 'two', 'three'),
    hid: fc.constantFrom('H-1', '00123', ''),
    status: fc.constantFrom('listed', 'hidden'),
    title: texts,
    description: texts,
    city: text,
    photos: fc.array(photo, { maxLength: 2 }),
    unique_features: fc.array(fc.record({ icon_slug: text, label: texts }), { maxLength: 2 }),
    amenities: fc.uniqueArray(amenity),
    location: place,
    size: fc.oneof(
      fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(0.105, 85.125, 85.5),
    ),
    price_from: fc.constantFrom(118000, 118000.5, 295.125, 1e21, null),
    is_early_access: fc.boolean(),
  },
  { requiredKeys: ['slug', 'hid'] },
);
const edit = fc.record({
  form: fc.constantFrom('file', 'pruned', 'patch', 'correction', 'sheet', 'status'),
  homes: fc.uniqueArray(home, { selector: ({ slug }) => slug, minLength: 1, maxLength: 2 }),
  places: fc.uniqueArray(place, { maxLength: 2 }),
  amenities: fc.uniqueArray(amenity),
  name: fc.constantFrom('One', 'Other'),
  /** The stored record that a correction names by its id. */
  pick: fc.nat(3),
});
type Edit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

type Row = { id: string; slug: string; hid?: string | null; status?: string; as_of?: string };
type Catalogue = Record<'locations' | 'amenities' | 'properties', Row[]>;
async function exported(): Promise<Catalogue> {
  const { export_id, ...catalogue } = JSON.parse(await imports.exported());
  return catalogue;
}

/** Returns a file without ids, or one whose first records give new keys to stored ones by their ids. */
function makeFile({ form, homes, places, amenities, name, pick }: Edit, stored: Catalogue) {
  const idOf = (index: number, rows: readonly Row[]) =>
    form === 'correction' && index === 0 ? rows[pick % rows.length]?.id : undefined;
  const required = { name, status: 'listed', display_order: 1 };
  const entry = { section: 'gallery', web_visible: true, web_sort_order: 1 };
  const shown = new Set([...places, ...homes.flatMap(({ location }) => location ?? [])]);
  const had = new Set([...amenities, ...homes.flatMap((each) => each.amenities ?? [])]);
  return {
    locations: [...shown].map((slug, at) => ({
      id: idOf(at, stored.locations),
      slug,
      name: { en: name },
    })),
    amenities: [...had].map((slug) => ({ slug, label: { en: name } })),
    properties: homes.map(({ photos = [], ...each }, at) => ({
      ...required,
      ...each,
      id: idOf(at, stored.properties),
      photos: photos.map((one) => ({ ...(form !== 'patch' && entry), ...one })),
    })),
  };
}

function sheetsOf({ homes }: Edit): Promise<Uint8Array> {
  const rows = homes.map(({ size = 1, ...each }) =>
    [each.slug, each.hid, each.city, Math.round(size % 9e9), each.title?.en].map(
      (cell) => cell ?? null,
    ),
  );
  const photos = homes.flatMap(({ slug, photos: own = [] }) => own.map((one) => [slug, one.url]));
  return workbook({
    listings: [['slug', 'hid', 'city', 'size', 'title.en'], ...rows],
    photos: [['listing', 'url'], ...photos],
  });
}

/** Imports an edit, whose file is `file` unless it is a sheet or a status. */
async function apply(each: Edit, file: object, ...options: string[]) {
  const patch = [...options, '--many', '--patch'];
  const whole = [...options, '--many'];
  switch (each.form) {
    case 'sheet':
      return imports.load(await sheetsOf(each), ...options, '--many');
    case 'status':
      return imports.setStatus('sold_out', each.homes[0]?.slug ?? '', ...options);
    case 'pruned':
      return imports.load(file, ...whole, '--prune');
    case 'correction':
      return imports.load(file, ...(each.name === 'One' ? whole : patch));
    default:
      return imports.load(file, ...(each.form === 'file' ? whole : patch));
  }
}

type Keys = { id: string | undefined; slug: string; hid?: string };

/** Returns the stored records that no record of a file names. */
function findOutside(stored: readonly Row[], named: readonly Keys[]): Row[] {
  return stored.filter((row) => {
    const isNamed = ({ id, slug, hid }: Keys) =>
      id ? id === row.id : slug === row.slug || (hid !== undefined && hid === row.hid);
    return !named.some(isNamed);
  });
}

async function expectExportsChangeNothing(hasWorkbook: boolean) {
  const file = await imports.load(await imports.exported());
  const sheets = hasWorkbook ? [await imports.load(await imports.exportedWorkbook())] : [];
  for (const { stdout, stderr } of [file, ...sheets]) {
    expect([stdout, stderr]).toEqual([expect.stringContaining('Nothing changed'), '']);
  }
}

it('an edit changes no record outside it, can be exported, and is undone by the command that it prints', async () => {
  const undo = join(folder, 'undo.json');
  let undone = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 3, maxLength: 4 }), async (edits) => {
      imports.clear();
      for (const [index, any] of edits.entries()) {
        // Ids follow from keys at first, and a key is corrected then.
        const each: Edit = { ...any, form: (['file', 'correction'] as const)[index] ?? any.form };
        const before = await exported();
        const file = makeFile(each, before);
        const { code, stdout } = await apply(each, file, '--undo', undo);
        const command = /^To undo it: npm run import-listings -- (.*)$/m.exec(stdout)?.[1];
        expect(command === undefined).toBe(code !== 0 || stdout.includes('Nothing changed'));
        if (command === undefined) continue;
        const after = await exported();
        const homes = each.form === 'pruned' ? [] : findOutside(before.properties, file.properties);
        const places = findOutside(before.locations, file.locations);
        // The version of a listing has the slug of its location, which a correction may change.
        const withoutVersion = ({ as_of, ...row }: Row) => row;
        expect(after.properties.map(withoutVersion)).toEqual(
          expect.arrayContaining(homes.map(withoutVersion)),
        );
        expect(after.locations).toEqual(expect.arrayContaining(places));
        // A workbook takes half a second.
        await expectExportsChangeNothing(index === edits.length - 1);
        undone += 1;
        expect(await imports.run(...command.split(' '))).toMatchObject({ code: 0 });
        rmSync(undo);
        const { properties, ...records } = await exported();
        const ids = new Set(before.properties.map(({ id }) => id));
        const kept = properties.filter(({ id }) => ids.has(id));
        expect({ ...records, properties: kept }).toEqual(before);
        for (const { id, status } of properties)
          expect(ids.has(id) || status === 'hidden').toBe(true);
        await apply(each, file);
      }
    }),
    runs(10),
  );
  expect(undone).toBeGreaterThan(runs(10).numRuns);
});
