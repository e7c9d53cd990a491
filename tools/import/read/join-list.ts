/**
 * Joins the rows of a listing in `photos`, `videos` or `features` into its list. Which rows it has,
 * and their order, are touched as a whole, and the cells of a row one by one. Pure.
 */

import { property } from '../../../src/properties/property.ts';
import type { Source } from '../../../src/properties/source.ts';
import { LISTS, type ListName } from './columns.ts';
import { type FoundRow, findRows } from './found-rows.ts';
import { url } from './listing-schemas.ts';
import { type Marks, parseMarks } from './marks.ts';
import { mergeRecord, numberInOrder } from './merge.ts';
import { counted, type ImportProblem, type RecordName } from './problem.ts';
import { deriveId, type Patch, readKeys } from './records.ts';
import { formatAsOf, identifyEntries, type ShownRow, showEntries } from './shown.ts';
import type { Catalogue } from './store.ts';
import { differsFromMarks, type Touches } from './touched.ts';
import type { SheetRow, Sheets } from './types.ts';

const FEATURE = property.shape.unique_features.element;

export const REMOVED =
  'has been removed from the store since the export: delete the row, or clear its hidden cells to add it again';

export type Join = {
  stored: Catalogue;
  sheets: Sheets;
  /** Whether the workbook was exported from this database. */
  isOwnExport: boolean;
  touches: Touches;
  problems: ImportProblem[];
  /** Copies and removed records, for the report. */
  notes: string[];
};

/** A listing that rows of some sheet name. */
export type JoinedListing = Pick<FoundRow, 'name' | 'old' | 'marks' | 'exported'> & {
  slug: unknown;
  source: Source | undefined;
  patch: Patch;
  /** The rows of its entries, by field: they have the cells of the patch. */
  entries: Record<string, (RecordName | undefined)[]>;
  /** Whether only the sheets of lists name it. */
  isUnlisted: boolean;
};

export function joinList(
  name: ListName,
  sheetRows: readonly SheetRow[],
  listing: JoinedListing,
  join: Join,
): void {
  const { field, order } = LISTS[name];
  const stored = listing.source === undefined ? [] : showEntries(listing.source, name);
  const rows = findEntries(name, sortRows(sheetRows, order, stored), stored, listing, join);
  const marks = listing.marks ?? rows.find((row) => row.marks !== undefined)?.marks;
  if (name === 'photos') joinHero(rows, marks, listing, join);
  const changes = new Map(rows.map((row) => [row, join.touches.takeCells(name, row)]));
  const isTouched = isListTouched(name, rows, stored, marks, listing, join);
  const kept = isTouched
    ? rows.map((row) => ({ row, record: row.old?.record ?? {} }))
    : stored.map(({ hash, record }) => ({
        row: rows.find(({ old }) => old?.hash === hash),
        record,
      }));
  const entries = kept.map(({ row, record }): Patch => {
    const change = (row && changes.get(row)) ?? {};
    if (field === 'unique_features') return mergeRecord(record, change, FEATURE);
    const { id } = record;
    const number = isTouched ? row?.value[order] : record[order];
    // An editor may write 1.5.
    const own = typeof number === 'number' ? Math.floor(number) : record[order];
    return { ...(id !== undefined && { id }), ...change, [order]: own };
  });
  const isNumbered = field !== 'unique_features';
  if (isTouched && isNumbered && !isInOrder(entries, order)) numberInOrder(entries, order);
  if (!isTouched && kept.every(({ row }) => isEmpty((row && changes.get(row)) ?? {}))) return;
  listing.patch[field] = entries;
  listing.entries[field] = kept.map(({ row }) => row?.name);
}

/** A site sorts by number, then by id. */
function isInOrder(entries: readonly Patch[], order: string): boolean {
  return entries.every((entry, index) => {
    const before = entries[index - 1];
    if (before === undefined) return true;
    const difference = Number(entry[order]) - Number(before[order]);
    return (
      difference > 0 || (difference === 0 && `${deriveId(before).id}` < `${deriveId(entry).id}`)
    );
  });
}

function isEmpty(patch: Patch): boolean {
  return Object.keys(patch).length === 0;
}

/**
 * Sorts by the numbers of the rows. A row without number follows the row before it. Rows that have
 * one number in the store too keep their order, however the sheet is sorted.
 */
function sortRows(
  rows: readonly SheetRow[],
  order: string,
  stored: readonly ShownRow[],
): SheetRow[] {
  const places = new Map(stored.map(({ record }, at) => [record.id, { at, own: record[order] }]));
  let last = Number.NEGATIVE_INFINITY;
  const numbered = rows.map((row) => {
    const number = row.value[order];
    if (typeof number === 'number') last = number;
    const { at, own } = places.get(row.value.id) ?? {};
    const place = at !== undefined && own === number ? at : Number.POSITIVE_INFINITY;
    return { row: { ...row, value: fillEmpty(row.value) }, number: last, place };
  });
  return numbered
    .sort((a, b) => a.number - b.number || a.place - b.place || 0)
    .map(({ row }) => row);
}

