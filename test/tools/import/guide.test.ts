/** The examples of docs/guides/listings-file.md, on the sample listings. */

import { readFileSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { codeBlocksOf, textOf } from '../../docs/markdown.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const GUIDE = 'docs/guides/listings-file.md';
const REFERENCE = 'docs/reference/listing-rules.md';
const [sheet = ''] = codeBlocksOf(GUIDE, 'csv');
const [patch = ''] = codeBlocksOf(REFERENCE, 'json');
const [problems, report] = codeBlocksOf(GUIDE, '');
const [dryRun, emptied] = codeBlocksOf(REFERENCE, '');

const imports = openMemoryImports();
beforeEach(async () => {
  imports.clear();
  await imports.load(readFileSync('tools/samples/listings.json', 'utf8'));
});

it('the sheet has the problems and the report that the guide shows', async () => {
  expect(await imports.loadSheet(sheet)).toEqual({ code: 1, stdout: '', stderr: problems });
  const corrected = sheet.replace('295.000', '295000').replace('jacuzi', 'hot-tub');
  expect(await imports.loadSheet(corrected)).toEqual({ code: 0, stdout: report, stderr: '' });
});

it('the patch has the dry run that the reference shows, and is accepted', async () => {
  const dry = await imports.load(patch, '--patch', '--dry-run');
  expect(dry).toEqual({ code: 0, stdout: dryRun, stderr: emptied });
  expect(await imports.load(patch, '--patch')).toMatchObject({ code: 0 });
});

it('the patch in the text adds an amenity, and the listing as a file is a whole one', async () => {
  const [, amenity = ''] = /`(\{"amenities".*)`/.exec(textOf(GUIDE)) ?? [];
  expect(await imports.load(amenity, '--patch')).toMatchObject({ code: 0, stderr: '' });
  expect(await imports.run('docs/examples/listings.json')).toMatchObject({ code: 0, stderr: '' });
});
