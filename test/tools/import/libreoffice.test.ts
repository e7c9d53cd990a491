/**
 * A sheet that a spreadsheet has only opened and saved changes nothing. The files in libreoffice/
 * are what LibreOffice 7.4 saves of the exports with the settings of its dialog, in English (1033)
 * and Spanish (3082):
 *
 *     soffice --headless --infilter="CSV:44/59/9,34,76,1,,3082,false,false" --convert-to xlsx export.csv
 *     soffice --headless --convert-to "csv:Text - txt - csv (StarCalc):44,34,76,1,,3082,false,false" export.xlsx
 *
 * It saves the same bytes of export-semicolon.csv.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const read = (name: string) => readFileSync(join(import.meta.dirname, 'libreoffice', name), 'utf8');

const imports = openMemoryImports();
beforeAll(async () => {
  expect(await imports.load(read('listings.json'))).toMatchObject({ code: 0, stderr: '' });
});

it('the export has the bytes that LibreOffice opened', async () => {
  expect(await imports.exported(',')).toBe(read('export.csv'));
  expect(await imports.exported(';')).toBe(read('export-semicolon.csv'));
});

it.each([...['export.csv', 'english.csv', 'spanish.csv'], 'export-semicolon.csv'])(
  '%s changes nothing',
  async (name) => {
    const { code, stdout } = await imports.loadSheet(read(name));
    expect(code).toBe(0);
    expect(stdout).toContain('Nothing changed');
  },
);

it('a text that begins with an apostrophe keeps it', async () => {
  const sheet = "slug,title.en,title.fr,city\ncasa-marea,'t Huis,''123,'00123\n";
  expect(await imports.loadSheet(sheet)).toMatchObject({ code: 0 });
  const stored = await imports.stored('casa-marea');
  expect(stored).toMatchObject({ title: { en: "'t Huis", fr: "'123" }, city: '00123' });
});
