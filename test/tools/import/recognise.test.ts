/** A file that is no listings file is one sentence, and its repair is a file that can be imported. */

import { beforeEach, expect, it } from 'vitest';
import { propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import { workbook } from '../../support/node/workbook.ts';

const imports = openMemoryImports();
const homes = ['casa-marea', 'casa-b'].map((slug) => propertyOf({ slug, name: slug }));
beforeEach(async () => {
  imports.clear();
  await imports.load({ properties: homes });
});

const changed = homes.map((each) => ({ ...each, price_from: 121_000 }));
const lines = changed.map((each) => JSON.stringify(each)).join('\n');
const rows = [['slug', 'price_from'], ...homes.map(({ slug }) => [slug, 121_000])];
const NO_RECORD =
  'has no record: with --patch, {"properties": [{"slug": "casa-marea", "price_from": 121000}]} changes a price';
const FEED =
  'is a response of the feed, which leaves out what only the editor sees: edit the file that `npm run -s export-listings -- --out listings.json` writes';

it.each([
  [
    'a list',
    JSON.stringify(changed),
    'is a list of records: write {"properties": before it, and } after it',
  ],
  [
    'a record per line',
    lines,
    'has a record per line: write {"properties": [ before the first, a comma between two, and ]} after the last',
  ],
  [
    'a web page',
    '\ufeff\n<!DOCTYPE html><html></html>',
    'is a web page: download the file itself, at GitHub by "Download raw file"',
  ],
  [
    'tabs',
    rows.map((row) => row.join('\t')).join('\r\n'),
    'is a table with tabs, as a spreadsheet copies it: save the spreadsheet as .xlsx',
  ],
  ["the feed's list", '{"object":"list","data":[],"has_more":false}', FEED],
  ["the feed's listing", '{"object":"property","slug":"casa-marea"}', FEED],
  ['nothing', ' \n', NO_RECORD],
  ['no record', '{"properties": [], "removed": {"locations": []}}', NO_RECORD],
])('%s', async (_, text, sentence) => {
  expect(await imports.load(text)).toEqual({
    code: 1,
    stdout: '',
    stderr: `the file: ${sentence}\n1 problem. Nothing was changed.\n`,
  });
});

it('each repair can be imported', async () => {
  const price = async () => (await imports.stored('casa-marea'))?.price_from;
  const repairs: [content: string | Uint8Array, ...options: string[]][] = [
    [`{"properties":${JSON.stringify(changed)}}`],
    [`{"properties": [${lines.replaceAll('\n', ',\n')}]}`],
    [await workbook({ listings: rows })],
    ['{"properties": [{"slug": "casa-marea", "price_from": 121000}]}', '--patch'],
    [(await imports.exported()).replaceAll('"price_from":null', '"price_from":121000')],
  ];
  for (const [content, ...options] of repairs) {
    await imports.load({ properties: homes }, '--allow-emptied');
    expect(await price()).toBeNull();
    expect(await imports.load(content, ...options)).toMatchObject({ code: 0, stderr: '' });
    expect(await price()).toBe(121_000);
  }
});

it('a workbook with headers alone', async () => {
  expect(await imports.loadWorkbook(await workbook({ listings: [['slug', 'city']] }))).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'the file: has no row below its headers: fill one in, or edit the file that `npm run -s export-listings -- --out catalogue.xlsx` writes\n1 problem. Nothing was changed.\n',
  });
  imports.clear();
  expect(await imports.loadWorkbook(await imports.exportedWorkbook())).toMatchObject({ code: 0 });
});

it('the export of an empty store has no record, and is imported', async () => {
  imports.clear();
  expect(await imports.load(await imports.exported())).toMatchObject({ code: 0, stderr: '' });
});
