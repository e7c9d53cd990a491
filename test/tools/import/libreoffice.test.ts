/**
 * A workbook that LibreOffice has only opened and saved changes nothing. The files in libreoffice/
 * are what LibreOffice 7.4 saved of the export of the hostile catalogue: as .xlsx in English, by way
 * of .ods in Spanish, and by way of .xls in German. Where LibreOffice is installed, it runs too.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' };
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasLibreOffice, openAndSave } from '../../support/node/libreoffice.ts';
import { fileOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

/** Texts that a spreadsheet likes to change. */
const TEXTS = [
  ...['00123', '1/8', '1E5', '=1+1', '3-mar', 'true', 'FALSO', '#N/A', '#DIV/0!', '€ 5', '50 %'],
  ...['a\nb', 'a\r\nb', "'quoted", "''", '  spaces  ', '\ttab\t', '-5', '+34 600', '@x', '12:30'],
  ...['2027-01-15', '1.000,5', '295.000', '_x0041_', '_x005F_', '\u200bzero', '\u00a0', 'sep=;'],
  ...['<b>&amp;</b>', '😀', '\u0007bell', '\ufffe', 'x'.repeat(40_000), ...naughtyStrings],
].filter((text) => text.isWellFormed() && !text.includes('\0'));
const NUMBERS = [0, 1, 0.1, 1e21, 123456789012345.6, 0.12345678901234568, 1e-7, 295000, 1 / 3];

/** Every text is in four fields, and the numbers are in one. */
const properties = Array.from({ length: 60 }, (_, at) => {
  const text = (shift: number) =>
    TEXTS.filter((_each, place) => (place + shift) % 60 === at).join('\n') || 'x';
  const one = TEXTS[at] ?? '';
  return {
    slug: `home-${at}`,
    hid: `00${at}`,
    name: one.trim() === '' ? 'Home' : one,
    status: 'listed',
    display_order: at,
    title: { en: text(0), es: one },
    description: {
      en: {
        type: 'doc',
        content: [{ type: 'paragraph', content: [{ type: 'text', text: one || 'x' }] }],
      },
      fr: text(7),
    },
    city: TEXTS[at + 60] ?? null,
    address: TEXTS[at + 120] ?? null,
    price_from: NUMBERS[at] ?? null,
    location: 'bay',
    amenities: ['wifi'],
    photos: TEXTS.slice(at * 9, at * 9 + 9).map((alt, photo) => ({
      url: `https://a.example/${at}/${photo}.jpg`,
      alt: { en: alt },
      section: 'gallery',
      web_visible: true,
      web_sort_order: photo,
    })),
    unique_features: [{ icon_slug: one, label: { en: text(3) } }],
  };
});

const hostile = openMemoryImports();
const samples = openMemoryImports();
const folder = mkdtempSync(join(tmpdir(), 'libreoffice-'));
beforeAll(async () => {
  expect(await hostile.load(fileOf(properties as never))).toMatchObject({ code: 0 });
  await samples.load(readFileSync('tools/samples/listings.json', 'utf8'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function expectNoChange(imports: typeof hostile, bytes: Uint8Array) {
  const { code, stdout, stderr } = await imports.loadWorkbook(bytes, '--prune', '--dry-run');
  expect([code, stderr], stderr).toEqual([0, '']);
  expect(stdout).toContain('Nothing changed');
}

it('the export of the hostile catalogue changes nothing', async () => {
  await expectNoChange(hostile, await hostile.exportedWorkbook());
});

it.each(['english.xlsx', 'spanish-ods.xlsx', 'german-xls.xlsx'])(
  '%s changes nothing',
  async (name) => {
    await expectNoChange(hostile, readFileSync(join(import.meta.dirname, 'libreoffice', name)));
  },
);

const FORMS = (['xlsx', 'ods', 'xls'] as const).flatMap((form) =>
  (['en-US', 'es-ES', 'de-DE'] as const).map((locale) => [locale, form] as const),
);
// Each takes half a minute.
const TRIED = process.env.FULL ? FORMS : [['es-ES', 'ods'] as const];

// Skipped where LibreOffice is not installed: the saved files above are tested everywhere.
describe.skipIf(!hasLibreOffice)('LibreOffice, when it is installed', () => {
  it.each(TRIED)(
    'opens and saves the exports in %s as %s, which changes nothing',
    async (locale, form) => {
      const exports = [await hostile.exportedWorkbook(), await samples.exportedWorkbook()];
      const [first, second] = openAndSave(folder, locale, form, exports);
      await expectNoChange(hostile, first ?? expect.fail());
      await expectNoChange(samples, second ?? expect.fail());
    },
    600_000,
  );
});
