/** Converts stored records to rows, and identifies the entries of lists. */

import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { isMap } from '../catalogue/listing-schemas.ts';
import { type Fields, toFileListing, toList } from '../catalogue/records.ts';
import { LISTS, type ListName, SHEETS } from '../read/columns.ts';
import { formatContent, hashText } from '../read/marks.ts';

/** A stored record as a row of an export. */
export type StoredRow = {
  /** Hash of the id, which identifies the row in its sheet. */
  key: string;
  /** The fields that the row displays. A reference is a slug. */
  record: Fields;
  /** Name in reports, e.g. `casa-marea`, `casa-marea 2.jpg`, `location bay`. */
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
 * Returns the entries of one of a listing's lists, in the order in which a site shows them.
 * `exportedEntries` contains the hash of each entry's content in an export, by the entry's key.
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

/** Returns the name of an entry in reports, which is the end of its URL, or the icon of a feature. */
export function getEntryName(list: ListName, record: Fields): string {
  const [address] = SHEETS[list].keys;
  return `${record[address]}`.split('/').at(-1) ?? '';
}

/** Compares two entries by number, then by id, as a site sorts them. */
export function compareEntries(order: string, a: Fields, b: Fields): number {
  const [first, second] = [`${a.id ?? ''}`, `${b.id ?? ''}`];
  const byId = first < second ? -1 : Number(first > second);
  return Number(a[order] ?? 0) - Number(b[order] ?? 0) || byId;
}

/**
 * Returns the exported key of each feature whose content is still the same, and undefined for all other
 * features. The keys of features with one icon are numbered. Without this function, a feature would
 * take over the key of another feature that was removed or moved in the store:
 *
 *     exported         stored           key
 *     1f0c  sea East                    removed in the store
 *     77de  sea West   sea West         77de, although it is now the first feature with this icon
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
 * Returns a key for each entry of a list. The key of a photo or video is a hash of its id. A feature has
 * no id. It keeps its key in `keptKeys`, or gets a hash of its icon and the next number of that icon.
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
