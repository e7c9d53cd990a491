/**
 * Matches the rows of a workbook with stored records, and resolves the names in their cells:
 *
 *     sheet      cell                    refers to
 *     listings   location: bay           the row or the stored location with this slug
 *     photos     listing: casa-marea     the row of this listing, or the stored listing
 *     photos     listing: casa-old       the stored listing that had this slug before
 *
 * The values of the rows are compared in merge/.
 */

import type { Fields } from '../catalogue/records.ts';
import type { Catalogue } from '../catalogue/store.ts';
import { LIST_NAMES, LISTS, type ListName } from '../read/columns.ts';
import { hashText, parseEntryHashes, RowMark } from '../read/marks.ts';
import type { FileLocation, ImportProblem } from '../read/problem.ts';
import type { SheetRow, Sheets } from '../read/workbook.ts';
import { type AssignedRow, assignRecords, getId } from './assign.ts';
import {
  getBaseHash,
  type History,
  type MergeOptions,
  makeRowBuilder,
  type Row,
} from './history.ts';
import {
  compareEntries,
  makeEntryKeys,
  type StoredRow,
  toListingRow,
  toListRows,
  toRecordRow,
} from './stored-rows.ts';

export type MatchedRecord = {
  /** The row of the record. It has no cells if only the sheets of its lists name the record. */
  row: Row;
  /** The location of the row, or of the first row in the lists if the record has no row. */
  location: FileLocation;
  /** The lists of a listing whose sheets the workbook has; empty for a location or an amenity. */
  lists: readonly List[];
};

/**
 * The photos, videos or features of one listing. Their order and the hero photo are values of the
 * list.
 */
export type List = {
  sheet: ListName;
  listing: Row;
  location: FileLocation;
  /** The history of the listing's row, which contains the exported order. */
  history: History;
  /** The workbook's rows, in the order in which a site shows them. */
  rows: readonly Row[];
  /** A row for each stored entry. It has no cells if the workbook does not have the entry. */
  storedRows: readonly Row[];
};

/** The input and the report that the functions of this file share. */
type Match = {
  sheets: Sheets;
  buildRow: ReturnType<typeof makeRowBuilder>;
  problems: ImportProblem[];
  /** Remarks about copied rows. */
  notes: string[];
};

/**
 * Returns the records that the workbook names, including listings that are named only in the sheets
 * of their lists.
 */
export function matchSheets(sheets: Sheets, catalogue: Catalogue, options: MergeOptions) {
  const buildRow = makeRowBuilder(catalogue, options);
  const match: Match = { sheets, buildRow, problems: [], notes: [] };
  const locationRows = catalogue.locations.map((record) => toRecordRow('locations', record));
  const amenityRows = catalogue.amenities.map((record) => toRecordRow('amenities', record));
  const listingRows = [...catalogue.listings.values()].map(({ listing }) => toListingRow(listing));
  const locations = matchSheet('locations', locationRows, match);
  const amenities = matchSheet('amenities', amenityRows, match);
  const currentSlugs = mapCurrentSlugs(catalogue);
  // In a workbook that was not exported, a new listing may reuse the previous slug of another one.
  const previousSlugs = options.exportKey === undefined ? undefined : currentSlugs;
  const rows = matchSheet('listings', listingRows, match, previousSlugs);
  return {
    locations: locations.filter(isInFile).map(toRecord),
    amenities: amenities.filter(isInFile).map(toRecord),
    listings: matchLists(resolveLocations(rows, locations), currentSlugs, match),
    /** Rows of stored records that are missing from a sheet of the workbook. */
    absentRows: [...locations, ...amenities, ...rows].filter(
      (row) => !isInFile(row) && sheets[row.sheet] !== undefined,
    ),
    problems: match.problems,
    notes: match.notes,
  };
}

function isInFile({ isAbsent }: Row): boolean {
  return !isAbsent;
}

function toRecord(row: Row): MatchedRecord {
  return { row, location: row.location, lists: [] };
}

/** Returns the current slug of each stored listing by its current and its previous slugs. */
function mapCurrentSlugs({ listings }: Catalogue): Map<string, string> {
  const entries = [...listings.values()].flatMap(({ slug, former_slugs }) => {
    const previousSlugs: string[] = JSON.parse(former_slugs);
    return [...previousSlugs, slug].map((name) => [name, slug] as const);
  });
  return new Map(entries);
}

function matchSheet(
  name: 'listings' | 'locations' | 'amenities',
  storedRows: readonly StoredRow[],
  match: Match,
  currentSlugs?: ReadonlyMap<string, string>,
): Row[] {
  const makeKey = (id: unknown) => hashText(`${id}`);
  const sheet = { name, rows: match.sheets[name] ?? [], storedRows, makeKey, currentSlugs };
  const { rows, absentRows } = assignRecords(sheet, match);
  return [...rows, ...absentRows].map((row) => {
    const id = getId(row);
    return match.buildRow(row, makeKey(id), `${name} ${id}`);
  });
}

/**
 * Returns a function that finds the row that a cell names by its slug. An unedited cell refers to the
 * row that had the slug in the export, even if that row has been renamed. An edited cell refers to the
 * row with this slug in the file, otherwise in the export, otherwise in the store.
 */
