/** Tests which values of rows and lists differ from the store, with plain rows. */

import { describe, expect, it } from 'vitest';
import type { Row } from '../../../tools/import/match/history.ts';
import type { List } from '../../../tools/import/match/match.ts';
import { listRowValues, listValues } from '../../../tools/import/merge/values.ts';
import { formatListMark, formatMark, RowMark } from '../../../tools/import/read/marks.ts';

const LOCATION = { kind: 'cell', position: 'listings!A2' } as const;
const HISTORY = { exported: undefined, previousImport: undefined, importedByOthers: [], base: [] };
const makeRow = (fields: Partial<Row>): Row => ({
  ...{ sheet: 'listings', location: LOCATION, cells: {}, mark: undefined, stored: undefined },
  ...{ isAbsent: false, key: 'casa', recordKey: 'listings casa', history: HISTORY },
  ...{ isRemoved: false },
  ...fields,
});
const store = (record: Record<string, unknown>, key = 'casa') => ({ key, record, label: key });

describe('listRowValues', () => {
  const compare = (cells: Row['cells'], record: Row['cells'] | undefined) =>
    listRowValues(makeRow({ cells, stored: record && store(record) })).map(({ name }) => name);

  it.each([
    ['differs', { city: 'Inca' }, { city: 'Palma' }, ['city']],
    ['is not in the file', {}, { city: 'Palma' }, []],
    ['displays the same text', { city: 'Inca ' }, { city: 'Inca' }, []],
    ['displays formatted text', { description: { en: 'Sea' } }, { description: { en: 'Sea' } }, []],
    ['belongs to a new record', { city: null }, undefined, ['city']],
    [
      'names a renamed location',
      { location: 'bay', location_id: 1 },
      { location: 'cove', location_id: 1 },
      [],
    ],
    [
      'names another location',
      { location: 'bay', location_id: 1 },
      { location: 'bay-2', location_id: 2 },
      ['location'],
    ],
  ])('compares a cell that %s', (_case, cells, record, names) => {
    expect(compare(cells, record)).toEqual(names);
  });

  it('is skipped for a removed record', () => {
    const row = makeRow({ cells: { city: 'Inca' }, isRemoved: true });
    expect(listValues({ row, location: LOCATION, lists: [] })).toEqual([]);
  });
});

describe('listValues', () => {
  const photo = (name: string) => ({ id: name, url: `https://a.example/${name}.jpg` });
  const entry = (name: string, fields: Partial<Row> = {}) =>
    makeRow({
      sheet: 'photos',
      key: name.padEnd(8, '0'),
      stored: store(photo(name), name),
      ...fields,
    });

  /** Returns the kinds of the values that differ. The arguments name photos in the export, file and store. */
  function compare(exported: string[], file: string[], stored: string[]) {
    const rows = file.map((name) => entry(name));
    const storedRows = stored.map(
      (name) => rows.find(({ key }) => key.startsWith(name)) ?? entry(name, { isAbsent: true }),
    );
    const exportedRows = exported.map((name) => ({
      key: name.padEnd(8, '0'),
      record: photo(name),
    }));
    const mark = RowMark.parse(
      formatMark([], {}, { key: 'casa', ...formatListMark('photos', exportedRows) }),
    );
    const base = mark === undefined ? [] : [mark];
    const listing = makeRow({
      stored: store({ hero_photo_id: null }),
      history: { ...HISTORY, base },
    });
    const list: List = {
      sheet: 'photos',
      listing,
      location: LOCATION,
      history: { ...HISTORY, base },
      rows,
      storedRows,
    };
    return listValues({ row: listing, location: LOCATION, lists: [list] })
      .filter(({ hashes }) => hashes.file !== hashes.store)
      .map((value) => (value.kind === 'missing' ? `missing ${value.entry.label}` : value.kind));
  }

  it.each([
    ['is equal', ['a', 'b'], ['a', 'b'], ['a', 'b'], []],
    ['has another order', ['a', 'b'], ['b', 'a'], ['a', 'b'], ['order']],
    ['lacks a row', ['a', 'b'], ['a'], ['a', 'b'], ['order', 'missing b']],
    ['has changed only in the store', ['a'], ['a'], ['a', 'b'], ['order']],
    [
      'lacks a row while the store has a new one',
      ['a', 'b'],
      ['a'],
      ['a', 'b', 'c'],
      ['order', 'missing b'],
    ],
  ])('compares a list that %s', (_case, exported, file, stored, values) => {
    expect(compare(exported, file, stored)).toEqual(values);
  });
});
