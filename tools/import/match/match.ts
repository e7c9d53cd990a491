/**
 * Matches the rows of a workbook with stored records, and resolves the names in their cells:
 *
 *     sheet      cell                    refers to
 *     listings   location: bay           the row or the stored location with this slug
 *     photos     listing: casa-marea     the row of this listing, or the stored listing
 *     photos     listing: casa-old       the stored listing that had this slug before
 *
 * Nothing is compared or merged here.
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

/** A record of the workbook, with the lists of a listing whose sheets the workbook has. */
export type MatchedRecord = {
  /** The row of a record that its sheet does not name has no cells. */
  row: Row;
  /** Location in the report, which is the first row of a list if the record has no row. */
  location: FileLocation;
  lists: readonly List[];
};

/** A list of a listing. Its rows have some values together, such as their order. */
export type List = {
  sheet: ListName;
  /** The row of its listing. */
  listing: Row;
  location: FileLocation;
  history: History;
  /** The rows of the workbook, in the order in which a site shows them. */
  rows: readonly Row[];
  /** The rows of the stored entries, whether or not the workbook has them. */
  storedRows: readonly Row[];
};

type Match = {
  sheets: Sheets;
  buildRow: ReturnType<typeof makeRowBuilder>;
  problems: ImportProblem[];
  /** Remarks about copied rows, for the report. */
  notes: string[];
};

/**
 * Returns the records that the workbook names. A listing that only the sheets of its lists name is one
 * of them.
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
    /** The rows of stored records that their sheets do not name, if the workbook has the sheets. */
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

/** Maps the current and the previous slugs of stored listings to the current ones. */
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
 * Returns a function that finds the row that a cell names by its slug. An unedited cell means the row
 * that had the slug in the export, even if that row has been renamed. An edited cell means the row that
 * has the slug in the file, otherwise in the export, otherwise in the store.
 */
function makeReferenceFinder(rows: readonly Row[]) {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const hashName = ({ slug, id }: Fields) => hashText(`${slug ?? id ?? ''}`);
  const exportedEntries = rows.flatMap(({ mark }) => {
    const row = byKey.get(mark?.key ?? '');
    return row === undefined ? [] : [[mark?.get('slug'), row] as const];
  });
  const byExportedSlug = new Map(exportedEntries);
  // Later entries replace earlier ones.
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

/** Adds the id of the location that a listing names. */
function resolveLocations(listings: readonly Row[], locations: readonly Row[]): Row[] {
  const find = makeReferenceFinder(locations);
  return listings.map((row) => {
    const location = find(row.cells.location, row.mark?.get('location'));
    const location_id = location?.stored?.record.id ?? location?.cells.id;
    return { ...row, cells: { ...row.cells, location_id } };
  });
}

/** Adds the rows of `photos`, `videos` and `features` to their listings. */
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
  const buildRow = (row: AssignedRow, key = '') => match.buildRow(row, key, recordKey, baseEntries);
  const rows = sortedRows.map((row, index) => buildRow(row, keys[index]));
  const absentRows = assigned.absentRows.map((row) => buildRow(row, row.stored?.key));
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

/** Returns the keys of a list's rows. A feature keeps the key of its stored record or its mark. */
function makeRowKeys(sheet: ListName, listing: Row, rows: readonly AssignedRow[]): string[] {
  const entries = rows.map((row) => ({ ...row.cells, id: getId(row) }));
  const isFeature = sheet === 'features';
  const keptKeys = isFeature ? rows.map(({ stored, mark }) => stored?.key ?? mark?.key) : [];
  return makeEntryKeys(sheet, getId(listing), entries, keptKeys);
}

/** Sorts rows as a site does. A row without a number follows the row above it. */
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
