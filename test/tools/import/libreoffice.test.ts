/**
 * Tests that importing a workbook saved by LibreOffice changes only the edited cells. The files in
 * libreoffice/ come from an export of the hostile catalogue. LibreOffice 7.4 applied the edit
 * `touched` of edits.bas and saved one as .xlsx in English, the other as .ods in Spanish. With
 * FULL=1, LibreOffice runs and makes every edit in edits.bas, and each import is undone.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' };
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { editWorkbooks, hasLibreOffice } from '../../support/node/libreoffice.ts';
import { makeFile } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

/** Strings that a spreadsheet might convert or lose. */
const TEXTS = [
  ...['00123', '1/8', '1E5', '=1+1', '3-mar', 'true', 'FALSO', '#N/A', '#DIV/0!', '€ 5', '50 %'],
  ...['a\nb', 'a\r\nb', "'quoted", "''", '  spaces  ', '\ttab\t', '-5', '+34 600', '@x', '12:30'],
  ...['2027-01-15', '1.000,5', '295.000', '_x0041_', '_x005F_', '\u200bzero', '\u00a0', 'sep=;'],
  ...['<b>&amp;</b>', '😀', '\u0007bell', '\ufffe', 'x'.repeat(40_000), ...naughtyStrings],
].filter((text) => text.isWellFormed() && !text.includes('\0'));
const NUMBERS = [0, 1, 0.1, 1e21, 123456789012345.6, 0.12345678901234568, 1e-7, 295000, 1 / 3];

/**
 * The listings of the hostile catalogue. Every string is in four fields, and every number is in
 * one.
 */
