/**
 * Matches the rows of a workbook with the stored records: which record is this row, and which records
 * do its cells name? Nothing is compared or merged here. Pure.
 */

import { either, type List, type MergeOptions, makeBase, type Row } from './base.ts';
import { LIST_NAMES, LISTS, type ListName } from './columns.ts';
import { type FoundRow, findRecords, idOf } from './find-records.ts';
import {
  compareEntries,
  hashText,
  hasMarks,
  keysOfList,
  NO_MARKS,
  parseEntries,
  parseMarks,
  rowOfListing,
  rowOfRecord,
  rowsOfList,
  type StoredRow,
} from './marks.ts';
import type { ImportProblem } from './problem.ts';
import type { Patch } from './records.ts';
import type { Catalogue } from './store.ts';
import type { SheetRow, Sheets } from './types.ts';

type Match = {
  sheets: Sheets;
  addBase: ReturnType<typeof makeBase>;
  problems: ImportProblem[];
  /** The copies, for the report. */
  notes: string[];
};

/** The rows of locations, amenities and listings, and those of records that only lists name. */
export function matchSheets(sheets: Sheets, stored: Catalogue, options: MergeOptions) {
  const problems: ImportProblem[] = [];
  const match = { sheets, addBase: makeBase(stored, options, problems), problems, notes: [] };
  const matchRecords = (sheet: 'locations' | 'amenities') =>
    matchSheet(
      sheet,
      stored[sheet].map((record) => rowOfRecord(sheet, record)),
      match,
    );
  const [locations, amenities] = [matchRecords('locations'), matchRecords('amenities')];
  const homes = [...stored.listings.values()].map(({ listing }) => rowOfListing(listing));
  const slugs = slugsOfToday(stored);
  // A sheet of one's own may have a new home with the former slug of another one.
  const formerSlugs = options.exportKey === undefined ? undefined : slugs;
  const rows = nameLocations(matchSheet('listings', homes, match, formerSlugs), locations);
  const listings = matchLists(rows, slugs, match);
  const isListed = (row: Row) => !row.isUnlisted;
  return {
    ...match,
    locations: locations.filter(isListed),
    amenities: amenities.filter(isListed),
    listings,
  };
}

/** The slugs of the stored listings by themselves, and by the former ones: no two have one. */
function slugsOfToday({ listings }: Catalogue): Map<string, string> {
  const names = [...listings.values()].flatMap(({ slug, former_slugs }) => {
    const former: string[] = JSON.parse(former_slugs);
    return [...former, slug].map((name) => [name, slug] as const);
  });
  return new Map(names);
}

function matchSheet(
  sheet: 'listings' | 'locations' | 'amenities',
  known: readonly StoredRow[],
  match: Match,
  slugs?: ReadonlyMap<string, string>,
): Row[] {
  const rows = match.sheets[sheet] ?? [];
  const keyOf = (id: unknown) => hashText(`${id}`);
  const { found, unlisted } = findRecords({ sheet, rows, known, keyOf, slugs }, match);
  return [...found, ...unlisted].map((row) => {
    const id = idOf(row);
    return match.addBase(row, keyOf(id), `${sheet} ${id}`);
  });
}

/**
 * Finds the row that a cell names by a slug: in the export if the cell is untouched, else in the
 * file, in the export or in the store.
 */
function makeReferenceFinder(rows: readonly Row[]) {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const nameIn = ({ slug, id }: Patch) => hashText(`${slug ?? id ?? ''}`);
  const inExport = rows.flatMap(({ marks }) => {
    const row = byKey.get(marks('key') ?? '');
    return row === undefined ? [] : [[marks('slug'), row] as const];
  });
  const exported = new Map(inExport);
  // The last one of a name counts.
  const all = new Map([
    ...rows.map((row) => [nameIn(row.stored?.record ?? {}), row] as const),
    ...inExport,
    ...rows.map((row) => [nameIn(row.value), row] as const),
  ]);
  return (name: unknown, cell: string | undefined): Row | undefined => {
    if (typeof name !== 'string' || name === '') return undefined;
    const mark = hashText(name);
    return (mark === cell ? exported.get(mark) : undefined) ?? all.get(mark);
  };
}

/** Adds the id of the location that a listing names. The cell counts only if it is another one. */
function nameLocations(listings: readonly Row[], locations: readonly Row[]): Row[] {
  const find = makeReferenceFinder(locations);
  return listings.map((row) => {
    const named = find(row.value.location, row.marks('location'));
    const location_id = named?.stored?.record.id ?? named?.value.id;
    return { ...row, value: { ...row.value, location_id } };
  });
}

/** Adds the rows of `photos`, `videos` and `features` to those of their listings. */
function matchLists(
  listings: readonly Row[],
  slugs: ReadonlyMap<string, string>,
  match: Match,
): Row[] {
  const find = makeReferenceFinder(listings);
  const findListing = ({ name: record, value: { listing }, asOf }: SheetRow) => {
    const slug = `${listing ?? ''}`;
    const found = find(slug, parseMarks(asOf)('listing')) ?? find(slugs.get(slug), undefined);
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
  return listings.flatMap((listing) => {
    const { isUnlisted, isRemoved, name } = listing;
    const lists = groups.flatMap(({ sheet, byListing }) => {
      const rows = byListing.get(listing) ?? [];
      const isThere = !isRemoved && (!isUnlisted || rows.length > 0);
      return isThere ? [matchList(sheet, rows, listing, match)] : [];
    });
    const [first] = lists;
    if (isUnlisted && first === undefined) return [];
    return [{ ...listing, name: isUnlisted && first ? first.name : name, lists }];
  });
}

function matchList(
  sheet: ListName,
  sheetRows: readonly SheetRow[],
  listing: Row,
  match: Match,
): List {
  const { stored, isUnlisted, record } = listing;
  const keyOf = (id: unknown) => keysOfList(sheet, idOf(listing), [{ id }])[0];
  const known = stored === undefined ? [] : rowsOfList(stored, sheet);
  const { found, unlisted } = findRecords({ sheet, rows: sheetRows, known, keyOf }, match);
  const sorted = sortRows(found, LISTS[sheet].order);
  const entered = sorted.map((row) => ({ ...row.value, id: idOf(row) }));
  const exported = sheet === 'features' ? sorted.map(({ marks }) => marks('key')) : [];
  const keys = keysOfList(sheet, idOf(listing), entered, exported);
  const entries = parseEntries(listing.base(`${sheet}.rows`));
  const addBase = (row: FoundRow, key = '') => match.addBase(row, key, record, entries);
  const rows = sorted.map((row, at) => addBase(row, keys[at]));
  const all = [...rows, ...unlisted.map((row) => addBase(row, row.stored?.key))];
  const kept = known.flatMap((entry) => all.find((row) => row.stored === entry) ?? []);
  // Without the row of the listing, those of the entries know their order.
  const shown = rows.find((row) => hasMarks(row.base))?.base ?? NO_MARKS;
  const base = either(listing.base, shown);
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
