/**
 * Joins the sheets of a workbook into records that are merged into the stored ones: the rows of a
 * list become the list of their listing, and a cell that shows what is stored gives no value. Pure.
 */

import { property } from '../../../src/properties/property.ts';
import type { Source } from '../../../src/properties/source.ts';
import { uuid } from '../../../src/schema.ts';
import { showsStored } from './cells.ts';
import { type Column, SHEETS } from './columns.ts';
import { isMap, url } from './listing-schemas.ts';
import { mergeRecord } from './merge.ts';
import type { ImportProblem, RecordName } from './problem.ts';
import { deriveId, listOf, type Patch, type RecordKeys, readKeys } from './records.ts';
import type { Catalogue } from './store.ts';
import type { ListingsFile, ListRow, RawRecord, SheetList } from './types.ts';

type JoinedRecord = RawRecord & { value: Patch };

/**
 * `findIds` finds the stored listings that the keys of a row name. A row of a list names a listing
 * by its slug, in the file or else in the store: so a listing with a new slug keeps its photos.
 */
export function joinSheets(
  file: ListingsFile,
  stored: Catalogue,
  findIds: (keys: RecordKeys) => string[],
): ListingsFile {
  const { lists = [] } = file.workbook ?? {};
  const named = file.properties.map(
    (raw): JoinedRecord => ({ ...raw, value: isMap(raw.value) ? { ...raw.value } : {} }),
  );
  const bySlug = new Map(named.map((raw) => [readKeys(raw.value).slug, raw]));
  const byId = new Map(named.map((raw) => [findIds(readKeys(raw.value))[0], raw]));
  // A workbook in which a listing got its new slug may be imported again: its photos have the former.
  const listings = [...stored.listings.values()];
  const storedIds = new Map<string, string>();
  for (const { former_slugs, id } of listings) {
    const slugs: string[] = JSON.parse(former_slugs);
    for (const slug of slugs) storedIds.set(slug, id);
  }
  for (const { slug, id } of listings) storedIds.set(slug, id);
  const known = [...storedIds.keys(), ...bySlug.keys()].filter((each) => each !== undefined);
  const others: JoinedRecord[] = [];
  const problems: ImportProblem[] = [];
  const findRecord = ({ listing = '', name, faults }: ListRow) => {
    const id = storedIds.get(listing);
    const found = bySlug.get(listing) ?? (id === undefined ? undefined : byId.get(id));
    if (found !== undefined || id !== undefined) return found ?? addRecord(id, name);
    if (faults.some(({ path }) => path === 'listing')) return undefined;
    const unknown = { name: listing, known };
    const value = listing || undefined;
    problems.push({ record: name, path: 'listing', code: 'no_listing', value, unknown });
    return undefined;
  };
  const addRecord = (id: string | undefined, name: RecordName) => {
    const record = { name, value: { id }, isUnlisted: true };
    others.push(record);
    byId.set(id, record);
    return record;
  };
  const rowsOf = new Map<JoinedRecord, Partial<Record<string, ListRow[]>>>();
  for (const { field, rows } of lists) {
    for (const raw of named) raw.value[field] = [];
    for (const [raw, own] of Map.groupBy(rows, findRecord)) {
      if (raw !== undefined) rowsOf.set(raw, { ...rowsOf.get(raw), [field]: own });
      for (const { name: record, faults } of own) {
        // The others are of the entry, below.
        const ofRow = raw === undefined ? faults : faults.filter(({ path }) => path === 'listing');
        problems.push(...ofRow.map((fault) => ({ record, ...fault })));
      }
    }
  }
  const properties = [...named, ...others].map((raw): RawRecord => {
    const own = rowsOf.get(raw) ?? {};
    const sorted = lists.map((list) => ({ list, rows: sortRows(list, own[list.field] ?? []) }));
    const name = withEntries(raw.name, sorted);
    for (const { list, rows } of sorted) {
      if (rows.length > 0) raw.value[list.field] = rows.map(({ value }) => value);
      for (const [index, { faults }] of rows.entries()) {
        const ofEntry = faults.filter(({ path }) => path !== 'listing');
        const prefix = `${list.field}.${index}`;
        problems.push(
          ...ofEntry.map((each) => ({ ...each, record: name, path: `${prefix}.${each.path}` })),
        );
      }
      const [, second] = rows.filter(({ value }) => value.hero === true);
      if (second !== undefined) {
        problems.push({ record: second.name, path: 'hero', code: 'two_heroes' });
      }
    }
    return { ...raw, name };
  });
  return { ...file, properties, problems: [...file.problems, ...problems] };
}

/** Sorts by the numbers of the rows. A row without number follows the row before it. */
function sortRows({ order }: SheetList, rows: readonly ListRow[]): ListRow[] {
  let last = Number.NEGATIVE_INFINITY;
  const numbered = rows.map((row) => {
    const number = row.value[order];
    if (typeof number === 'number') last = number;
    return { row, number: last };
  });
  return numbered.sort((a, b) => a.number - b.number || 0).map(({ row }) => row);
}

/** The cells of an entry are in its own row, e.g. `photos.3.alt.en` in `photos!E12`. */
function withEntries(name: RecordName, lists: readonly { list: SheetList; rows: ListRow[] }[]) {
  const cellAt: RecordName['cellAt'] = (path) => {
    const [field, index, ...rest] = path.split('.');
    const rows = lists.find(({ list }) => list.field === field)?.rows ?? [];
    const row = rows[Number(index ?? 0)]?.name ?? name;
    return row.cellAt?.(rows.length > 0 ? rest.join('.') : path) ?? { cell: row.place, column: '' };
  };
  return { ...name, cellAt };
}

