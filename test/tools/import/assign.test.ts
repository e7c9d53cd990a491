/** Tests how rows are assigned to stored records. Each pass has a test that fails without it. */

import { describe, expect, it } from 'vitest';
import { assignRecords } from '../../../tools/import/match/assign.ts';
import { toListRows } from '../../../tools/import/match/stored-rows.ts';
import { dataColumns, type SheetName } from '../../../tools/import/read/columns.ts';
import { formatMark, hashText } from '../../../tools/import/read/marks.ts';

const ID_A = '00000000-0000-4000-8000-0000000000a1';
const ID_B = '00000000-0000-4000-8000-0000000000b2';
const makeKey = (id: unknown) => hashText(`${id}`);

type Cells = Record<string, unknown>;
const store = (record: Cells & { id: string }, label: string) => ({
  key: makeKey(record.id),
  record,
  label,
});

/** Returns the row mark of a record that was exported with these cells. */
const mark = (sheet: SheetName, cells: Cells, id: string) =>
  formatMark(dataColumns(sheet), cells, { key: makeKey(id) });

function assign(
  name: SheetName,
  rows: (Cells & { mark?: string })[],
  storedRows: ReturnType<typeof store>[],
  currentSlugs?: Map<string, string>,
) {
  const report = { problems: [], notes: [] };
  const sheetRows = rows.map(({ mark: markCell, ...cells }, index) => ({
    location: { kind: 'cell', position: `${name}!A${index + 2}` } as const,
    ...{ cells, markCell },
  }));
  const sheet = { name, rows: sheetRows, storedRows, makeKey, currentSlugs };
  const assigned = assignRecords(sheet, report);
  return { ...report, ...assigned, labels: assigned.rows.map(({ stored }) => stored?.label) };
}

describe.each([
  ['listings', 'slug', ['casa-a', 'casa-b', 'casa-c']],
  ['locations', 'slug', ['bay', 'hill', 'cove']],
  ['photos', 'url', ['https://a.example/1', 'https://a.example/2', 'https://a.example/3']],
  ['videos', 'url', ['https://a.example/1', 'https://a.example/2', 'https://a.example/3']],
] as const)('a row of %s', (sheet, address, [first, second, third]) => {
  const stored = [
    store({ id: ID_A, [address]: first }, 'A'),
    store({ id: ID_B, [address]: second }, 'B'),
  ];
  const markOfA = mark(sheet, { [address]: first }, ID_A);

  it('keeps the record of its hidden id when two rows swap their addresses', () => {
    const rows = [
      { id: ID_A, [address]: second },
      { id: ID_B, [address]: first },
    ];
    expect(assign(sheet, rows, stored).labels).toEqual(['A', 'B']);
  });

  it('keeps the record of its mark when it shows the exported address', () => {
    const renamed = [store({ id: ID_A, [address]: third }, 'A'), ...stored.slice(1)];
    const rows = [{ [address]: first, mark: markOfA }];
    expect(assign(sheet, rows, renamed).labels).toEqual(['A']);
  });

  it('is found by its address', () => {
    expect(assign(sheet, [{ [address]: second }], stored).labels).toEqual(['B']);
  });

  it('is matched by its mark even if its address was edited', () => {
    expect(assign(sheet, [{ [address]: third, mark: markOfA }], stored).labels).toEqual(['A']);
  });

  it('is a new record if the record of its mark has another row', () => {
    const rows = [{ [address]: third, mark: markOfA }, { [address]: first }];
    expect(assign(sheet, rows, stored).labels).toEqual([undefined, 'A']);
  });

  it('is added without cells for a record that no row names', () => {
    const { absentRows } = assign(sheet, [{ [address]: first }], stored);
    expect(absentRows.map(({ stored: record }) => record?.label)).toEqual(['B']);
  });
});

