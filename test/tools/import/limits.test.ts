/** What an import rejects of the whole catalogue: a share of it, and a `hid` of two listings. */

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

/** A file with other fields of the first homes. */
const changed = (count: number, fields: (index: number) => object) => ({
  properties: homes.slice(0, count).map((each, index) => ({ ...each, ...fields(index) })),
});
const slugs = (count: number) => changed(count, (index) => ({ slug: `new-${index}` }));
const hids = (count: number) => changed(count, (index) => ({ hid: `N-${index}` }));
const emptied = (count: number) => changed(count, () => ({ city: null }));
const hidden = (count: number) => changed(count, () => ({ status: 'hidden' }));
const kept = (count: number) => ({ properties: homes.slice(0, count) });
const sheet = () =>
  workbook({ listings: [['slug', 'city'], ...homes.map(({ slug }) => [slug, null])] });

const shy = {
  properties: secrets.map((each, at) => ({ ...each, slug: `shy-${at}`, hid: `S-${at}` })),
};

/** Of ten public homes, two are a fifth. */
it.each<[title: string, file: unknown, option: string, counts?: string]>([
  ['two slugs', slugs(2), '--dry-run'],
  ['three slugs', slugs(3), '--dry-run', 'change the slug or hid of 3'],
  ['three slugs in a patch', slugs(3), '--patch', 'change the slug or hid of 3'],
  ['two hids', hids(2), '--dry-run'],
  ['three hids', hids(3), '--dry-run', 'change the slug or hid of 3'],
  ['the slugs and first hids of hidden homes', shy, '--dry-run'],
  ['two empty fields', emptied(2), '--dry-run'],
  ['three empty fields', emptied(3), '--dry-run', 'empty something of 3'],
  ['three fields that a patch empties by null', emptied(3), '--patch'],
  ['ten empty cells of a workbook', sheet, '--dry-run', 'empty something of 10'],
  ['two hidden homes', hidden(2), '--dry-run'],
  ['three hidden homes', hidden(3), '--dry-run', 'hide 3'],
  ['three homes that a patch hides', hidden(3), '--patch'],
  ['two homes that a file does not name', kept(8), '--prune'],
  ['three homes that a file does not name', kept(7), '--prune', 'hide 3'],
])('a fifth is accepted, and more with --many: %s', async (_title, given, option, counts) => {
  const file = typeof given === 'function' ? await given() : given;
  const options = ['--dry-run', option];
  const { code, stderr } = await imports.load(file, ...options);
  if (counts === undefined) return expect([code, stderr]).toEqual([0, expect.any(String)]);
  const sentence = `the file: would ${counts} of the 10 public listings, more than a fifth. --many imports it\n1 problem. Nothing was changed.\n`;
  expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
  expect(await imports.load(file, ...options, '--many')).toMatchObject({ code: 0 });
});

it('a single listing may always get another slug', async () => {
  imports.clear();
  await imports.load(kept(1));
  expect(await imports.load(slugs(1))).toMatchObject({ code: 0 });
});

it('an export loads into an empty store', async () => {
  const exported = await imports.exported();
  imports.clear();
  expect(await imports.load(exported)).toMatchObject({ code: 0, stderr: '' });
});