const properties = Array.from({ length: 60 }, (_, at) => {
  const text = (shift: number) =>
    TEXTS.filter((_text, index) => (index + shift) % 60 === at).join('\n') || 'x';
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

const imports = openMemoryImports();
const libreOfficeFolder = join(import.meta.dirname, 'libreoffice');
const folder = mkdtempSync(join(tmpdir(), 'libreoffice-'));
const undo = join(folder, 'undo.json');
// An import ignores row marks that come from a different database.
beforeAll(() => {
  const id = '0'.repeat(32);
  imports.rows(`UPDATE database_identity SET lineage = '${id}', generation = '${id}'`);
});

const CATALOGUES = {
  hostile: JSON.stringify(makeFile(properties as never)),
  samples: readFileSync('tools/samples/listings.json', 'utf8'),
};
type Name = keyof typeof CATALOGUES;

const restoreByName = new Map<Name, () => void>();

/** Restores a catalogue to the state after its first import. */
async function load(name: Name) {
  rmSync(undo, { force: true });
  const restore = restoreByName.get(name);
  if (restore !== undefined) return restore();
  imports.clear();
  expect(await imports.load(CATALOGUES[name])).toMatchObject({ code: 0 });
  restoreByName.set(name, imports.keep());
}

const stored = () =>
  new Map(
    imports
      .rows('SELECT slug, status, source FROM properties')
      .map((row) => [`${row.slug}`, JSON.stringify(row)]),
  );

/**
 * Imports a workbook. Expects that the report contains the lines and that no other listing changes.
 * With FULL=1, also undoes the import.
 */
async function expectChanges(name: Name, bytes: Uint8Array, ...lines: string[]) {
  await load(name);
  const before = stored();
  const { stdout, stderr } = await imports.load(bytes, '--undo', undo);
  const printed = `${stdout}${stderr}`;
  for (const line of lines) expect(printed).toContain(line);
  const changed = [...stored()].flatMap(([slug, row]) => (before.get(slug) === row ? [] : slug));
  const named = lines.flatMap(
    (line) => /^(?:New: )?([a-z][a-z\d-]*)(?:: |$)/.exec(line)?.[1] ?? [],
  );
  const count = /, (\d+) changed,/.exec(lines.join())?.[1] ?? named.length;
  expect(changed, printed).toHaveLength(Number(count));
  expect(changed).toEqual(expect.arrayContaining(named));
  if (changed.length === 0 || !process.env.FULL) return;
  expect((await imports.run(undo, '--many', '--no-undo')).code).toBe(0);
  const added = changed.filter((slug) => !before.has(slug));
  const undone = stored();
  for (const slug of added) {
    expect(undone.get(slug)).toContain('"status":"hidden"');
    undone.delete(slug);
  }
  expect(undone).toEqual(before);
}

const NOTHING = 'Nothing changed: the store already holds all of it.';
const EDITED = {
  hostile: ['home-0: price_from 0 → 4242', 'home-2: description.en "1E5" → "Touched"'],
  samples: ['casa-ginebrera: price_from 289000 → 4242', 'villa-azenha: description.en '],
};

it('changes nothing when an exported hostile catalogue is imported again', async () => {
  await load('hostile');
  await expectChanges('hostile', await imports.exportedWorkbook(), NOTHING);
});

it.each(['english.xlsx', 'spanish.ods'])(
  'changes only the two edited cells of %s',
  async (name) => {
    await expectChanges('hostile', readFileSync(join(libreOfficeFolder, name)), ...EDITED.hostile);
  },
);

/**
 * Edits in edits.bas, each with lines that the report must contain. The line of a change begins
 * with the slug of its listing.
 */
const EDITS: [edit: string, ...lines: string[]][] = [
  ['rows-sorted-by-price', NOTHING],
  ['rows-sorted-by-name', NOTHING],
  ['photos-sorted-by-address', NOTHING],
  ['rows-filtered', NOTHING],
  ['rows-filtered-and-edited', 'casa-ginebrera: price_from 289000 → 295000\n'],
  ['rows-hidden', NOTHING],
  ['rows-grouped', NOTHING],
  ['row-empty', NOTHING],
  ['row-new', 'New: casa-nueva'],
  [
    'row-copied',
    'New: casa-ginebrera-dos',
    'listings!A3 is a copy of listings!A2, and becomes a new record',
  ],
  [
    'row-twice',
    'slug is ambiguous, because several rows have the same hidden id (listings!A2, listings!A3): 2 rows',
  ],
  ['row-moved', NOTHING],
  ['row-deleted', NOTHING],
  ['photo-deleted', 'casa-ginebrera: 1 photo removed\n'],
  ['photo-copied', 'casa-ginebrera: 1 photo added\n', 'photos!A3 is a copy of photos!A2'],
  ['photo-first', 'casa-ginebrera: photo 04-kitchen.webp: web_sort_order 4 → 0\n'],
  ['photo-to-another-home', 'casa-ginebrera: 1 photo removed\n', 'villa-azenha: 1 photo added'],
  ['photo-address', 'casa-ginebrera: hero_photo ', 'photo other.webp: url '],
  ['photo-addresses-swapped', 'casa-ginebrera: hero_photo ', 'photo 02-terrace.webp: url '],
  ['photo-alt-text', 'casa-ginebrera: photo 03-bedroom.webp: alt.fr '],
  ['video-address', 'casa-ginebrera: video other.mp4: url '],
  ['hosts-replaced', '71 listings: 0 added, 64 changed, 7 unchanged'],
  [
    'column-sorted-alone',
    'price_from has the value of another row, as do 62 of the 62 changed cells',
  ],
  ['column-shifted', 'price_from has the value of another row, as do 63 of the 63 changed cells'],
  ['column-filled-down', 'chalet-grand-meleze: city ', 'villa-azenha: city "Burgau" → "Deià"\n'],
  ['column-of-notes', NOTHING],
  ['column-unknown', 'listings!D1: "Remarks" is not a column of this sheet'],
  ['remark-beside', 'listings!AY5: "ask Pere" is in a column without a name'],
  ['column-moved', NOTHING],
  ['column-deleted', NOTHING],
  ['ids-deleted', NOTHING],
  ['marks-deleted', NOTHING],
  ['columns-hidden', NOTHING],
  [
    'header-renamed',
    'listings!Q1: "price_form" is not a column of this sheet. Did you mean price_from?',
  ],
  ['header-upper-case', NOTHING],
  ['header-twice', 'listings!N1: "city" heads two columns'],
  ['sheet-own', NOTHING, 'Ignored: the sheet "Owners"'],
  ['sheet-renamed', 'has the columns of the missing sheet listings. Rename it to listings.'],
  ['sheet-deleted', NOTHING],
  ['sheet-moved', NOTHING],
  ['sheet-copied', NOTHING, 'Ignored: the sheet "listings_2"'],
  ['read-me-deleted', NOTHING],
  ['format-euro', NOTHING],
  ['format-basque', 'casa-ginebrera: price_from 289000 → 295000\n'],
  [
    'format-date',
    'listings!Q2 (slug "casa-ginebrera"): price_from "2691-04-02T00:00:00.000Z" is a date',
  ],
  ['format-percent', NOTHING],
  ['format-bold', NOTHING],
  ['cells-merged', 'listings!C2: is the first of several merged cells'],
  ['price', 'casa-ginebrera: price_from 289000 → 295000\n'],
  ['price-as-text', 'listings!Q2 (slug "casa-ginebrera"): price_from "€ 295.000" is not a number'],
  ['price-emptied', 'casa-ginebrera: price_from 289000 → none\n', 'Warning: cleared price_from'],
  ['name-emptied', 'listings!C2 (slug "casa-ginebrera"): name must not be empty\n'],
  ['formula', 'casa-ginebrera: price_from 289000 → 295000\n'],
  ['formula-error', 'price_from "#DIV/0!" is the error of a formula'],
  ['date-typed', 'listings!R2 (slug "casa-ginebrera"): fraction_from "46235" must be a fraction'],
  ['word-upper-case', 'casa-ginebrera: status "listed" → "sold_out"\n'],
  ['texts-replaced', '71 listings: 0 added, 20 changed, 51 unchanged'],
  [
    'text-of-lines',
    String.raw`casa-ginebrera: title.en "Stone house above the cove at Deià" → "One\n\nTwo"`,
  ],
  ['text-emoji', 'casa-ginebrera: title.en "Stone house above the cove at Deià" → "Sea 🌊 home"\n'],
  ['text-long', 'casa-ginebrera: description.en '],
  ['text-space', String.raw`casa-ginebrera: city "Deià" → "Port\u00a0Sóller"`],
  ['text-number', 'casa-ginebrera: hid "H-1042" → "00123"\n'],
  ['text-translated', 'casa-ginebrera: title.fr '],
];

// These tests need LibreOffice and take several minutes.
describe.runIf(process.env.FULL)('LibreOffice', () => {
  beforeEach(({ skip }) => skip(!hasLibreOffice, 'soffice'));
  const basic = readFileSync(join(libreOfficeFolder, 'edits.bas'), 'utf8');
  const FORMS = (['en-US', 'es-ES', 'de-DE'] as const).flatMap((locale) =>
    (['xlsx', 'ods'] as const).flatMap((form) =>
      (['hostile', 'samples'] as const).map((name) => [locale, form, name] as const),
    ),
  );

  it.each(FORMS)(
    'saves an export in %s as %s so that only edited cells change something (%s)',
    async (locale, form, name) => {
      await load(name);
      const exported = await imports.exportedWorkbook();
      const files = editWorkbooks(basic, [locale, form], exported, ['saved', 'touched']);
      const [saved = expect.fail(), edited = expect.fail()] = files;
      await expectChanges(name, saved, NOTHING);
      await expectChanges(name, edited, ...EDITED[name]);
    },
    600_000,
  );

  describe('changes only what the edit changes', () => {
    let files: Uint8Array[] = [];
    beforeAll(async () => {
      if (!hasLibreOffice) return;
      await load('samples');
      const exported = await imports.exportedWorkbook();
      const names = EDITS.map(([edit]) => edit);
      files = editWorkbooks(basic, ['en-US', 'xlsx'], exported, names);
    }, 900_000);

    it.each(EDITS.map(([edit, ...lines], at) => [edit, lines, at] as const))(
      '%s',
      async (_edit, lines, at) => {
        await expectChanges('samples', files[at] ?? expect.fail(), ...lines);
      },
    );
  });
});
