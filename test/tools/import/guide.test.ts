/**
 * Runs the examples in docs/guides/listings-file.md and docs/reference/listing-rules.md on the
 * sample listings.
 */

import { readFileSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { getCodeBlocks } from '../../support/markdown.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { workbook } from '../../support/node/workbook.ts';

const GUIDE = 'docs/guides/listings-file.md';
const REFERENCE = 'docs/reference/listing-rules.md';
const [patch = ''] = getCodeBlocks(REFERENCE, 'json');
const [look, problem] = getCodeBlocks(GUIDE, '');
const [dryRun, warnings] = getCodeBlocks(REFERENCE, '');

const imports = openMemoryImports();
beforeEach(async () => {
  imports.clear();
  await imports.load(readFileSync('tools/samples/listings.json', 'utf8'));
});

it('prints the output that the guide shows for its example workbooks', async () => {
  const sheet = (price: number | string) =>
    workbook({
      listings: [
        ['slug', 'price_from'],
        ['casa-ginebrera', price],
        ['chalet-grand-meleze', 41200],
      ],
    });
  const done = await imports.load(await sheet(295000), '--dry-run');
  expect(done).toEqual({ code: 0, stdout: look, stderr: '' });
  const rejected = await imports.load(await sheet('295 000'));
  expect(rejected).toMatchObject({ code: 1, stderr: problem });
});

it('prints the dry run that the reference shows for its example patch', async () => {
  const dry = await imports.load(patch, '--patch', '--dry-run');
  expect(dry).toEqual({ code: 0, stdout: dryRun, stderr: warnings });
  expect(await imports.load(patch, '--patch')).toMatchObject({ code: 0 });
});

it('accepts docs/examples/listings.json', async () => {
  expect(await imports.run('docs/examples/listings.json')).toMatchObject({ code: 0, stderr: '' });
});