function makeReferenceFinder(rows: readonly Row[]) {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const hashName = ({ slug, id }: Fields) => hashText(`${slug ?? id ?? ''}`);
  const exportedEntries = rows.flatMap(({ mark }) => {
    const row = byKey.get(mark?.key ?? '');
    return row === undefined ? [] : [[mark?.get('slug'), row] as const];
  });
  const byExportedSlug = new Map(exportedEntries);
  // Later entries of the list replace earlier ones.
  const byName = new Map([
    ...rows.map((row) => [hashName(row.stored?.record ?? {}), row] as const),
    ...exportedEntries,
    ...rows.map((row) => [hashName(row.cells), row] as const),
  ]);
  return (name: unknown, exportedHash: string | undefined): Row | undefined => {
    if (typeof name !== 'string' || name === '') return undefined;
    const hash = hashText(name);
    return (hash === exportedHash ? byExportedSlug.get(hash) : undefined) ?? byName.get(hash);
  };
}

/** Adds the id of the location that each listing names. */
function resolveLocations(listings: readonly Row[], locations: readonly Row[]): Row[] {
  const find = makeReferenceFinder(locations);
  return listings.map((row) => {
    const location = find(row.cells.location, row.mark?.get('location'));
    const location_id = location?.stored?.record.id ?? location?.cells.id;
    return { ...row, cells: { ...row.cells, location_id } };
  });
}

/**
 * Finds the listing of each row of `photos`, `videos` and `features`. Returns the listings with
 * their lists.
 */
function matchLists(
  listings: readonly Row[],
  currentSlugs: ReadonlyMap<string, string>,
  match: Match,
): MatchedRecord[] {
  const find = makeReferenceFinder(listings);
  const findListing = ({ location, cells: { listing }, markCell }: SheetRow) => {
    const slug = `${listing ?? ''}`;
    const exportedHash = RowMark.parse(markCell)?.get('listing');
    const row = find(slug, exportedHash) ?? find(currentSlugs.get(slug), undefined);
    if (row === undefined) {
      const unknown = { name: slug, knownNames: [...currentSlugs.keys()] };
      const message = 'must be the slug of a listing';
      match.problems.push({
        location,
        path: 'listing',
        value: slug || undefined,
        message,
        unknown,
      });
    }
    return row;
  };
  const groups = LIST_NAMES.flatMap((sheet) => {
    const rows = match.sheets[sheet];
    return rows === undefined ? [] : [{ sheet, byListing: Map.groupBy(rows, findListing) }];
  });
  return listings.flatMap((listing): MatchedRecord[] => {
    const { isAbsent, isRemoved, location } = listing;
    const lists = groups.flatMap(({ sheet, byListing }) => {
      const rows = byListing.get(listing) ?? [];
      const isNamed = !isRemoved && (!isAbsent || rows.length > 0);
      return isNamed ? [matchList(sheet, rows, listing, match)] : [];
    });
    const [firstList] = lists;
    if (!isAbsent) return [{ row: listing, location, lists }];
    return firstList === undefined ? [] : [{ row: listing, location: firstList.location, lists }];
  });
}

function matchList(
  sheet: ListName,
  sheetRows: readonly SheetRow[],
  listing: Row,
  match: Match,
): List {
  const { stored, isAbsent, recordKey, history } = listing;
  const baseEntries = parseEntryHashes(getBaseHash(history, `${sheet}.rows`));
  const storedEntries = stored === undefined ? [] : toListRows(stored, sheet, baseEntries);
  const makeKey = (id: unknown) => makeEntryKeys(sheet, getId(listing), [{ id }])[0];
  const entries = { name: sheet, rows: sheetRows, storedRows: storedEntries, makeKey };
  const assigned = assignRecords(entries, match);
  const sortedRows = sortRows(assigned.rows, LISTS[sheet].order);
  const keys = makeRowKeys(sheet, listing, sortedRows);
  const buildEntry = (row: AssignedRow, key = '') =>
    match.buildRow(row, key, recordKey, baseEntries);
  const rows = sortedRows.map((row, index) => buildEntry(row, keys[index]));
  const absentRows = assigned.absentRows.map((row) => buildEntry(row, row.stored?.key));
  const rowsByRecord = new Map([...rows, ...absentRows].map((row) => [row.stored, row]));
  // If the row of the listing is missing, the marks of the entries still contain the exported order.
  const entryBase = rows.find((row) => row.history.base.length > 0)?.history.base ?? [];
  return {
    sheet,
    listing,
    location: (isAbsent && rows[0]?.location) || listing.location,
    history: { ...history, base: [...history.base, ...entryBase] },
    rows,
    storedRows: storedEntries.flatMap((entry) => rowsByRecord.get(entry) ?? []),
  };
}

/** Returns the keys of a list's rows. A feature keeps the key of its stored record or of its mark. */
function makeRowKeys(sheet: ListName, listing: Row, rows: readonly AssignedRow[]): string[] {
  const entries = rows.map((row) => ({ ...row.cells, id: getId(row) }));
  const isFeature = sheet === 'features';
  const keptKeys = isFeature ? rows.map(({ stored, mark }) => stored?.key ?? mark?.key) : [];
  return makeEntryKeys(sheet, getId(listing), entries, keptKeys);
}

/** Sorts rows by number, as a site does. A row without a number follows the row above it. */
function sortRows(rows: readonly AssignedRow[], order: string): AssignedRow[] {
  let sortKey: Fields = {};
  const keyedRows = rows.map((row) => {
    const number = row.cells[order];
    // `+` sorts after the id of the row above, and before any other id.
    sortKey =
      typeof number === 'number'
        ? { [order]: number, id: getId(row) }
        : { ...sortKey, id: `${sortKey.id}+` };
    return { row, sortKey };
  });
  keyedRows.sort((a, b) => compareEntries(order, a.sortKey, b.sortKey));
  return keyedRows.map(({ row }) => row);
}
