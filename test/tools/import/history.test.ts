/** Tests the base of a row, and who has changed a record since an export, with plain values. */

import { describe, expect, it } from 'vitest';
import { type Author, isBySomebodyElse } from '../../../tools/import/catalogue/last-change.ts';
import type { Catalogue } from '../../../tools/import/catalogue/store.ts';
import { getBaseHash, makeRowBuilder } from '../../../tools/import/match/history.ts';
import { divideUnnamed } from '../../../tools/import/plan/prune.ts';
import { dataColumns } from '../../../tools/import/read/columns.ts';
import { formatMark, hashDatabase, hashText, RowMark } from '../../../tools/import/read/marks.ts';

const ID = '00000000-0000-4000-8000-0000000000a1';
const KEY = hashText(ID);
const IDENTITY = { lineage: 'l', generation: 'g' };
const DATABASE = hashDatabase(IDENTITY);
const ANA = { who: 'ana', exportKey: 'export-1' };

const formatRow = (price_from: number, entries: Record<string, string> = {}) =>
  formatMark(dataColumns('listings'), { price_from }, { key: KEY, ...entries });
const imported = (who: string, price_from: number, entries?: Record<string, string>) => ({
  ...{ export_id: 'export-1', who, record: `listings ${ID}`, operation: `by-${who}` },
  marks: formatRow(price_from, entries),
});
const catalogueWith = (fields: Partial<Catalogue>): Catalogue => ({
  ...IDENTITY,
  ...{ lastImport: null, newestChange: 0, locations: [], amenities: [], listings: new Map() },
  ...{ operations: new Map(), importedRows: [] },
  ...fields,
});

function findHistory(
  importedRows: Catalogue['importedRows'],
  {
    mark = formatRow(289, { database: DATABASE }),
    who = 'ana',
    baseEntries = undefined as Set<string> | undefined,
  } = {},
) {
  const options = { who, exportKey: 'export-1', overwrite: false };
  const buildRow = makeRowBuilder(catalogueWith({ importedRows }), options);
  const row = {
    ...({ sheet: 'listings', location: { kind: 'cell', position: 'listings!A2' } } as const),
    ...{ cells: { id: ID, price_from: 1 }, stored: undefined, isAbsent: false },
    mark: RowMark.parse(mark),
  };
  return buildRow(row, KEY, `listings ${ID}`, baseEntries);
}

describe('the base of a row', () => {
  const getBasePrice = (...args: Parameters<typeof findHistory>) =>
    getBaseHash(findHistory(...args).history, 'price_from');

  it.each([
    ['289 for ana before any import', 'ana', [], 289],
    ['275 for ana after her import', 'ana', [imported('ana', 275)], 275],
    ['289 for ben after an import by ana', 'ben', [imported('ana', 275)], 289],
    ['275 for ana after both', 'ana', [imported('ana', 275), imported('ben', 298)], 275],
    ['298 for ben after both', 'ben', [imported('ana', 275), imported('ben', 298)], 298],
  ])('contains the price %s', (_case, who, importedRows, expected) => {
    expect(getBasePrice(importedRows, { who })).toBe(hashText(`${expected}`));
  });

  it.each([
    ['of another database', formatRow(289, { database: 'other' })],
    [
      'of another row',
      formatMark(dataColumns('listings'), {}, { key: 'other', database: DATABASE }),
    ],
    ['that is truncated', formatRow(289, { database: DATABASE }).slice(0, -3)],
  ])('is not a mark %s', (_case, mark) => {
    expect(getBasePrice([], { mark })).toBeUndefined();
  });

  it('is not the export if the last import removed the entry', () => {
    expect(getBasePrice([], { baseEntries: new Set() })).toBeUndefined();
    expect(getBasePrice([], { baseEntries: new Set([KEY]) })).toBe(hashText('289'));
  });

  it('is separate from the imports of other people', () => {
    const { importedByOthers } = findHistory([imported('ana', 275), imported('ben', 298)]).history;
    expect(importedByOthers.map(({ mark }) => mark.get('price_from'))).toEqual([hashText('298')]);
  });

  it('shows whether a record was removed from the store', () => {
    expect(findHistory([]).isRemoved).toBe(true);
    expect(findHistory([], { mark: '' }).isRemoved).toBe(false);
    expect(findHistory([imported('ben', 1)], { mark: '' }).isRemoved).toBe(true);
  });
});

describe('isBySomebodyElse', () => {
  const anasImport = { who: 'ana', export_id: 'export-1' };

  it.each<[string, Partial<typeof anasImport> | undefined, Partial<Author>, boolean]>([
    ["this person's import of this export", {}, {}, false],
    ['an import of another person', { who: 'ben' }, {}, true],
    ['an import of another export', { export_id: 'export-2' }, {}, true],
    ['an unknown operation', undefined, {}, true],
    ['any operation for a file without an export', {}, { exportKey: undefined }, true],
  ])('classifies %s', (_case, operation, author, expected) => {
    const compared = operation && { ...anasImport, ...operation };
    expect(isBySomebodyElse(compared, { ...ANA, ...author })).toBe(expected);
  });
});

describe('divideUnnamed', () => {
  const operation = (who: string) => ({
    ...{ id: `by-${who}`, at: 0, who, commit: null, command: 'import-listings', file: null },
    ...{ counts: '{}', export_id: 'export-1' },
  });

  it.each<[string, number, string, Catalogue['importedRows'], Partial<Author>, boolean]>([
    ['unchanged since the export', 5, 'ben', [], {}, true],
    ['changed by this person', 6, 'ana', [imported('ana', 1, { export: 'e' })], {}, true],
    ['changed by somebody else', 6, 'ben', [], {}, false],
    ['added by this person', 6, 'ana', [imported('ana', 1)], {}, false],
    [
      'changed by both',
      6,
      'ana',
      [imported('ben', 1), imported('ana', 1, { export: 'e' })],
      {},
      true,
    ],
    ['changed by this person in JSON', 6, 'ana', [], {}, true],
    ['changed, for a file without an export', 6, 'ben', [], { exportKey: undefined }, true],
  ])(
    'hides or retains a listing that was %s',
    (_case, change_seq, who, importedRows, author, isHidden) => {
      const listing = {
        ...{ id: ID, slug: 'casa', status: 'listed', rendering: '', document: null, changed_at: 0 },
        ...{ change_seq, removed_slug: null, former_slugs: '[]', operation: `by-${who}` },
        listing: {},
      } as never;
      const operations = new Map(['ana', 'ben'].map((name) => [`by-${name}`, operation(name)]));
      const catalogue = catalogueWith({
        listings: new Map([[ID, listing]]),
        operations,
        importedRows,
      });
      const { hidden } = divideUnnamed([ID], `${DATABASE}-5-x`, catalogue, { ...ANA, ...author });
      expect(hidden).toEqual(isHidden ? [ID] : []);
    },
  );
});
