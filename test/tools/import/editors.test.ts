/**
 * Tests random imports by three editors, who edit their own export or a colleague's file. After each
 * import, the store must equal a model that tracks what each editor has exported and imported.
 */

import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { openDesk } from '../../support/node/desk.ts';
import { makeProperty } from '../../support/node/listings-file.ts';
import { type Edit, editSheets } from '../../support/node/workbook.ts';

type Rows = Parameters<Edit>[0];
/** The values of a listing: its cells, the order of its photos, and the alt text of each photo by URL. */
type Values = Record<string, unknown>;

const PEOPLE = [0, 1, 2];
const step = fc.record({
  who: fc.constantFrom(...PEOPLE),
  act: fc.constantFrom(
    ...['price', 'status', 'alt', 'move', 'remove', 'add home', 'copy home', 'add photo'],
    ...['revert home', 'revert photo', 'undo', 'export', 'take over', 'second copy'],
  ),
  at: fc.nat(7),
  value: fc.nat(2),
  isImported: fc.boolean(),
});

const imports = openDesk();
const undo = join(tmpdir(), `editors-${process.pid}.json`);

const properties = ['casa-a', 'casa-b'].map((slug) => {
  const photos = [1, 2].map((at) => ({
    ...{ url: `https://a/${slug}-${at}`, section: 'gallery', web_visible: true },
    web_sort_order: at,
  }));
  return makeProperty({ slug, hid: slug, photos });
});

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

function listValues({ listings = [], photos = [] }: Rows): Record<string, Values> {
  const homes = listings.map(({ slug, status, price_from = null }) => {
    const homePhotos = photos.filter(({ listing }) => listing === slug);
    homePhotos.sort((a, b) => Number(a.order) - Number(b.order));
    const alts = homePhotos.map((row) => [row.url, row['alt.en'] ?? null]);
    const order = homePhotos.map(({ url }) => url);
    return [slug, { status, price_from, order, ...Object.fromEntries(alts) }];
  });
  return Object.fromEntries(homes);
}

/** Makes an export. `imported` will have the values of each person's last import of it, by person and listing. */
async function open() {
  const sheets = await imports.exportedWorkbook();
  let exported: Rows = {};
  editSheets(sheets, (rows) => {
    exported = structuredClone(rows);
  });
  return {
    sheets,
    original: sheets,
    exported,
    exportedValues: listValues(exported),
    imported: new Map<string, Values>(),
  };
}

/** Makes an edit. `number` is unique to the edit. */
function edit(
  act: string,
  [at, value, number]: [number, number, number],
  { listings = [], photos = [] }: Rows,
  exported: Rows,
) {
  const home = listings[at % listings.length] ?? {};
  const photo = photos[at % photos.length] ?? {};
  const slug = `new-${number}`;
  const added = { slug, name: slug, status: 'listed', display_order: 9 };
  const revert = (rows: typeof photos, all: typeof photos = []) => {
    const exportedValues = all[at % all.length] ?? {};
    const row = rows.find((candidate) => candidate['as of'] === exportedValues['as of']);
    return row ? Object.assign(row, exportedValues) : rows.push({ ...exportedValues });
  };
  const edits: Record<string, () => unknown> = {
    price: () => Object.assign(home, { price_from: value }),
    status: () => Object.assign(home, { status: ['listed', 'sold_out', 'hidden'][value] }),
    alt: () => Object.assign(photo, { 'alt.en': `Alt ${value}` }),
    move: () => Object.assign(photo, { order: number + 3 }),
    remove: () => photos.splice(at % photos.length, 1),
    'add home': () => listings.push(added),
    'copy home': () => listings.push({ ...home, slug }),
    'add photo': () =>
      photos.push({ listing: home.slug ?? '', order: number + 3, url: `https://a/${number}` }),
    'revert home': () => revert(listings, exported.listings),
    'revert photo': () => revert(photos, exported.photos),
  };
  return edits[act]?.();
}

/** Returns a listing as it is after an import. Adds the names of values to `problems` and `applied`. */
function merge(
  theirs: Values,
  [ours = {}, exportedValues = {}, base = exportedValues, ...others]: (Values | undefined)[],
  problems: string[],
  applied: string[],
) {
  const merged = { ...ours };
  for (const [key, value] of Object.entries(theirs)) {
    const importedByOthers = others
      .map((values) => values?.[key])
      .filter((edit) => !isSame(edit, exportedValues[key]));
    const knownValues = [base[key], ...importedByOthers];
    if ([ours[key], ...knownValues].some((candidate) => isSame(value, candidate))) continue;
    const isNew =
      ours[key] === undefined && knownValues.every((candidate) => candidate === undefined);
    const isUnchanged = ours[key] !== undefined && isSame(ours[key], base[key]);
    if (!isNew && !isUnchanged) problems.push(key);
    else {
      merged[key] = value;
      applied.push(key);
    }
  }
  for (const [url, alt] of Object.entries(ours)) {
    if (!url.startsWith('https:') || [merged.order].flat().includes(url)) continue;
    if (alt !== base[url]) problems.push(url);
    delete merged[url];
  }
  return merged;
}

