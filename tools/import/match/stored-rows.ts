/** Stored records in the form of rows, and the keys that identify the entries of a list. */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { isMap } from '../catalogue/listing-schemas.ts';
import { type Fields, toFileListing, toList } from '../catalogue/records.ts';
import { LISTS, type ListName, SHEETS } from '../read/columns.ts';
import { formatContent, hashText } from '../read/marks.ts';

/** A stored record as a row of an export. */
export type StoredRow = {
  /** Identifies the row in its sheet: the hash of its id. */
  key: string;
  /** The record in the form in which the row displays it. */
  record: Fields;
  /** The name in reports, e.g. `casa-marea`, `casa-marea 2.jpg`, `location bay`. */
  label: string;
};

export function toListingRow(source: Source): StoredRow {
  const { id, slug, location } = source;
  const record = { ...toFileListing(source), location: location && (location.slug ?? location.id) };
  return { key: hashText(id), record, label: slug };
}

export function toRecordRow(
  sheet: 'locations' | 'amenities',
  record: Location | Amenity,
): StoredRow {
  const id = 'id' in record ? record.id : record.slug;
  const label = `${SHEETS[sheet].kind} ${record.slug ?? id}`;
  return { key: hashText(id), record, label };
}

/**
 * Returns the entries of a listing's list, in the order in which a site shows them. `exportedEntries`
 * has the keys and contents of an export, see `keepExportedKeys`.
 */
export function toListRows(
  { record: listing, label }: StoredRow,
  list: ListName,
  exportedEntries?: ReadonlyMap<string, string>,
): StoredRow[] {
  const { field, order } = LISTS[list];
  const entries = toList(listing[field]).filter(isMap);
  entries.sort((a, b) => compareEntries(order, a, b));
  const exportedKeys = list === 'features' ? keepExportedKeys(entries, exportedEntries) : [];
  const keys = makeEntryKeys(list, listing.id, entries, exportedKeys);
  return entries.map((record, index) => ({
    key: keys[index] ?? '',
    record,
    label: `${label} ${getEntryName(list, record)}`,
  }));
}

/** Returns the name of an entry in reports: the end of its URL, or its icon. */
export function getEntryName(list: ListName, record: Fields): string {
  const [address] = SHEETS[list].keys;
  return `${record[address]}`.split('/').at(-1) ?? '';
}

/** Compares two entries as a site sorts them: by number, then by id. */
export function compareEntries(order: string, a: Fields, b: Fields): number {
  const [first, second] = [`${a.id ?? ''}`, `${b.id ?? ''}`];
  const byId = first < second ? -1 : Number(first > second);
  return Number(a[order] ?? 0) - Number(b[order] ?? 0) || byId;
}

/**
 * Returns the key of each feature that has the same content as in the export, and undefined for the
 * others. Features with one icon are numbered, so without this a feature would take over the key of
 * another one that was removed or moved in the store:
 *
 *     exported         stored           key
 *     1f0c  sea East                    removed in the store
 *     77de  sea West   sea West         77de, and not 1f0c as the first feature with this icon
 */
function keepExportedKeys(
  features: readonly Fields[],
  exportedEntries: ReadonlyMap<string, string> = new Map(),
): (string | undefined)[] {
  const keysByContent = Map.groupBy(exportedEntries.keys(), (key) => exportedEntries.get(key));
  return features.map((record) =>
    keysByContent.get(hashText(formatContent('features', record)))?.shift(),
  );
}

/**
 * Returns a key for each entry of a list. An entry of a photo or video is identified by its id. A
 * feature has no id: it keeps the key that it has in `keptKeys`, or gets the next number of its icon.
 */
export function makeEntryKeys(
  list: ListName,
  listingId: unknown,
  entries: readonly Fields[],
  keptKeys: readonly (string | undefined)[] = [],
): string[] {
  const usedKeys = new Set(keptKeys);
  const counts = new Map<unknown, number>();
  const nextKey = (id: unknown): string => {
    const count = counts.get(id) ?? 0;
    counts.set(id, count + 1);
    const key = hashText(`${list} ${listingId} ${id} ${count}`);
    return usedKeys.has(key) ? nextKey(id) : key;
  };
  return entries.map(({ icon_slug, id = icon_slug }, index) => keptKeys[index] ?? nextKey(id));
}