describe('a row of listings', () => {
  const stored = [store({ id: ID_A, slug: 'casa-a', hid: 'H-1' }, 'A')];

  it('is found by its hid', () => {
    expect(assign('listings', [{ slug: 'new', hid: 'H-1' }], stored).labels).toEqual(['A']);
  });

  it('is found by a previous slug', () => {
    const currentSlugs = new Map([['casa-old', 'casa-a']]);
    const { labels } = assign('listings', [{ slug: 'casa-old' }], stored, currentSlugs);
    expect(labels).toEqual(['A']);
  });

  it('is a new record without the original id and hid if it is a copy', () => {
    const exported = { id: ID_A, slug: 'casa-a', hid: 'H-1' };
    const markCell = mark('listings', exported, ID_A);
    const rows = [
      { ...exported, slug: 'copy', mark: markCell },
      { ...exported, mark: markCell },
    ];
    const { rows: assigned, labels, notes } = assign('listings', rows, stored);
    expect(labels).toEqual([undefined, 'A']);
    expect(assigned[0]).toMatchObject({ cells: { slug: 'copy' }, mark: undefined });
    expect(Object.keys(assigned[0]?.cells ?? {})).toEqual(['slug']);
    expect(notes).toEqual(['listings!A2 is a copy of listings!A3, and becomes a new record']);
  });

  it('is ambiguous if two copies qualify as the original', () => {
    const exported = { id: ID_A, slug: 'casa-a', mark: mark('listings', { slug: 'casa-a' }, ID_A) };
    expect(assign('listings', [exported, exported], stored).problems).toHaveLength(2);
  });
});

describe('a row of amenities', () => {
  const stored = [store({ id: 'wifi', slug: 'wifi' }, 'wifi')];

  it('is found by its slug', () => {
    expect(assign('amenities', [{ slug: 'wifi' }], stored).labels).toEqual(['wifi']);
  });

  it('is a new record under another slug', () => {
    const markCell = mark('amenities', { slug: 'wifi' }, 'wifi');
    expect(assign('amenities', [{ slug: 'net', mark: markCell }], stored).labels).toEqual([
      undefined,
    ]);
  });
});

describe('a row of features', () => {
  const EAST = { icon_slug: 'sea', label: { en: 'East' } };
  const WEST = { icon_slug: 'sea', label: { en: 'West' } };
  const listing = (unique_features: object[]) => ({
    ...{ key: makeKey(ID_A), label: 'casa' },
    record: { id: ID_A, unique_features },
  });
  const exported = toListRows(listing([EAST, WEST]), 'features');
  const marks = exported.map(({ key, record }) =>
    formatMark(dataColumns('features'), record, { key }),
  );
  const contents = new Map(
    exported.map(({ key, record }) => [key, hashText(formatFeature(record))] as const),
  );

  function formatFeature({ icon_slug, label }: Cells): string {
    const { en = '', es = '', fr = '' } = label as Record<string, string>;
    return [icon_slug, en, es, fr].join('\n');
  }

  const assignFeatures = (rows: (Cells & { mark?: string })[], stored: object[]) => {
    const storedRows = toListRows(listing(stored), 'features', contents);
    const { rows: assigned } = assign('features', rows, storedRows as ReturnType<typeof store>[]);
    return assigned.map(({ stored: record }) => record?.record);
  };
  const marked = (record: Cells, index: number) => ({ ...record, mark: marks[index] ?? '' });

  it('is matched by its mark if its icon and label were edited', () => {
    const edited = { icon_slug: 'pool', label: { en: 'Pool' } };
    expect(assignFeatures([marked(edited, 1)], [EAST, WEST])).toEqual([WEST]);
  });

  it('is matched by its mark after another feature was removed from the store', () => {
    expect(assignFeatures([marked(EAST, 0), marked(WEST, 1)], [WEST])).toEqual([undefined, WEST]);
  });

  it('is matched by its mark if the store has a different order', () => {
    const edited = { ...EAST, label: { en: 'Eastern' } };
    expect(assignFeatures([marked(edited, 0), marked(WEST, 1)], [WEST, EAST])).toEqual([
      EAST,
      WEST,
    ]);
  });

  it('gets a unique key', () => {
    const added = { ...EAST, label: { en: 'New' } };
    const keys = toListRows(listing([added, EAST]), 'features', contents).map(({ key }) => key);
    expect(new Set(keys)).toEqual(new Set(exported.map(({ key }) => key)));
    expect(keys[1]).toBe(exported[0]?.key);
  });

  it('is found by its content if it has no mark', () => {
    expect(assignFeatures([WEST, EAST], [EAST, WEST])).toEqual([WEST, EAST]);
  });

  it('is matched by its icon if it has no mark and no stored feature has its content', () => {
    expect(assignFeatures([{ icon_slug: 'sea', label: { en: 'New' } }], [EAST])).toEqual([EAST]);
  });

  it('is a new feature if the feature of its mark was removed', () => {
    expect(assignFeatures([marked(EAST, 0)], [WEST])).toEqual([undefined]);
  });
});
