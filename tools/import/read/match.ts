/**
 * Matches the rows of a workbook with the stored records: which record is this row, and which records
 * do its cells name? Nothing is compared or merged here. Pure.
 */

import type { Operation } from '../../database/operations.ts';
import { readAs } from './cells.ts';
import {
  cellsOf,
  LIST_NAMES,
  LISTS,
  type ListName,
  SHEETS,
  type SheetName,
  valueIn,
} from './columns.ts';
import { url } from './listing-schemas.ts';
import {
  compareEntries,
  hashDatabase,
  hashText,
  keysOfList,
  type Marks,
  parseEntries,
  parseMarks,
  rowOfListing,
  rowOfRecord,
  rowsOfList,
  type StoredRow,
} from './marks.ts';
import { type ImportProblem, THE_FILE } from './problem.ts';
import { deriveId, makeFinder, type Patch, readKeys } from './records.ts';
import { type Catalogue, findLastChange } from './store.ts';
import type { SheetRow, Sheets } from './types.ts';

/** What the last import of a person has said of a row. */
type Statement = { who: string; marks: Marks; operation: Operation | undefined };

type FoundRow = SheetRow & {
  sheet: SheetName;
  /** Undefined for a new record. */
  stored: StoredRow | undefined;
  /** Whether the sheet has no such row: its record stays as it is stored. */
  isUnlisted?: boolean;
};

export type Row = FoundRow & {
  /** Identifies the row in its sheet, or in its list. */
  key: string;
  /** What the export has shown in this row, of whatever database. */
  shown: Marks | undefined;
  /** What this person's last import of the export has said, else what the export has shown. */
  base: Marks | undefined;
  /** What other people's imports of the export have said. */
  others: readonly Statement[];
  /** Whether the record was removed from the store since it was exported or imported. */
  isRemoved: boolean;
};

/** A list of a listing as a whole: the rows of its sheet, and those of the stored entries. */
export type List = Row & { sheet: ListName; rows: Row[]; kept: Row[] };

/** A listing with the lists whose sheets are there. */
export type ListingRow = Row & { lists: List[] };

export type MergeOptions = {
  /** Undefined for a workbook that was not exported. */
  exportKey: string | undefined;
  who: string;
  overwrite: boolean;
};

type Match = MergeOptions & {
  sheets: Sheets;
  database: string;
  /** Returns what imports of the export have said of a row of a record. */
  recall: (record: string, key: string) => Statement[];
  problems: ImportProblem[];
  /** The copies, for the report. */
  notes: string[];
};

export function matchSheets(sheets: Sheets, stored: Catalogue, options: MergeOptions) {
  const { operations } = stored;
  const [database, recall] = [hashDatabase(stored), makeMemory(stored)];
  const match: Match = { ...options, sheets, database, recall, problems: [], notes: [] };
  const matchRecords = (sheet: 'locations' | 'amenities') => {
    const lastChange = findLastChange(stored, sheet);
    const known = stored[sheet].map((record) => rowOfRecord(sheet, record, lastChange));
    return matchSheet(sheet, known, match);
  };
  const [locations, amenities] = [matchRecords('locations'), matchRecords('amenities')];
  const known = [...stored.listings.values()].map(({ listing, operation }) =>
    rowOfListing(listing, operations.get(operation ?? '')),
  );
  const slugs = slugsOfToday(stored);
  const listings = nameLocations(matchSheet('listings', known, match, slugs), locations);
  return { ...match, locations, amenities, listings: matchLists(listings, slugs, match) };
}

function makeMemory({ importedRows, operations }: Catalogue): Match['recall'] {
  const split = importedRows.map(({ marks, ...each }) => ({ ...each, rows: marks.split('\n') }));
  const records = Map.groupBy(split, ({ record }) => record);
  return (record, key) =>
    (records.get(record) ?? []).flatMap(({ who, operation, rows }) => {
      const marks = parseMarks(rows.find((row) => row.includes(` key:${key} `)));
      return marks === undefined ? [] : [{ who, marks, operation: operations.get(operation) }];
    });
}