/** The empty cells of a photo or video: it is visible, in the gallery. */
function fillEmpty(row: Patch): Patch {
  if (row.section !== null && row.web_visible !== null) return row;
  return {
    ...row,
    ...(row.section === null && { section: 'gallery' }),
    ...(row.web_visible === null && { web_visible: true }),
  };
}

/** A photo or video is found by its id, else its address, and a feature by its mark, else its icon. */
function findEntries(
  name: ListName,
  rows: readonly SheetRow[],
  stored: readonly ShownRow[],
  { source, old }: JoinedListing,
  join: Join,
): FoundRow[] {
  const { address } = LISTS[name];
  const byHash = new Map(stored.map((entry) => [entry.hash, entry]));
  const byUrl = new Map(stored.map((entry) => [entry.record.url, entry]));
  const listingId = `${source?.id}`;
  const byId = new Map(stored.map((entry) => [entry.record.id, entry]));
  const features = name === 'features' ? rows.map(({ value }) => value) : [];
  const icons = new Map(
    identifyEntries(listingId, features).map(({ hash, record }) => [record, hash]),
  );
  const findFeature = ({ value }: SheetRow, exported: Marks | undefined) =>
    byHash.get(exported?.row ?? '') ??
    stored.find((entry) => shows(name, entry, value)) ??
    byHash.get(icons.get(value) ?? '');
  return findRows(rows, join, address, (row, exported) => {
    const { id } = readKeys(row.value);
    const entry =
      name === 'features'
        ? findFeature(row, exported)
        : (byId.get(id ?? '') ?? byUrl.get(url.safeParse(row.value.url).data));
    if (old === undefined || entry === undefined) return undefined;
    const label = `${entry.record[address]}`.split('/').at(-1);
    return { ...old, ...entry, name: `${old.name} ${label}` };
  });
}

/** Whether the cells of a row are those of the entry. */
function shows(name: ListName, entry: ShownRow, row: Patch): boolean {
  const marks = parseMarks(formatAsOf(name, entry, {}));
  return marks !== undefined && !differsFromMarks(name, row, marks);
}

function isListTouched(
  name: ListName,
  rows: readonly FoundRow[],
  stored: readonly ShownRow[],
  marks: Marks | undefined,
  { name: record, old }: JoinedListing,
  { touches, problems }: Join,
): boolean {
  if (old === undefined) return rows.length > 0;
  const hashes = rows.map(({ old, exported }, at) => old?.hash ?? exported?.row ?? `new ${at}`);
  const isOther = rows.length !== stored.length;
  const shown = isOther ? counted(stored.length, 'row') : `${stored.length} other rows`;
  const value = {
    column: name,
    written: hashes.join(' '),
    stored: stored.map(({ hash }) => hash).join(' '),
    shown: [counted(rows.length, 'row'), shown] as const,
    record: rows[0]?.name ?? record,
    path: name,
  };
  if (touches.isTouched(value, old, marks)) return true;
  // Rows that another editor has removed stay removed.
  for (const { name: record, value, old, exported } of rows) {
    const isLost = old === undefined && exported && differsFromMarks(name, value, exported);
    if (isLost) problems.push({ record, path: '', sentence: REMOVED });
  }
  return false;
}

/** The hero photo belongs to the listing: one row may have yes. */
function joinHero(
  rows: readonly FoundRow[],
  marks: Marks | undefined,
  { name, source, old, patch }: JoinedListing,
  { touches, problems }: Join,
): void {
  const [hero, second] = rows.filter(({ value }) => value.hero === true);
  if (second !== undefined) {
    const sentence = 'is a second hero photo: one photo of a listing may have yes';
    problems.push({ record: second.name, path: 'hero', sentence });
  }
  if (!rows.some(({ value }) => 'hero' in value)) return;
  const { id, url: address } = hero?.value ?? {};
  const heroId =
    hero?.old?.record.id ??
    (hero && deriveId({ ...(id !== undefined && { id }), url: address }).id);
  const storedId = source?.hero_photo_id ?? '';
  const addressOf = (wanted: string) => source?.photos.find((each) => each.id === wanted)?.url;
  const value = {
    column: 'hero',
    written: `${heroId ?? ''}`,
    stored: storedId,
    shown: [`${address ?? 'none'}`, addressOf(storedId) ?? 'none'] as const,
    record: (hero ?? rows[0])?.name ?? name,
    path: 'hero',
  };
  if (old ? touches.isTouched(value, old, marks) : heroId) patch.hero_photo_id = heroId ?? null;
}
