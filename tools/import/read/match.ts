/**
 * Matches the rows of a workbook with the stored records: which record is this row, and which records
 * do its cells name? Nothing is compared or merged here. Pure.
 */

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
  hashText,
  type Marks,
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

export type Row = SheetRow & {
  sheet: SheetName;
  /** Undefined for a new record. */
  stored: StoredRow | undefined;
  /** What the cells of this record have shown. Without `stored`, it was removed since the export. */
  marks: Marks | undefined;
  /** Whether the sheet has no such row: its record stays as it is stored. */
  isUnlisted?: boolean;
};

/** A list of a listing as a whole: the rows of its sheet, and those of the stored entries. */
export type List = Row & { sheet: ListName; rows: Row[]; kept: Row[] };

/** A listing with the lists whose sheets are there. */
export type ListingRow = Row & { lists: List[] };

type Match = {
  sheets: Sheets;
  lineage: string;
  problems: ImportProblem[];
  /** The copies, for the report. */
  notes: string[];
};

export function matchSheets(sheets: Sheets, stored: Catalogue, exportId: string | undefined) {
  const { lineage, operations } = stored;
  const match: Match = { sheets, lineage, problems: [], notes: [] };
  const matchRecords = (sheet: 'locations' | 'amenities') => {
    const lastChange = findLastChange(stored, sheet);
    const known = stored[sheet].map((record) => rowOfRecord(sheet, record, lastChange));
    return matchRows(sheet, sheets[sheet] ?? [], known, match);
  };
  const [locations, amenities] = [matchRecords('locations'), matchRecords('amenities')];
  const known = [...stored.listings.values()].map(({ listing, operation }) =>
    rowOfListing(listing, operations.get(operation ?? '')),
  );
  const slugs = slugsOfToday(stored);
  const isOwnExport = exportId?.startsWith(lineage) ?? false;
  const rows = (sheets.listings ?? []).map((row) => {
    // A row of an export without its id may have a former slug.
    const slug = slugs.get(`${row.value.slug}`);
    const isOlder = isOwnExport && row.value.id === undefined && slug !== undefined;
    return isOlder ? { ...row, value: { ...row.value, slug } } : row;
  });
  const listings = nameLocations(matchRows('listings', rows, known, match), locations);
  return { ...match, locations, amenities, listings: matchLists(listings, slugs, match) };
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

/**
 * Finds the record of each row: by its id, else its `hid`, its address, or its mark. A stored record
 * without a row gets one without cells.
 */
function matchRows(
  sheet: SheetName,
  rows: readonly SheetRow[],
  known: readonly StoredRow[],
  { lineage, notes }: Match,
): Row[] {
  const byKey = new Map(known.map((row) => [row.key, row]));
  const find = makeFinder(
    known.map((row) => {
      const { id, hid, slug, url: address } = row.record;
      return { id, hid, slug: slug ?? address, row };
    }),
  );
  const ids = new Set<unknown>(rows.flatMap(({ value }) => value.id ?? []));
  const matched = rows.map((row): Row => {
    const { id, hid, slug } = readKeys(row.value);
    const named = find({ id, hid, slug }) ?? find({ slug: url.safeParse(row.value.url).data });
    const marks = parseMarks(row.asOf, lineage);
    const marked = byKey.get(marks?.('key') ?? '');
    let stored = named?.row;
    // An amenity with another slug is another amenity.
    if (sheet !== 'amenities') stored ??= marked;
    if (sheet === 'features') stored ??= findFeature(row, known);
    // A new home may have the slug that a home had before whose row has the id.
    if (id === undefined && ids.has(stored?.record.id)) stored = undefined;
    // Another row's marks may have been copied or filled down.
    return { ...row, sheet, stored, marks: stored === marked ? marks : undefined };
  });
  const found = new Set(matched.map(({ stored }) => stored));
  const unlisted = known.flatMap((stored): Row[] => {
    const none = { sheet, name: THE_FILE, value: {}, asOf: undefined, marks: undefined };
    return found.has(stored) ? [] : [{ ...none, stored, isUnlisted: true }];
  });
  return [...separateCopies(matched, notes), ...unlisted];
}

/**
 * Several rows may have one record, because an editor has copied one of them. The original is the one
 * that still has the stored address, and each other one is a new record. If that is not clear, they
 * stay as they are: to repeat a record is a problem.
 */
function separateCopies(rows: readonly Row[], notes: string[]): Row[] {
  const unmoved = rows.filter(({ sheet, value, stored }) => {
    const [address] = SHEETS[sheet].keys;
    return value[address] === stored?.record[address];
  });
  const originals = Map.groupBy(unmoved, ({ stored }) => stored);
  return rows.map((row) => {
    const [original, ...others] = (row.stored && originals.get(row.stored)) ?? [];
    if (original === undefined || original === row || others.length > 0) return row;
    const [copied, place] = [row.name.place, original.name.place];
    notes.push(`${copied} is a copy of ${place}: a new record with its own id`);
    const { id, hid, ...cells } = row.value;
    const value = hid === original.value.hid ? cells : { ...cells, hid };
    return { ...row, value, stored: undefined, marks: undefined };
  });
}

/** A feature has no id: without marks, the cells or the icon tell which of the listing it is. */
function findFeature(row: SheetRow, known: readonly StoredRow[]) {
  const isShown = ({ record }: StoredRow) =>
    cellsOf('features').every(
      (column) =>
        valueIn(row.value, column) === undefined ||
        readAs(column, row.value) === readAs(column, record),
    );
  const { icon_slug } = row.value;
  return known.find(isShown) ?? known.find(({ record }) => record.icon_slug === icon_slug);
}

/**
 * Finds the row that a cell names by a slug: in the export if the cell is untouched, else in the
 * file, in the export or in the store.
 */
function makeReferenceFinder(rows: readonly Row[]) {
  const nameOf = ({ slug, id }: Patch) => slug ?? id;
  const inFile = new Map(rows.map((row) => [nameOf(row.value), row]));
  const inExport = new Map(rows.map((row) => [row.marks?.('slug'), row]));
  const inStore = new Map(rows.map((row) => [nameOf(row.stored?.record ?? {}), row]));
  return (name: unknown, base: string | undefined): Row | undefined => {
    if (typeof name !== 'string') return undefined;
    const mark = hashText(name);
    const exported = inExport.get(mark);
    return (
      (mark === base ? exported : undefined) ?? inFile.get(name) ?? exported ?? inStore.get(name)
    );
  };
}

/** Adds the id of the location that a listing names. The cell counts only if it is another one. */
function nameLocations(listings: readonly Row[], locations: readonly Row[]): Row[] {
  const find = makeReferenceFinder(locations);
  return listings.map((row) => {
    const { location, ...value } = row.value;
    const named = find(location, row.marks?.('location'));
    const id = named?.stored?.record.id ?? named?.value.id;
    const isSame = id !== undefined && id === row.stored?.record.location_id;
    return isSame ? { ...row, value } : { ...row, value: { ...row.value, location_id: id } };
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
    const base = parseMarks(asOf, match.lineage)?.('listing');
    const found = find(slug, base) ?? find(slugs.get(slug), undefined);
    if (found === undefined) {
      const unknown = { name: slug, known: [...slugs.keys()] };
      const sentence = 'must be the slug of a listing';
      match.problems.push({ record, path: 'listing', value: slug || undefined, sentence, unknown });
    }
    return found;
  };
  const groups = LIST_NAMES.map((sheet) => {
    const rows = match.sheets[sheet];
    return { sheet, byListing: rows && Map.groupBy(rows, findListing) };
  });
  return listings.flatMap((listing): ListingRow[] => {
    const lists = groups.flatMap(({ sheet, byListing }) => {
      const rows = byListing?.get(listing) ?? [];
      const isLeft = byListing === undefined || (listing.isUnlisted && rows.length === 0);
      return isLeft ? [] : [matchList(sheet, rows, listing, match)];
    });
    const [first] = lists;
    if (!listing.isUnlisted) return [{ ...listing, lists }];
    return first === undefined ? [] : [{ ...listing, name: first.name, lists }];
  });
}

function matchList(
  sheet: ListName,
  sheetRows: readonly SheetRow[],
  { stored, marks, name }: Row,
  match: Match,
): List {
  const entries = stored === undefined ? [] : rowsOfList(stored, sheet);
  const all = matchRows(sheet, sheetRows, entries, match);
  const rows = sortRows(
    all.filter((row) => !row.isUnlisted),
    LISTS[sheet].order,
  );
  const kept = entries.flatMap((entry) => all.find((row) => row.stored === entry) ?? []);
  const own = { sheet, name: rows[0]?.name ?? name, value: {}, asOf: undefined, stored };
  const ofRow = kept.find((row) => row.marks)?.marks;
  return { ...own, marks: marks ?? ofRow, rows, kept };
}

/** Sorts as a site does. */
function sortRows(rows: readonly Row[], order: string): Row[] {
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

/** Of the stored record, or of the one that the row would add. */
export function idOf({ stored, value }: Row): unknown {
  return stored === undefined ? deriveId(value).id : stored.record.id;
}