type Versions = Record<'previous' | 'exportedValues' | 'theirs' | 'ours', Values | undefined>;

/** Whether a file would take back two or more changes that its editor has imported from the same export. */
function isSecondCopy(listings: Versions[], applied: number): boolean {
  let hasChange = false;
  const changes = listings.map(({ previous, exportedValues, theirs, ours }) => {
    if (previous === undefined) return [];
    if (exportedValues === undefined) {
      hasChange ||= theirs !== undefined;
      return ours === undefined ? [] : [1];
    }
    return Object.entries(previous).flatMap(([key, value]) => {
      const file = theirs?.[key];
      const isComparable = key in exportedValues && file !== undefined;
      if (!isComparable || isSame(value, exportedValues[key])) return [];
      hasChange ||= !isSame(file, exportedValues[key]);
      if (!isSame(ours?.[key], value)) return [];
      const added = [value].flat().filter((url) => ![exportedValues[key]].flat().includes(url));
      return [key === 'order' ? Math.max(1, added.length) : 1];
    });
  });
  const count = changes.flat().reduce((sum, weight) => sum + weight, 0);
  const isOneListing = changes.filter((weights) => weights.length > 0).length === 1;
  const isTypedBack = isOneListing && applied === changes.flat().length;
  return !hasChange && count >= 2 && !isTypedBack;
}

it('applies only what the editor has changed in any sequence of imports', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
    imports.clear();
    await imports.load({ properties });
    const first = await open();
    const files = PEOPLE.map(() => first);
    let store = first.exportedValues;
    let last = { before: store, after: store };
    for (const [number, { act, who, at, value, isImported }] of steps.entries()) {
      vi.stubEnv('GITHUB_ACTOR', `${who}`);
      const file = files[who] ?? first;
      const { exported, exportedValues, imported } = file;
      if (act === 'export') files[who] = await open();
      if (act === 'take over') files[who] = files[value] ?? file;
      // Without an edit, so that the next steps edit the copy.
      if (act === 'second copy') files[who] = { ...file, sheets: file.original };
      if (act === 'undo' && isSame(last.after, store) && !isSame(last.before, store)) {
        expect(await imports.run(undo, '--many')).toMatchObject({ code: 0 });
        for (const [slug, home] of Object.entries(store)) {
          store = { ...store, [slug]: last.before[slug] ?? { ...home, status: 'hidden' } };
        }
      }
      let theirs: typeof store = {};
      const sheets = editSheets(file.sheets, (rows) => {
        edit(act, [at, value, number], rows, exported);
        theirs = listValues(rows);
      });
      if (['export', 'take over', 'second copy', 'undo'].includes(act)) continue;
      files[who] = { ...file, sheets };
      if (!isImported) continue;
      const problems: string[] = [];
      const applied: string[] = [];
      const before = store;
      const after = { ...store };
      for (const [slug, values] of Object.entries(theirs)) {
        const [mine, ...others] = [who, ...PEOPLE].map((person) =>
          imported.get(`${person} ${slug}`),
        );
        after[slug] = merge(
          values,
          [store[slug], exportedValues[slug], mine, ...others],
          problems,
          applied,
        );
      }
      const versions = Object.keys({ ...store, ...theirs }).map((slug): Versions => {
        return {
          previous: imported.get(`${who} ${slug}`),
          exportedValues: exportedValues[slug],
          theirs: theirs[slug],
          ours: store[slug],
        };
      });
      if (isSecondCopy(versions, applied.length)) problems.push('second copy');
      rmSync(undo, { force: true });
      const { code, stdout, stderr } = await imports.load(sheets, '--many', '--undo', undo);
      expect(code, `${problems}\n${stderr}`).toBe(problems.length > 0 ? 1 : 0);
      if (code === 0) store = after;
      expect((await open()).exportedValues, stdout).toEqual(store);
      last = { before, after: store };
      for (const [slug, values] of Object.entries(theirs)) {
        // An import records what it changes.
        if (!isSame(before[slug], store[slug])) imported.set(`${who} ${slug}`, values);
      }
    }
  });
  await fc.assert(property, { numRuns: process.env.FULL ? 500 : 60 });
}, 3_600_000);
