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

import type { Patch } from '../catalogue/records.ts';
import type { Catalogue } from '../catalogue/store.ts';
import { LIST_NAMES, LISTS, type ListName } from '../read/columns.ts';
import {
  compareEntries,
  hashText,
  makeEntryKeys,
  parseEntryHashes,
  RowMark,
  type StoredRow,
  toListingRow,
  toListRows,
  toRecordRow,
} from '../read/marks.ts';
import type { ImportProblem } from '../read/problem.ts';
import type { SheetRow, Sheets } from '../read/workbook.ts';
import { type FoundRow, findRecords, getId } from './assign.ts';
import { getBaseHash, type List, type MergeOptions, makeRowBuilder, type Row } from './history.ts';

type Match = {
  sheets: Sheets;
  buildRow: ReturnType<typeof makeRowBuilder>;
  problems: ImportProblem[];
  /** Remarks about copied rows, for the report. */
  notes: string[];
};

/**
 * Returns the rows of locations and amenities, and those of listings, including listings that only
 * the sheets of photos, videos and features name.
 */
export function matchSheets(sheets: Sheets, stored: Catalogue, options: MergeOptions) {
  const match: Match = {
    sheets,
    buildRow: makeRowBuilder(stored, options),
    problems: [],
    notes: [],
  };
  const matchRecords = (sheet: 'locations' | 'amenities') =>
    matchSheet(
      sheet,
      stored[sheet].map((record) => toRecordRow(sheet, record)),
      match,
    );
  const [locations, amenities] = [matchRecords('locations'), matchRecords('amenities')];
  const storedListings = [...stored.listings.values()].map(({ listing }) => toListingRow(listing));
  const currentSlugs = mapCurrentSlugs(stored);
  // In a workbook that was not exported, a new listing may reuse the previous slug of another one.
  const previousSlugs = options.exportKey === undefined ? undefined : currentSlugs;
  const rows = matchSheet('listings', storedListings, match, previousSlugs);
  const listings = matchLists(resolveLocations(rows, locations), currentSlugs, match);
  const hasRow = (row: Row) => !row.isAbsent;
  return {
    ...match,
    locations: locations.filter(hasRow),
    amenities: amenities.filter(hasRow),
    listings,
  };
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
  sheet: 'listings' | 'locations' | 'amenities',
  storedRows: readonly StoredRow[],
  match: Match,
  currentSlugs?: ReadonlyMap<string, string>,
): Row[] {
  const rows = match.sheets[sheet] ?? [];
  const makeKey = (id: unknown) => hashText(`${id}`);
  const { found, absent } = findRecords({ sheet, rows, storedRows, makeKey, currentSlugs }, match);
  return [...found, ...absent].map((row) => {
    const id = getId(row);
    return match.buildRow(row, makeKey(id), `${sheet} ${id}`);
  });
}

/**
 * Returns a function that finds the row that a cell names by its slug. An unedited cell means the row
 * that had the slug in the export, even if that row has been renamed. An edited cell means the row that
 * has the slug in the file, otherwise in the export, otherwise in the store.
 */
function makeReferenceFinder(rows: readonly Row[]) {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const hashName = ({ slug, id }: Patch) => hashText(`${slug ?? id ?? ''}`);
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
): Row[] {
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
  return listings.flatMap((listing) => {
    const { isAbsent, isRemoved, location } = listing;
    const lists = groups.flatMap(({ sheet, byListing }) => {
      const rows = byListing.get(listing) ?? [];
      const isNamed = !isRemoved && (!isAbsent || rows.length > 0);
      return isNamed ? [matchList(sheet, rows, listing, match)] : [];
    });
    const [firstList] = lists;
    if (isAbsent && firstList === undefined) return [];
    return [{ ...listing, location: isAbsent && firstList ? firstList.location : location, lists }];
  });
}

function matchList(
  sheet: ListName,
  sheetRows: readonly SheetRow[],
  listing: Row,
  match: Match,
): List {
  const { stored, isAbsent, recordKey, history } = listing;
  const makeKey = (id: unknown) => makeEntryKeys(sheet, getId(listing), [{ id }])[0];
  const storedEntries = stored === undefined ? [] : toListRows(stored, sheet);
  const entries = { sheet, rows: sheetRows, storedRows: storedEntries, makeKey };
  const { found, absent } = findRecords(entries, match);
  const sorted = sortRows(found, LISTS[sheet].order);
  const keys = findEntryKeys(sheet, listing, sorted);
  const baseEntries = parseEntryHashes(getBaseHash(history, `${sheet}.rows`));
  const buildRow = (row: FoundRow, key = '') => match.buildRow(row, key, recordKey, baseEntries);
  const rows = sorted.map((row, index) => buildRow(row, keys[index]));
  const allRows = [...rows, ...absent.map((row) => buildRow(row, row.stored?.key))];
  const storedRows = storedEntries.flatMap((entry) => {
    return allRows.find((row) => row.stored === entry) ?? [];
  });
  // The marks of entries know the exported order too, if the row of their listing is missing.
  const entryBase = rows.find((row) => row.history.base.length > 0)?.history.base ?? [];
  return {
    sheet,
    location: (isAbsent && rows[0]?.location) || listing.location,
    stored,
    recordKey,
    history: { ...history, base: [...history.base, ...entryBase] },
    rows,
    storedRows,
  };
}

function findEntryKeys(sheet: ListName, listing: Row, rows: readonly FoundRow[]): string[] {
  const entries = rows.map((row) => ({ ...row.cells, id: getId(row) }));
  const exportedKeys = sheet === 'features' ? rows.map(({ mark }) => mark?.key) : [];
  return makeEntryKeys(sheet, getId(listing), entries, exportedKeys);
}

/** Sorts rows as a site does. A row without a number follows the row above it. */
function sortRows(rows: readonly FoundRow[], order: string): FoundRow[] {
  let sortKey: Patch = {};
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