/** The slugs of the stored listings by themselves, and by the former ones that no listing has now. */
function slugsOfToday({ listings }: Catalogue): Map<string, string> {
  const slugs = new Map<string, string>();
  for (const { slug, former_slugs } of listings.values()) {
    for (const former of JSON.parse(former_slugs)) slugs.set(former, slug);
  }
  for (const { slug } of listings.values()) slugs.set(slug, slug);
  return slugs;
}

function matchSheet(
  sheet: 'listings' | 'locations' | 'amenities',
  known: readonly StoredRow[],
  match: Match,
  slugs?: ReadonlyMap<string, string>,
): Row[] {
  const keyOf = (id: unknown) => hashText(`${id}`);
  const rows = separateCopies(sheet, match.sheets[sheet] ?? [], keyOf, match);
  // A sheet of one's own may have a new home with the former slug of another one.
  const found = findRecords(sheet, rows, known, match.exportKey === undefined ? undefined : slugs);
  const all = [...found, ...unlisted(sheet, known, found)];
  return all.map((row) => addBase(row, keyOf(idOf(row)), nameRecord(row), match));
}

/** A stored record without a row gets one without cells. */
function unlisted(
  sheet: SheetName,
  known: readonly StoredRow[],
  found: readonly FoundRow[],
): FoundRow[] {
  const none = { sheet, name: THE_FILE, value: {}, asOf: undefined, isUnlisted: true };
  const listed = new Set(found.map(({ stored }) => stored));
  return known.flatMap((stored) => (listed.has(stored) ? [] : [{ ...none, stored }]));
}

/**
 * Several rows may have one id, or one mark, because an editor has copied one of them. The original
 * is the one whose address is as in its mark, and each other one is a new record.
 */
function separateCopies(
  sheet: SheetName,
  rows: readonly SheetRow[],
  keyOf: (id: unknown) => string,
  { notes, problems }: Match,
): SheetRow[] {
  const groups = Map.groupBy(rows, (row) => {
    const { id } = row.value;
    const isMarked = id === undefined || isAddressShown(sheet, row);
    return isMarked ? parseMarks(row.asOf)?.('key') : keyOf(id);
  });
  const originals = new Map<SheetRow, SheetRow>();
  for (const [key, group] of groups) {
    const [first] = group;
    if (key === undefined || first === undefined || group.length === 1) continue;
    const shown = group.filter((row) => isAddressShown(sheet, row));
    for (const row of group) originals.set(row, shown[0] ?? first);
    // Two features may have one icon.
    if (sheet === 'features' || shown.length === 1) continue;
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
    return { ...row, value, asOf: undefined };
  });
}

function isAddressShown(sheet: SheetName, { value, asOf }: SheetRow): boolean {
  const [address] = SHEETS[sheet].keys;
  const column = cellsOf(sheet).find(({ name }) => name === address);
  return column !== undefined && hashText(readAs(column, value)) === parseMarks(asOf)?.(address);
}

/**
 * Finds the record of each row: by its mark, if its address is as it was; else by its id; else by its `hid`, its address, or all cells of a feature;
 * else by a former slug, its mark or its icon. Two rows never have one record.
 */