/** Drops the values of cells that show what is stored. Keys stay: they identify the record. */
export function dropShown(columns: readonly Column[], patch: Patch, stored: Patch): Patch {
  const changed = { ...patch };
  for (const column of columns) {
    const { field, locale } = column;
    const own = changed[field];
    if (own === undefined) continue;
    const cell = locale !== undefined && isMap(own) ? own[locale] : own;
    if (cell === undefined || !showsStored(cell, column, stored)) continue;
    if (isKey(field)) changed[field] = stored[field];
    else if (locale === undefined) delete changed[field];
    else if (isMap(own)) {
      const { [locale]: _, ...others } = own;
      changed[field] = others;
      if (Object.keys(others).length === 0) delete changed[field];
    }
  }
  return changed;
}

function isKey(field: string): boolean {
  return ['id', 'hid', 'slug', 'url'].includes(field);
}

/**
 * Returns the ids of locations by their slugs in the export: a workbook in which one got another
 * slug may be imported again, and its listings have the former.
 */
export function listExportedLocations({ locations }: ListingsFile): Map<unknown, string> {
  const pairs = locations.map(({ version, value }) => [version, readKeys(value).id] as const);
  return new Map(pairs.flatMap(([slug, id]) => (slug && id ? [[slug, id]] : [])));
}

/** The stored listing as its row shows it. */
export function toShownListing(source: Source): Patch {
  const { location, amenities } = source;
  const slugs = amenities.map(({ slug }) => slug);
  return { ...source, location: location && (location.slug ?? location.id), amenities: slugs };
}

/** The entries of a list in the order in which an export writes them, and a site shows them. */
export function sortEntries(entries: readonly Patch[], order: string): Patch[] {
  const number = (each: Patch) => Number(each[order] ?? 0);
  return entries.toSorted(
    (a, b) => number(a) - number(b) || (`${a.id ?? ''}` < `${b.id ?? ''}` ? -1 : 0),
  );
}

/** Returns what the rows of a listing change in it, as a patch. */
export function changesOfListing(
  patch: Patch,
  stored: Source | undefined,
  exportedLocations: ReadonlyMap<unknown, string>,
): Patch {
  const old = stored && toShownListing(stored);
  const changed = old ? dropShown(SHEETS.listings.columns, patch, old) : dropEmpty(patch);
  // The cell of a location without a slug has its id.
  const { data: ownId } = uuid.safeParse(changed.location);
  const location_id = exportedLocations.get(changed.location) ?? ownId;
  if (location_id !== undefined) {
    delete changed.location;
    changed.location_id = location_id;
  }
  for (const { columns, list } of Object.values(SHEETS)) {
    if (list === undefined) continue;
    const { field, order } = list;
    const rows = listOf(changed[field]).filter(isMap).map(fillEmpty);
    if (changed[field] === undefined) continue;
    const before = sortEntries(listOf(old?.[field]).filter(isMap), order);
    const entries = rows.map(({ hero: _, order: __, ...row }, index) => {
      const match = findEntry(before, row, index, columns);
      const rest = match === undefined ? dropEmpty(row) : dropShown(columns, row, match);
      const isSame = match === before[index] && Object.keys(rest).every((key) => isKey(key));
      return {
        match,
        isSame,
        entry: { ...rest, ...(match?.id !== undefined && { id: match.id }) },
      };
    });
    const isUnchanged = entries.length === before.length && entries.every(({ isSame }) => isSame);
    changed[field] = entries.map(({ match, entry }) =>
      field === 'unique_features' ? mergeRecord({ ...match }, entry, FEATURE) : entry,
    );
    // A photo that is not stored has the id that follows from its address.
    const hero = entries[rows.findIndex((row) => row.hero === true)]?.entry;
    if (rows.some((row) => 'hero' in row)) {
      changed.hero_photo_id = (hero && deriveId(hero).id) ?? null;
    }
    if (isUnchanged) delete changed[field];
  }
  return changed;
}

const FEATURE = property.shape.unique_features.element;

/** Finds the stored entry of a row: by its id or address, and a feature by what it shows. */
function findEntry(
  stored: readonly Patch[],
  row: Patch,
  index: number,
  columns: readonly Column[],
): Patch | undefined {
  const here = stored[index];
  const nearFirst = here === undefined ? stored : [here, ...stored];
  const byKey = (key: string, value: unknown) =>
    nearFirst.find((each) => value !== undefined && each[key] === value);
  if (!('icon_slug' in row)) {
    return byKey('id', uuid.safeParse(row.id).data) ?? byKey('url', url.safeParse(row.url).data);
  }
  const isShown = (each: Patch) => Object.keys(dropShown(columns, row, each)).length === 0;
  return nearFirst.find(isShown) ?? byKey('icon_slug', row.icon_slug);
}

/** The empty cells of a photo or video: it is visible, in the gallery, after the row before. */
function fillEmpty(row: Patch): Patch {
  const filled = {
    ...row,
    ...(row.section === null && { section: 'gallery' }),
    ...(row.web_visible === null && { web_visible: true }),
  };
  const orders = ['web_sort_order', 'sort_order'];
  return Object.fromEntries(
    Object.entries(filled).filter(([name, value]) => value !== null || !orders.includes(name)),
  );
}

/** A new record has no field to empty. */
function dropEmpty(record: Patch): Patch {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}
