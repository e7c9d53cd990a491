/** Random edits: they change no record outside their file, and each can be undone. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
const runs = { numRuns: process.env.FULL ? 400 : 60 };

const hid = fc.constantFrom('H-1', 'H-2');
const slug = fc.constantFrom('one', 'two', 'three', 'four');
const place = fc.constantFrom('bay', 'coast', 'hills');
const url = fc.constantFrom(...[1, 2, 3].map((each) => `https://images.example.com/${each}.jpg`));
const photo = { section: 'gallery', web_visible: true, web_sort_order: 1 };
const amenity = fc.constantFrom('wifi', 'pool');
const home = fc.record(
  {
    slug,
    hid,
    city: fc.constantFrom('Inca', 'Deià'),
    photos: fc.uniqueArray(url, { maxLength: 2 }),
    location: place,
    amenities: fc.uniqueArray(amenity),
    status: fc.constantFrom('listed', 'hidden'),
  },
  { requiredKeys: ['slug'] },
);
const edit = fc.record({
  form: fc.constantFrom('file', 'patch', 'correction'),
  homes: fc.uniqueArray(home, { selector: (each) => each.slug, minLength: 1, maxLength: 2 }),
  places: fc.uniqueArray(place),
  amenities: fc.uniqueArray(amenity),
  name: fc.constantFrom('One', 'Other'),
  /** Which stored records a correction names by their ids. */
  pick: fc.nat(3),
  prunes: fc.boolean(),
});
type Edit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

type Row = { id: string; slug: string; hid: string | null; source: string };
/** The listings without their locations and amenities, which have records of their own. */
const rows = () =>
  imports.rows(
    `SELECT id, slug, source->>'$.hid' AS hid,
       json_remove(source, '$.location', '$.amenities') AS source FROM properties`,
  ) as Row[];
const locations = () => imports.rows('SELECT * FROM locations') as { id: string; slug: string }[];

/** Returns a file without ids, or a patch that gives new keys to stored records by their ids. */
function fileOf({ form, homes, places, amenities, name, pick }: Edit) {
  const [stored, known] = [rows(), locations()];
  const isCorrection = form === 'correction';
  const idOf = (list: readonly { id: string }[], index: number) =>
    isCorrection ? { id: list[(index + pick) % list.length]?.id } : {};
  return {
    locations: places.map((each, at) => ({ ...idOf(known, at), slug: each, name: { en: name } })),
    amenities: amenities.map((each) => ({ slug: each, label: { en: name } })),
    properties: homes.map(({ photos = [], ...each }, index) => ({
      ...{ name, status: 'listed', display_order: 1 },
      ...each,
      ...idOf(stored, index),
      photos: photos.map((address) => ({ ...photo, url: address })),
    })),
  };
}

const optionsOf = ({ form, prunes }: Edit) =>
  form === 'file' ? ['--allow-emptied', ...(prunes ? ['--prune=all'] : [])] : ['--patch'];

it('no record that a file does not name ever changes', async () => {
  let [accepted, rejected] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 3, maxLength: 6 }), async (edits) => {
      imports.clear();
      for (const each of edits) {
        const file = fileOf(each);
        const [before, places] = [rows(), locations()];
        const { code, stderr } = await imports.load(file, ...optionsOf({ ...each, prunes: false }));
        if (stderr.includes('gives the id of')) rejected += 1;
        if (code === 0) accepted += 1;
        const isNamed = (row: Row) =>
          file.properties.some((named) =>
            'id' in named && named.id
              ? named.id === row.id
              : named.hid === row.hid || named.slug === row.slug,
          );
        const after = new Map(rows().map((row) => [row.id, row]));
        for (const row of before) if (!isNamed(row)) expect(after.get(row.id)).toEqual(row);
        const kept = new Map(locations().map((row) => [row.id, row]));
        for (const row of places) {
          const named = file.locations.some((own) =>
            'id' in own ? own.id === row.id : own.slug === row.slug,
          );
          if (!named) expect(kept.get(row.id)).toEqual(row);
        }
      }
    }),
    runs,
  );
  expect(accepted).toBeGreaterThan(runs.numRuns);
  expect(rejected).toBeGreaterThan(0);
});

const exported = async () => JSON.parse(await imports.exported());

it('the command that an import prints brings back the export before, but for added listings, which are hidden', async () => {
  const undo = join(mkdtempSync(join(tmpdir(), 'undo-')), 'undo.json');
  let undone = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 2, maxLength: 4 }), async (edits) => {
      imports.clear();
      for (const [index, each] of edits.entries()) {
        const before = await exported();
        const status = ['sold_out', each.homes[0]?.slug ?? ''] as const;
        const { code, stdout } =
          index % 3 === 2
            ? await imports.setStatus(...status, '--undo', undo)
            : await imports.load(fileOf(each), ...optionsOf(each), '--undo', undo);
        const command = /^To undo it: npm run import-listings -- (.*)$/m.exec(stdout)?.[1];
        expect(command === undefined).toBe(code !== 0 || stdout.includes('Nothing changed'));
        if (command === undefined) continue;
        undone += 1;
        expect(await imports.run(...command.split(' '))).toMatchObject({ code: 0 });
        rmSync(undo);
        const { properties, ...after } = await exported();
        const ids = new Set(before.properties.map(({ id }: Row) => id));
        const isAdded = ({ id }: Row) => !ids.has(id);
        expect({ ...after, properties: properties.filter((row: Row) => !isAdded(row)) }).toEqual(
          before,
        );
        for (const added of properties.filter(isAdded)) expect(added.status).toBe('hidden');
        // The next edit begins with what this one made.
        await imports.load(fileOf(each), ...optionsOf(each));
      }
    }),
    runs,
  );
  expect(undone).toBeGreaterThan(runs.numRuns);
});
