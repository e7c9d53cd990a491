/**
 * Property-based tests of imports. Reading a random file never throws an unexpected error. An
 * accepted file changes no record that it does not name, leaves a catalogue whose exports change
 * nothing, and can be undone.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readCatalogueFile } from '../../../tools/import/read/file.ts';
import { makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { workbook } from '../../support/node/workbook.ts';

const runs = (usual: number) => ({ numRuns: process.env.FULL ? usual * 12 : usual });

const imports = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'undo-'));

it('accepts or rejects any JSON without an unexpected error', async () => {
  const home = makeProperty({ slug: 'home' });
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), async (value) => {
      const properties = [{ ...home, description: { en: value } }, value];
      for (const content of [value, { properties }]) {
        const { stderr } = await imports.load(content, '--dry-run');
        expect(stderr).not.toContain('The import failed');
      }
    }),
    runs(60),
  );
});

it('accepts or rejects any bytes and any damaged workbook without an unexpected error', async () => {
  const file = await workbook({
    listings: [
      ['slug', 'city'],
      ['casa', 'Deià'],
    ],
  });
  const starts = ['', '504b0304', '504b0506', 'd0cf11e0', 'fffe', '007b', '3c3f786d6c'];
  const start = fc.constantFrom(...starts).map((hex) => Buffer.from(hex, 'hex'));
  const anyBytes = fc
    .tuple(start, fc.uint8Array({ maxLength: 100 }))
    .map((parts) => Buffer.concat(parts));
  const damage = fc.tuple(fc.nat(file.length - 1), fc.nat(255));
  const damagedWorkbook = fc.array(damage, { minLength: 1, maxLength: 4 }).map((damages) => {
    const bytes = Buffer.from(file);
    for (const [at, byte] of damages) bytes[at] = byte;
    return bytes;
  });
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyBytes, damagedWorkbook), async (bytes) => {
      const error: unknown = await readCatalogueFile(bytes, 'whole').catch((reason) => reason);
      if (error instanceof Error) expect(error.name, error.stack ?? '').toBe('UserError');
    }),
    runs(100),
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
const location = fc.constantFrom('bay', 'coast', 'hills');
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
    location,
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
  locations: fc.uniqueArray(location, { maxLength: 2 }),
  amenities: fc.uniqueArray(amenity),
  name: fc.constantFrom('One', 'Other'),
  /** Index of the stored record whose key a correction changes. */
  pick: fc.nat(3),
});
type Edit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

type Row = { id: string; slug: string; hid?: string | null; status?: string; as_of?: string };
type Catalogue = Record<'locations' | 'amenities' | 'properties', Row[]>;
async function exported(): Promise<Catalogue> {
  const { export_id, ...catalogue } = JSON.parse(await imports.exported());
  return catalogue;
}

/**
 * Returns the file of an edit. A correction identifies stored records by their ids and gives them
 * new keys. Other files have no ids.
 */
function makeFile({ form, homes, locations, amenities, name, pick }: Edit, stored: Catalogue) {
  const pickId = (index: number, rows: readonly Row[]) =>
    form === 'correction' && index === 0 ? rows[pick % rows.length]?.id : undefined;
  const required = { name, status: 'listed', display_order: 1 };
  const entry = { section: 'gallery', web_visible: true, web_sort_order: 1 };
  const locationSlugs = new Set([...locations, ...homes.flatMap(({ location }) => location ?? [])]);
  const amenitySlugs = new Set([
    ...amenities,
    ...homes.flatMap((fields) => fields.amenities ?? []),
  ]);
  return {
    locations: [...locationSlugs].map((slug, at) => ({
      id: pickId(at, stored.locations),
      slug,
      name: { en: name },
    })),
    amenities: [...amenitySlugs].map((slug) => ({ slug, label: { en: name } })),
    properties: homes.map(({ photos = [], ...fields }, at) => ({
      ...required,
      ...fields,
      id: pickId(at, stored.properties),
      photos: photos.map((one) => ({ ...(form !== 'patch' && entry), ...one })),
    })),
  };
}

function makeSheets({ homes }: Edit): Promise<Uint8Array> {
  const rows = homes.map(({ size = 1, slug, hid, city, title }) =>
    [slug, hid, city, Math.round(size % 9e9), title?.en].map((cell) => cell ?? null),
  );
  const photos = homes.flatMap(({ slug, photos: own = [] }) => own.map((one) => [slug, one.url]));
  return workbook({
    listings: [['slug', 'hid', 'city', 'size', 'title.en'], ...rows],
    photos: [['listing', 'url'], ...photos],
  });
}

/** Imports an edit. `file` is ignored if the edit is a sheet or a status. */
async function apply(change: Edit, file: object, ...options: string[]) {
  const patch = [...options, '--many', '--patch'];
  const whole = [...options, '--many'];
  switch (change.form) {
    case 'sheet':
      return imports.load(await makeSheets(change), ...options, '--many');
    case 'status':
      return imports.setStatus('sold_out', change.homes[0]?.slug ?? '', ...options);
    case 'pruned':
      return imports.load(file, ...whole, '--prune');
    case 'correction':
      return imports.load(file, ...(change.name === 'One' ? whole : patch));
    default:
      return imports.load(file, ...(change.form === 'file' ? whole : patch));
  }
}

type Keys = { id: string | undefined; slug: string; hid?: string };

/** Returns the stored records that the file does not name. */
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

it('undoes any edit with the printed command', async () => {
  const undo = join(folder, 'undo.json');
  let undone = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 3, maxLength: 4 }), async (edits) => {
      imports.clear();
      for (const [index, any] of edits.entries()) {
        // The first import derives ids from keys. The second corrects a key.
        const change: Edit = { ...any, form: (['file', 'correction'] as const)[index] ?? any.form };
        const before = await exported();
        const file = makeFile(change, before);
        const { code, stdout } = await apply(change, file, '--undo', undo);
        const command = /^To undo it: npm run import-listings -- (.*)$/m.exec(stdout)?.[1];
        expect(command === undefined).toBe(code !== 0 || stdout.includes('Nothing changed'));
        if (command === undefined) continue;
        const after = await exported();
        const homes =
          change.form === 'pruned' ? [] : findOutside(before.properties, file.properties);
        const otherLocations = findOutside(before.locations, file.locations);
        // A listing's version depends on the slug of its location, which a correction may change.
        const withoutVersion = ({ as_of, ...row }: Row) => row;
        expect(after.properties.map(withoutVersion)).toEqual(
          expect.arrayContaining(homes.map(withoutVersion)),
        );
        expect(after.locations).toEqual(expect.arrayContaining(otherLocations));
        // A workbook takes half a second, so it is exported only once per run.
        await expectExportsChangeNothing(index === edits.length - 1);
        undone += 1;
        expect(await imports.run(...command.split(' '))).toMatchObject({ code: 0 });
        rmSync(undo);
        const { properties, ...records } = await exported();
        const ids = new Set(before.properties.map(({ id }) => id));
        const restored = properties.filter(({ id }) => ids.has(id));
        expect({ ...records, properties: restored }).toEqual(before);
        for (const { id, status } of properties)
          expect(ids.has(id) || status === 'hidden').toBe(true);
        await apply(change, file);
      }
    }),
    runs(6),
  );
  expect(undone).toBeGreaterThan(runs(6).numRuns);
});
