/**
 * Joins the sheets of a workbook into patches of the stored records. A patch has only what an editor
 * has touched. Pure.
 */

import type { Amenity, Location } from '../../../src/properties/source.ts';
import { uuid } from '../../../src/schema.ts';
import { LIST_NAMES, SHEETS } from './columns.ts';
import { type FoundRow, findRows, type StoredRow } from './found-rows.ts';
import { type Join, type JoinedListing, joinList, REMOVED } from './join-list.ts';
import { hashCell, hashId, isMarked, parseMarks } from './marks.ts';
import { distinct, formatName, type RecordName } from './problem.ts';
import { makeFinder, type Patch, readKeys } from './records.ts';
import { showListing, showRecord } from './shown.ts';
import { type Catalogue, findLastChange, sourcesOf } from './store.ts';
import { differsFromMarks, trackTouches } from './touched.ts';
import type { ListingsFile, RawRecord, SheetRow, Sheets } from './types.ts';

export function joinSheets(
  file: ListingsFile,
  sheets: Sheets,
  stored: Catalogue,
  overwrite: boolean,
): ListingsFile {
  const touches = trackTouches(file.exportId, overwrite);
  const isOwnExport = comesFrom(stored.lineage, file.exportId, sheets);
  const notes = [...(file.notes ?? [])];
  const join: Join = { stored, sheets, isOwnExport, touches, problems: [], notes };
  const locations = findRecords('locations', stored.locations, join);
  const amenities = findRecords('amenities', stored.amenities, join);
  const listings = findListings(join).map((row) => joinListing(row, locations, join));
  const findListing = makeListingFinder(listings, join);
  for (const sheet of LIST_NAMES) {
    if (sheets[sheet] === undefined) continue;
    const rows = Map.groupBy(sheets[sheet], findListing);
    for (const listing of listings) {
      const own = rows.get(listing) ?? [];
      if (own.length > 0 || !listing.isUnlisted) joinList(sheet, own, listing, join);
    }
  }
  const { newer, conflicts } = touches;
  return {
    ...file,
    locations: locations.flatMap((row) => joinRecord('locations', row, join)),
    amenities: amenities.flatMap((row) => joinRecord('amenities', row, join)),
    properties: listings.map(
      ({ name, patch, entries, isUnlisted }): RawRecord => ({
        name: withEntries(name, entries),
        value: patch,
        isUnlisted,
      }),
    ),
    problems: distinct(file.problems, join.problems),
    newer,
    conflicts,
    moved: touches.findMoved(),
    notes,
  };
}

/** An editor may delete the sheet that has the id of the export: the marks name the lineage too. */
function comesFrom(lineage: string, exportId: string | undefined, sheets: Sheets): boolean {
  if (exportId !== undefined) return exportId.startsWith(lineage);
  const own = hashCell('lineage', lineage);
  const rows = Object.values(sheets).flat();
  return rows.some(({ asOf }) => {
    const marks = parseMarks(asOf);
    return marks !== undefined && isMarked(marks, own);
  });
}

function findRecords(
  sheet: 'locations' | 'amenities',
  records: readonly (Location | Amenity)[],
  join: Join,
): FoundRow[] {
  const lastChange = findLastChange(join.stored, sheet);
  const find = makeFinder(records.map((record) => ({ id: `${record.slug}`, ...record, record })));
  return findRows(join.sheets[sheet] ?? [], join, 'slug', ({ value }) => {
    const found = find(readKeys(value));
    if (typeof found !== 'object') return undefined;
    const name = `${SHEETS[sheet].kind} ${found.slug ?? found.id}`;
    return { ...showRecord(found.record), name, lastChange };
  });
}

function joinRecord(sheet: 'locations' | 'amenities', row: FoundRow, join: Join): RawRecord[] {
  const { name, value, old, exported } = row;
  const isRemoved = old === undefined && exported?.row === hashId(`${value.id ?? value.slug}`);
  if (isRemoved && join.isOwnExport) {
    if (!differsFromMarks(sheet, value, exported))
      join.notes.push(`${formatName(name)} was removed from the store since the export`);
    else join.problems.push({ record: name, path: '', sentence: REMOVED });
    return [];
  }
  const { id, slug } = old?.record ?? {};
  const key = id === undefined ? { slug } : { id };
  return [{ name, value: { ...(old && key), ...join.touches.takeCells(sheet, row) } }];
}

function findListings(join: Join): FoundRow[] {
  const { stored, sheets, isOwnExport, problems } = join;
  const findStored = makeFinder(sourcesOf(stored));
  const ids = listIdsBySlug(stored);
  const rows = findRows(sheets.listings ?? [], join, 'slug', ({ value }) => {
    const keys = readKeys(value);
    const found = findStored(keys);
    if (found) return showStored(stored, found.id);
    // A row without id may be older than the slug of its listing.
    const isOlder = isOwnExport && keys.id === undefined;
    return isOlder ? showStored(stored, ids.get(keys.slug)) : undefined;
  });
  const named = new Set(rows.map(({ old }) => old?.hash));
  const hashes = new Map(sourcesOf(stored).map(({ id, slug }) => [hashId(id), slug]));
  for (const { name, old, exported, value } of rows) {
    const isLost = old === undefined && value.id === undefined;
    const slug = hashes.get(exported?.row ?? '');
    if (!isLost || slug === undefined || named.has(exported?.row)) continue;
    const sentence = `has no id, and the listing of its mark has the slug ${slug} now: give it that slug, or clear "as of" of a new listing`;
    problems.push({ record: name, path: 'slug', value: value.slug ?? undefined, sentence });
  }
  return rows;
}

