/** Random corrections of keys, and additions: no record outside a file ever changes. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
const runs = { numRuns: process.env.FULL ? 400 : 60 };

const hid = fc.constantFrom('H-1', 'H-2', 'H-3');
const slug = fc.constantFrom('one', 'two', 'three', 'four');
const place = fc.constantFrom('bay', 'coast', 'hills');
const url = fc.constantFrom(...[1, 2, 3].map((each) => `https://images.example.com/${each}.jpg`));
const photo = { section: 'gallery', web_visible: true, web_sort_order: 1 };
const home = fc.record(
  {
    slug,
    hid,
    city: fc.constantFrom('Inca', 'Deià'),
    photos: fc.uniqueArray(url, { maxLength: 2 }),
  },
  { requiredKeys: ['slug'] },
);
const edit = fc.record({
  form: fc.constantFrom('file', 'patch', 'correction'),
  homes: fc.uniqueArray(home, { selector: (each) => each.slug, minLength: 1, maxLength: 2 }),
  places: fc.uniqueArray(place, { maxLength: 1 }),
  /** Which stored records a correction names by their ids. */
  pick: fc.nat(3),
});
type Edit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

type Row = { id: string; slug: string; hid: string | null; source: string };
const rows = () =>
  imports.rows(`SELECT id, slug, source->>'$.hid' AS hid, source FROM properties`) as Row[];
const locations = () => imports.rows('SELECT * FROM locations') as { id: string; slug: string }[];

/** Returns a file without ids, or a patch that gives new keys to stored records by their ids. */
function fileOf({ form, homes, places, pick }: Edit) {
  const [stored, known] = [rows(), locations()];
  const isCorrection = form === 'correction';
  const idOf = (list: readonly { id: string }[], index: number) =>
    isCorrection ? { id: list[(index + pick) % list.length]?.id } : {};
  return {
    locations: places.map((each, index) => ({ ...idOf(known, index), slug: each, name: {} })),
    properties: homes.map(({ photos = [], ...each }, index) => ({
      ...{ name: 'Home', status: 'listed', display_order: 1 },
      ...each,
      ...idOf(stored, index),
      photos: photos.map((address) => ({ ...photo, url: address })),
    })),
  };
}

it('no record that a file does not name ever changes', async () => {
  let [accepted, rejected] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 3, maxLength: 6 }), async (edits) => {
      imports.clear();
      for (const each of edits) {
        const file = fileOf(each);
        const [before, places] = [rows(), locations()];
        const options = each.form === 'file' ? ['--allow-emptied'] : ['--patch'];
        const { code, stderr } = await imports.load(file, ...options);
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
  expect(rejected).toBeGreaterThan(runs.numRuns / 10);
});
