/** Stored records as an export shows them: the rows of its sheets, and their marks. Pure. */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { asRead, showCell } from './cells.ts';
import { cellsOf, LISTS, type ListName, type SheetName } from './columns.ts';
import { isMap } from './listing-schemas.ts';
import { formatMarks, hashId } from './marks.ts';
import { listOf, type Patch } from './records.ts';

/** The row of a stored record. The hash identifies it in its sheet. */
export type ShownRow = { hash: string; record: Patch };

export function showListing(source: Source): ShownRow {
  const { location, amenities } = source;
  const slugs = amenities.map(({ slug }) => slug);
  const record = { ...source, location: location && (location.slug ?? location.id) };
  return { hash: hashId(source.id), record: { ...record, amenities: slugs } };
}

export function showRecord(record: Location | Amenity): ShownRow {
  const id = 'id' in record ? record.id : record.slug;
  return { hash: hashId(id), record: { ...record } };
}

/** The entries of a list in the order in which a site shows them. */
export function showEntries(listing: Source, name: ListName): ShownRow[] {
  const { field, order } = LISTS[name];
  const entries = listOf(listing[field]).filter(isMap);
  const number = (each: Patch) => Number(each[order] ?? 0);
  return identifyEntries(
    listing.id,
    entries.toSorted(
      (a, b) => number(a) - number(b) || (`${a.id ?? ''}` < `${b.id ?? ''}` ? -1 : 0),
    ),
  );
}

/** Features have no id: two of a listing with one icon are told apart by their order. */
export function identifyEntries(listingId: string, entries: readonly Patch[]): ShownRow[] {
  const counts = new Map<unknown, number>();
  return entries.map((record) => {
    const { id = record.icon_slug } = record;
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    return { hash: hashId(`${listingId} ${id} ${count}`), record };
  });
}

/** What a list has as a whole: its rows in their order, and the hero photo. */
export function listTexts(listing: Source, name: ListName): Record<string, string> {
  const rows = showEntries(listing, name).map(({ hash }) => hash);
  return {
    [name]: rows.join(' '),
    ...(name === 'photos' && { hero: listing.hero_photo_id ?? '' }),
  };
}

/** Writes the cell `as of` of a row. `others` are its texts that are no cells: lists, the lineage. */
export function formatAsOf(
  sheet: SheetName,
  { hash, record }: ShownRow,
  others: Readonly<Record<string, string>>,
): string {
  const texts = cellsOf(sheet).map((column) => [column.name, asRead(showCell(column, record))]);
  return formatMarks(hash, { ...Object.fromEntries(texts), ...others });
}
