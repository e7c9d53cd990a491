/**
 * Tests that an import is rejected without `--many` if it changes a large share of the catalogue.
 */

import { beforeEach, expect, it } from 'vitest';
import { makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { workbook } from '../../support/node/workbook.ts';

const imports = openMemoryImports();
const homes = Array.from({ length: 10 }, (_, index) =>
  makeProperty({ slug: `casa-${index}`, name: `Casa ${index}`, hid: `H-${index}`, city: 'Inca' }),
);
const secrets = [0, 1, 2].map((index) =>
  makeProperty({ slug: `secret-${index}`, status: 'hidden' }),
);

beforeEach(async () => {
  imports.clear();
  await imports.load({ properties: [...homes, ...secrets] });
});

/** Returns a file that changes the given fields of the first `count` homes. */
const changed = (count: number, fields: (index: number) => object) => ({
  properties: homes.slice(0, count).map((home, index) => ({ ...home, ...fields(index) })),
});
const slugs = (count: number) => changed(count, (index) => ({ slug: `new-${index}` }));
const hids = (count: number) => changed(count, (index) => ({ hid: `N-${index}` }));
const cleared = (count: number) => changed(count, () => ({ city: null }));
const hidden = (count: number) => changed(count, () => ({ status: 'hidden' }));
const firstHomes = (count: number) => ({ properties: homes.slice(0, count) });
const sheet = () =>
  workbook({ listings: [['slug', 'city'], ...homes.map(({ slug }) => [slug, null])] });

const shy = {
  properties: secrets.map((secret, at) => ({ ...secret, slug: `shy-${at}`, hid: `S-${at}` })),
};

it.each<[title: string, file: unknown, option: string, counts?: string]>([
  ['two slugs', slugs(2), '--dry-run'],
  ['three slugs', slugs(3), '--dry-run', 'change the slug or hid of 3'],
  ['three slugs in a patch', slugs(3), '--patch', 'change the slug or hid of 3'],
  ['two hids', hids(2), '--dry-run'],
  ['three hids', hids(3), '--dry-run', 'change the slug or hid of 3'],
  ['the slugs and first hids of hidden homes', shy, '--dry-run'],
  ['two empty fields', cleared(2), '--dry-run'],
  ['three empty fields', cleared(3), '--dry-run', 'clear fields of 3'],
  ['three fields that a patch clears by null', cleared(3), '--patch'],
  ['ten empty cells of a workbook', sheet, '--dry-run', 'clear fields of 10'],
  ['two hidden homes', hidden(2), '--dry-run'],
  ['three hidden homes', hidden(3), '--dry-run', 'hide 3'],
  ['three homes that a patch hides', hidden(3), '--patch'],
  ['two homes that a file does not name', firstHomes(8), '--prune'],
  ['three homes that a file does not name', firstHomes(7), '--prune', 'hide 3'],
])(
  'needs --many for %s only if more than a fifth of the public listings change',
  async (_title, content, option, counts) => {
    const file = typeof content === 'function' ? await content() : content;
    const options = ['--dry-run', option];
    const { code, stderr } = await imports.load(file, ...options);
    if (counts === undefined) return expect([code, stderr]).toEqual([0, expect.any(String)]);
    const message = `the file: would ${counts} of the 10 public listings, more than a fifth. --many imports it\n1 problem. Nothing was changed.\n`;
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(await imports.load(file, ...options, '--many')).toMatchObject({ code: 0 });
  },
);

it('accepts a new slug for the only listing without --many', async () => {
  imports.clear();
  await imports.load(firstHomes(1));
  expect(await imports.load(slugs(1))).toMatchObject({ code: 0 });
});

it('accepts an export into an empty store without --many', async () => {
  const exported = await imports.exported();
  imports.clear();
  expect(await imports.load(exported)).toMatchObject({ code: 0, stderr: '' });
});
