/** Finds the stored record of each row of a sheet. A copied row is a new record. Pure. */

import { readAs } from './cells.ts';
import { cellsOf, SHEETS, type SheetName, valueIn } from './columns.ts';
import { url } from './listing-schemas.ts';
import { hashText, NO_MARKS, parseMarks, type StoredRow } from './marks.ts';
import { type ImportProblem, THE_FILE } from './problem.ts';
import { deriveId, makeFinder, type Patch, readKeys } from './records.ts';
import type { Marks, SheetRow } from './types.ts';

export type FoundRow = SheetRow & {
  sheet: SheetName;
  /** Of the hidden cell. A copied row has none. */
  marks: Marks;
  /** Undefined for a new record. */
  stored: StoredRow | undefined;
  /** Whether the sheet has no such row: its record stays as it is stored. */
  isUnlisted: boolean;
};

type NamedRow = SheetRow & {
  marks: Marks;
  /** Whether the slug, the address or the icon is as the export has shown it. */
  isAsShown: boolean;
  /** The key of the record that the row was exported with. A copied row has it too. */
  origin: string | undefined;
};

export type Sheet = {
  sheet: SheetName;
  rows: readonly SheetRow[];
  /** The records that the store has. */
  known: readonly StoredRow[];
  /** Returns the key of the record with this id. */
  keyOf: (id: unknown) => string | undefined;
  /** Today's slugs by former ones, of listings. */
  slugs?: ReadonlyMap<string, string> | undefined;
};

/** For the report. */
type Found = { problems: ImportProblem[]; notes: string[] };

/** Returns the rows with their records, and a row without cells for each other record. */
export function findRecords(from: Sheet, report: Found) {
  const { sheet, rows, known } = from;
  const found = claimRecords(from, separateCopies(sheet, rows.map(nameRow(from)), report));
  const listed = new Set(found.map(({ stored }) => stored));
  const none = {
    sheet,
    name: THE_FILE,
    value: {},
    asOf: undefined,
    marks: NO_MARKS,
    isUnlisted: true,
  };
  const unlisted = known.filter((stored) => !listed.has(stored));
  return { found, unlisted: unlisted.map((stored): FoundRow => ({ ...none, stored })) };
}

function nameRow({ sheet, keyOf }: Sheet) {
  const [address] = SHEETS[sheet].keys;
  const column = cellsOf(sheet).find(({ name }) => name === address);
  return (row: SheetRow): NamedRow => {
    const { value } = row;
    const marks = parseMarks(row.asOf);
    const isAsShown =
      column !== undefined && hashText(readAs(column, value)) === marks(column.name);
    const isMarked = isAsShown || value.id === undefined;
    return { ...row, marks, isAsShown, origin: isMarked ? marks('key') : keyOf(value.id) };
  };
}

/**
 * Of several rows with one origin, the original is the one whose address is as it was exported. Each
 * other one is a new record.
 */
function separateCopies(
  sheet: SheetName,
  rows: readonly NamedRow[],
  { notes, problems }: Found,
): NamedRow[] {
  const originals = new Map<NamedRow, NamedRow>();
  for (const [origin, group] of Map.groupBy(rows, (row) => row.origin)) {
    const [shown, second] = group.filter(({ isAsShown }) => isAsShown);
    const original = shown ?? group[0];
    if (origin === undefined || original === undefined || group.length === 1) continue;
    for (const row of group) originals.set(row, original);
    // Two features may have one icon.
    if (sheet === 'features' || (shown !== undefined && second === undefined)) continue;
    const places = group.map(({ name }) => name.place).join(', ');
    const [path] = SHEETS[sheet].keys;
    const sentence = `is one of several rows with one hidden id (${places}): clear the hidden cells of each copy, and give it its own ${path}`;
    problems.push(...group.map(({ name: record }) => ({ record, path, sentence })));
  }
  return rows.map((row) => {
    const original = originals.get(row) ?? row;
    if (original === row) return row;
    notes.push(
      `${row.name.place} is a copy of ${original.name.place}: a new record with its own id`,
    );
    const { id, hid, ...cells } = row.value;
    const value = hid === original.value.hid ? cells : { ...cells, hid };
    return { ...row, value, marks: NO_MARKS, isAsShown: false, origin: undefined };
  });
}

/**
 * The rows claim their records in rounds, the surest way first, so that two rows never have one
 * record: a renamed home keeps its record, and a new home with its former slug gets none.
 */
function claimRecords({ sheet, known, slugs }: Sheet, rows: readonly NamedRow[]): FoundRow[] {
  const byKey = new Map(known.map((row) => [row.key, row]));
  const find = makeFinder(
    known.map((row) => {
      const { hid, slug, url: address } = row.record;
      return { hid, slug: slug ?? address, row };
    }),
  );
  const found = new Map<NamedRow, StoredRow>();
  const claimed = new Set<StoredRow>();
  const claim = (findStored: (row: NamedRow) => StoredRow | undefined) => {
    for (const row of rows) {
      const stored = found.has(row) ? undefined : findStored(row);
      if (stored === undefined || claimed.has(stored)) continue;
      found.set(row, stored);
      claimed.add(stored);
    }
  };
  const findFeature = (isSame: (record: Patch) => boolean) =>
    known.find((each) => !claimed.has(each) && isSame(each.record));
  const findMarked = ({ marks }: NamedRow) => byKey.get(marks('key') ?? '');
  if (sheet === 'features') {
    claim(({ value }) => findFeature((record) => showsAll(value, record)));
    claim(findMarked);
    claim(({ value }) => findFeature(({ icon_slug }) => icon_slug === value.icon_slug));
  } else {
    claim(({ value, isAsShown, origin = '' }) =>
      isAsShown || value.id !== undefined ? byKey.get(origin) : undefined,
    );
    claim(({ value }) => {
      const address = url.safeParse(value.url).data;
      const { id, hid, slug = address } = readKeys(value);
      return find(id === undefined ? { hid, slug } : { slug: address })?.row;
    });
    claim((row) => {
      // An amenity with another slug is another amenity.
      if (sheet === 'amenities') return undefined;
      const slug = row.value.id === undefined ? slugs?.get(`${row.value.slug}`) : undefined;
      return find({ slug })?.row ?? findMarked(row);
    });
  }
  return rows.map((row) => ({ ...row, sheet, stored: found.get(row), isUnlisted: false }));
}

function showsAll(cells: Patch, record: Patch): boolean {
  return cellsOf('features').every(
    (column) =>
      valueIn(cells, column) === undefined || readAs(column, cells) === readAs(column, record),
  );
}

/** Of the stored record, or of the one that the row would add. A feature has none. */
export function idOf({ sheet, stored, value }: FoundRow): unknown {
  const record = stored?.record ?? deriveId(value);
  return sheet === 'amenities' ? record.slug : record.id;
}