function findRecords(
  sheet: SheetName,
  rows: readonly SheetRow[],
  known: readonly StoredRow[],
  slugs?: ReadonlyMap<string, string>,
): FoundRow[] {
  const byKey = new Map(known.map((row) => [row.key, row]));
  const find = makeFinder(
    known.map((row) => {
      const { id, hid, slug, url: address } = row.record;
      return { id, hid, slug: slug ?? address, row };
    }),
  );
  const found = new Map<SheetRow, StoredRow>();
  const claimed = new Set<StoredRow>();
  const look = (findStored: (row: SheetRow) => StoredRow | undefined) => {
    for (const row of rows) {
      const stored = found.has(row) ? undefined : findStored(row);
      if (stored === undefined || claimed.has(stored)) continue;
      found.set(row, stored);
      claimed.add(stored);
    }
  };
  const findFeature = (isSame: (record: Patch) => boolean) =>
    known.find((each) => !claimed.has(each) && isSame(each.record));
  look((row) => {
    const isMarked = sheet !== 'features' && isAddressShown(sheet, row);
    return isMarked ? byKey.get(parseMarks(row.asOf)?.('key') ?? '') : undefined;
  });
  look(({ value }) => find({ id: readKeys(value).id ?? '' })?.row);
  look(({ value }) => {
    if (sheet === 'features') return findFeature((record) => isShown(value, record));
    const { id, hid, slug } = readKeys(value);
    const address = url.safeParse(value.url).data;
    const named = id === undefined ? find({ hid, slug }) : undefined;
    return (named ?? find({ slug: address }))?.row;
  });
  look(({ value, asOf }) => {
    // An amenity with another slug is another amenity.
    if (sheet === 'amenities') return undefined;
    const slug = value.id === undefined ? slugs?.get(`${value.slug}`) : undefined;
    return find({ slug })?.row ?? byKey.get(parseMarks(asOf)?.('key') ?? '');
  });
  if (sheet === 'features') {
    look(({ value }) => findFeature(({ icon_slug }) => icon_slug === value.icon_slug));
  }
  return rows.map((row) => ({ ...row, sheet, stored: found.get(row) }));
}

function isShown(cells: Patch, record: Patch): boolean {
  return cellsOf('features').every(
    (column) =>
      valueIn(cells, column) === undefined || readAs(column, cells) === readAs(column, record),
  );
}

/**
 * Adds what was shown and said of a row before. `record` is the name of what imports recorded, and
 * `entries` are those of its list: this person may have removed the row since it was shown.
 */
function addBase(
  row: FoundRow,
  key: string,
  record: string,
  match: Match,
  entries?: ReadonlyMap<string, string>,
): Row {
  const { sheet, stored, value } = row;
  const marks = parseMarks(row.asOf);
  // The marks of another row may have been sorted or filled down.
  const isKnown = value.id !== undefined || sheet === 'amenities';
  const ownKey = stored?.key ?? (isKnown ? key : marks?.('key'));
  const shown = marks?.('key') === ownKey ? marks : undefined;
  if (shown && value.id !== undefined && stored && value.id !== stored.record.id) {
    const sentence =
      'is a hidden id that was changed since the export: undo that, or clear the cell';
    match.problems.push({ record: row.name, path: 'id', value: value.id, sentence });
  }
  const statements = match.recall(record, key);
  const said = statements.find(({ who }) => who === match.who)?.marks;
  const others = statements.filter(({ who }) => who !== match.who);
  const isBase = shown?.('database') === match.database && (entries?.has(ownKey ?? '') ?? true);
  const here = isBase ? shown : undefined;
  const base = either(said, here);
  const wasThere = base !== undefined || (shown === undefined && others.length > 0);
  return {
    ...row,
    key,
    shown,
    base,
    others,
    isRemoved: stored === undefined && wasThere && !match.overwrite,
  };
}

function either(first: Marks | undefined, second: Marks | undefined): Marks | undefined {
  return first && second ? (name) => first(name) ?? second(name) : (first ?? second);
}

/**
 * Finds the row that a cell names by a slug: in the export if the cell is untouched, else in the
 * file, in the export or in the store.
 */
function makeReferenceFinder(rows: readonly Row[]) {
  const nameOf = ({ slug, id }: Patch) => slug ?? id;
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const inFile = new Map(rows.map((row) => [nameOf(row.value), row]));
  const inExport = new Map(
    rows.map(({ asOf }) => {
      const marks = parseMarks(asOf);
      return [marks?.('slug'), byKey.get(marks?.('key') ?? '')];
    }),
  );
  const inStore = new Map(rows.map((row) => [nameOf(row.stored?.record ?? {}), row]));
  return (name: unknown, asOf: unknown, column: string): Row | undefined => {
    if (typeof name !== 'string') return undefined;
    const mark = hashText(name);
    const exported = inExport.get(mark);
    const isUntouched = mark === parseMarks(asOf)?.(column);
    return (
      (isUntouched ? exported : undefined) ?? inFile.get(name) ?? exported ?? inStore.get(name)
    );
  };
}

