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

const NO_RECORD =
  'has no record: with --patch, {"properties": [{"slug": "casa-marea", "price_from": 121000}]} changes a price';

it.each([
  ['a list', JSON.stringify(homes), 'must be of type object'],
  ['a web page', '<!DOCTYPE html><html></html>', 'is neither JSON ('],
  ["the feed's list", '{"object":"list","data":[],"has_more":false}', 'object is not a field'],
  ['no record', '{"properties": [], "removed": {"locations": []}}', NO_RECORD],
])('%s', async (_, text, sentence) => {
  const { code, stdout, stderr } = await imports.load(text);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(`the file: ${sentence}`);
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