function showStored(stored: Catalogue, id = ''): StoredRow | undefined {
  const found = stored.listings.get(id);
  if (found === undefined) return undefined;
  const lastChange = stored.operations.get(found.operation ?? '');
  return { ...showListing(found.listing), name: found.slug, lastChange };
}

/** Former slugs too, where no listing has them now. */
function listIdsBySlug({ listings }: Catalogue): Map<string | undefined, string> {
  const ids = new Map<string | undefined, string>();
  for (const { former_slugs, id } of listings.values()) {
    const slugs: string[] = JSON.parse(former_slugs);
    for (const slug of slugs) ids.set(slug, id);
  }
  for (const { slug, id } of listings.values()) ids.set(slug, id);
  return ids;
}

function joinListing(row: FoundRow, locations: readonly FoundRow[], join: Join): JoinedListing {
  const { name, value, old, marks, exported } = row;
  const source = join.stored.listings.get(`${old?.record.id}`)?.listing;
  const locationId = findLocation(value.location, locations, join.stored);
  const isSame = locationId !== undefined && locationId === source?.location?.id;
  const isOlder = source !== undefined && value.id === undefined && value.hid == null;
  const shown = {
    ...value,
    // A former slug only names the listing: it is no edit.
    ...(isOlder && { slug: source.slug }),
    // The same location may have another slug by now.
    ...(isSame && { location: old?.record.location }),
  };
  const cells = join.touches.takeCells('listings', { ...row, value: shown });
  const patch: Patch = { ...(source && { id: source.id }), ...cells };
  if (patch.location != null && locationId !== undefined) {
    delete patch.location;
    patch.location_id = locationId;
  }
  const { slug } = value;
  return { name, slug, old, source, marks, exported, patch, entries: {}, isUnlisted: false };
}

/** The cell has a slug of the export, of the file or of the store, or the id of a location without. */
function findLocation(cell: unknown, rows: readonly FoundRow[], { locations }: Catalogue) {
  if (typeof cell !== 'string') return undefined;
  const showed = hashCell('slug', cell);
  const row =
    rows.find(({ exported }) => exported && isMarked(exported, showed)) ??
    rows.find(({ value }) => value.slug === cell);
  const keys = readKeys(row?.old?.record ?? row?.value);
  const stored = locations.find(({ slug }) => slug === cell);
  return keys.id ?? (row ? undefined : stored?.id) ?? uuid.safeParse(cell).data;
}

/** A row of a list names a listing by its slug in the file, in the export or in the store. */
function makeListingFinder(listings: JoinedListing[], { stored, problems }: Join) {
  const ids = listIdsBySlug(stored);
  const search = (slug: string, name: RecordName): JoinedListing | undefined => {
    const source = stored.listings.get(ids.get(slug) ?? '')?.listing;
    const showed = hashCell('slug', slug);
    const found =
      listings.find((each) => each.slug === slug) ??
      listings.find(({ exported }) => exported && isMarked(exported, showed)) ??
      listings.find((each) => source !== undefined && each.source === source);
    if (found !== undefined || source === undefined) return found;
    const old = showStored(stored, source.id);
    const none = { marks: undefined, exported: undefined, slug: undefined };
    const unlisted = { name, old, source, patch: { id: source.id }, entries: {}, isUnlisted: true };
    listings.push({ ...unlisted, ...none });
    return listings.at(-1);
  };
  const found = new Map<unknown, JoinedListing | undefined>();
  return ({ name, value: { listing: slug } }: SheetRow): JoinedListing | undefined => {
    if (typeof slug === 'string' && !found.has(slug)) found.set(slug, search(slug, name));
    const listing = found.get(slug);
    if (listing === undefined) {
      const known = [...ids.keys(), ...listings.map((each) => each.slug)];
      const unknown = {
        name: `${slug ?? ''}`,
        known: known.filter((each) => typeof each === 'string'),
      };
      const value = slug ?? undefined;
      const sentence = 'must be the slug of a listing';
      problems.push({ record: name, path: 'listing', value, sentence, unknown });
    }
    return listing;
  };
}

/** The cells of an entry are in its own row, e.g. `photos.3.alt.en` in `photos!E12`. */
function withEntries(name: RecordName, entries: JoinedListing['entries']): RecordName {
  const cellAt: RecordName['cellAt'] = (path) => {
    const [field = '', index, ...rest] = path.split('.');
    const row = entries[field]?.[Number(index ?? 0)];
    const own = row === undefined ? name : row;
    return (
      own.cellAt?.(row === undefined ? path : rest.join('.')) ?? { cell: own.place, column: '' }
    );
  };
  return { ...name, cellAt };
}