/** Adds the id of the location that a listing names. The cell counts only if it is another one. */
function nameLocations(listings: readonly Row[], locations: readonly Row[]): Row[] {
  const find = makeReferenceFinder(locations);
  return listings.map((row) => {
    const named = find(row.value.location, row.asOf, 'location');
    const location_id = named?.stored?.record.id ?? named?.value.id;
    return { ...row, value: { ...row.value, location_id } };
  });
}

/** Adds the rows of `photos`, `videos` and `features` to those of their listings. */
function matchLists(
  listings: readonly Row[],
  slugs: ReadonlyMap<string, string>,
  match: Match,
): ListingRow[] {
  const find = makeReferenceFinder(listings);
  const findListing = ({ name: record, value: { listing }, asOf }: SheetRow) => {
    const slug = `${listing ?? ''}`;
    const found = find(slug, asOf, 'listing') ?? find(slugs.get(slug), undefined, 'listing');
    if (found === undefined) {
      const unknown = { name: slug, known: [...slugs.keys()] };
      const sentence = 'must be the slug of a listing';
      match.problems.push({ record, path: 'listing', value: slug || undefined, sentence, unknown });
    }
    return found;
  };
  const groups = LIST_NAMES.flatMap((sheet) => {
    const rows = match.sheets[sheet];
    return rows === undefined ? [] : [{ sheet, byListing: Map.groupBy(rows, findListing) }];
  });
  return listings.flatMap((listing): ListingRow[] => {
    const { isUnlisted } = listing;
    const lists = groups.flatMap(({ sheet, byListing }) => {
      const rows = byListing.get(listing) ?? [];
      return isUnlisted && rows.length === 0 ? [] : [matchList(sheet, rows, listing, match)];
    });
    const [first] = lists;
    if (!isUnlisted) return [{ ...listing, lists }];
    return first === undefined ? [] : [{ ...listing, name: first.name, lists }];
  });
}

function matchList(
  sheet: ListName,
  sheetRows: readonly SheetRow[],
  listing: Row,
  match: Match,
): List {
  const { stored, isUnlisted } = listing;
  const keysOf = (entries: readonly Patch[]) => keysOfList(sheet, idOf(listing), entries);
  const entries = stored === undefined ? [] : rowsOfList(stored, sheet);
  const separate = separateCopies(sheet, sheetRows, (id) => `${keysOf([{ id }])}`, match);
  const found = sortRows(findRecords(sheet, separate, entries), LISTS[sheet].order);
  const keys = keysOf(found.map((row) => ({ ...row.value, id: idOf(row) })));
  const before = parseEntries(listing.base?.(`${sheet}.rows`));
  const all = [...found, ...unlisted(sheet, entries, found)].map((row, at) =>
    addBase(row, keys[at] ?? row.stored?.key ?? '', nameRecord(listing), match, before),
  );
  const rows = all.slice(0, found.length);
  const kept = entries.flatMap((entry) => all.find((row) => row.stored === entry) ?? []);
  // Without the row of the listing, those of the entries know their order.
  const base = either(listing.base, rows.find((row) => row.base)?.base);
  const name = (isUnlisted && rows[0]?.name) || listing.name;
  return { ...listing, sheet, name, base, value: {}, rows, kept };
}

/** Sorts as a site does. */
function sortRows(rows: readonly FoundRow[], order: string): FoundRow[] {
  let place: Patch = {};
  const placed = rows.map((row) => {
    const number = row.value[order];
    const isNumbered = typeof number === 'number';
    // A row without number follows the row before it.
    place = isNumbered ? { [order]: number, id: idOf(row) } : { ...place, id: `${place.id}+` };
    return { row, place };
  });
  placed.sort((a, b) => compareEntries(order, a.place, b.place));
  return placed.map(({ row }) => row);
}

/** Of the stored record, or of the one that the row would add. A feature has none. */
export function idOf({ sheet, stored, value }: FoundRow): unknown {
  const record = stored?.record ?? deriveId(value);
  return sheet === 'amenities' ? record.slug : record.id;
}

/** e.g. `listings 38e41363-…`, `amenities wifi`: what an import records by. */
export function nameRecord(row: FoundRow): string {
  return `${row.sheet} ${idOf(row)}`;
}
