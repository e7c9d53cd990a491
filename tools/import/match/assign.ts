/**
 * Finds the stored record of each row of a sheet:
 *
 *     row of the workbook                    stored record
 *     casa-marea, as exported                casa-marea: by the hidden id or the mark
 *     casa-nova, in the row of casa-marea    casa-marea: renamed, the hidden id is the same
 *     casa-marea, typed into an empty row    casa-marea: by its slug
 *     casa-nova, in a copy of that row       a new record, because the original keeps the id
 */

import { url } from '../catalogue/listing-schemas.ts';
import { deriveId, makeFinder, type Patch, readKeys } from '../catalogue/records.ts';
import { displayedText } from '../read/cells.ts';
import { dataColumns, getValue, SHEETS, type SheetName } from '../read/columns.ts';
import { hashText, RowMark, type StoredRow } from '../read/marks.ts';
import { type ImportProblem, THE_FILE } from '../read/problem.ts';
import type { SheetRow } from '../read/workbook.ts';

export type FoundRow = SheetRow & {
  sheet: SheetName;
  /** The mark of the export; undefined for a new or copied row. */
  mark: RowMark | undefined;
  /** The stored record; undefined for a new record. */
  stored: StoredRow | undefined;
  /** Whether the sheet has no row for the stored record, which then stays unchanged. */
  isAbsent: boolean;
};

type IdentifiedRow = SheetRow & {
  mark: RowMark | undefined;
  /** Whether the slug, the URL or the icon is the exported one. */
  hasExportedAddress: boolean;
  /** The key of the record that the row was exported with. A copied row has it too. */
  exportedKey: string | undefined;
};

export type Sheet = {
  sheet: SheetName;
  rows: readonly SheetRow[];
  storedRows: readonly StoredRow[];
  /** Returns the key of the record with an id. */
  makeKey: (id: unknown) => string | undefined;
  /** Current slugs of listings by previous slugs. */
  currentSlugs?: ReadonlyMap<string, string> | undefined;
};

type Report = { problems: ImportProblem[]; notes: string[] };

/** Returns the rows of a sheet with their records, and a row without cells for each other record. */
export function findRecords(sheet: Sheet, report: Report) {
  const identifiedRows = sheet.rows.map((row) => identify(row, sheet));
  const found = assignRecords(sheet, separateCopies(sheet.sheet, identifiedRows, report));
  const assigned = new Set(found.map(({ stored }) => stored));
  const emptyRow = { sheet: sheet.sheet, location: THE_FILE, cells: {}, markCell: undefined };
  const absent = sheet.storedRows
    .filter((stored) => !assigned.has(stored))
    .map((stored): FoundRow => ({ ...emptyRow, mark: undefined, stored, isAbsent: true }));
  return { found, absent };
}

function identify(row: SheetRow, { sheet, makeKey }: Sheet): IdentifiedRow {
  const mark = RowMark.parse(row.markCell);
  const [address] = SHEETS[sheet].keys;
  const column = dataColumns(sheet).find(({ name }) => name === address);
  const hasExportedAddress =
    column !== undefined && hashText(displayedText(column, row.cells)) === mark?.get(column.name);
  const { id } = row.cells;
  const exportedKey = hasExportedAddress || id === undefined ? mark?.key : makeKey(id);
  return { ...row, mark, hasExportedAddress, exportedKey };
}

/**
 * Makes copied rows new records. If several rows have the same exported key, the original is the one
 * with the exported slug or URL.
 */
function separateCopies(
  sheet: SheetName,
  rows: readonly IdentifiedRow[],
  { notes, problems }: Report,
): IdentifiedRow[] {
  const originals = new Map<IdentifiedRow, IdentifiedRow>();
  for (const [exportedKey, group] of Map.groupBy(rows, (row) => row.exportedKey)) {
    const [unchanged, alsoUnchanged] = group.filter((row) => row.hasExportedAddress);
    const original = unchanged ?? group[0];
    if (exportedKey === undefined || original === undefined || group.length === 1) continue;
    for (const row of group) originals.set(row, original);
    // Two features can have the same icon.
    if (sheet === 'features' || (unchanged !== undefined && alsoUnchanged === undefined)) continue;
    const cells = group.map(({ location }) => location.position).join(', ');
    const [path] = SHEETS[sheet].keys;
    const message = `is ambiguous, because several rows have the same hidden id (${cells}): clear the hidden cells of the copies, and give each its own ${path}`;
    problems.push(...group.map(({ location }) => ({ location, path, message })));
  }
  return rows.map((row) => {
    const original = originals.get(row) ?? row;
    if (original === row) return row;
    notes.push(
      `${row.location.position} is a copy of ${original.location.position}, and becomes a new record`,
    );
    const { id, hid, ...otherCells } = row.cells;
    const cells = hid === original.cells.hid ? otherCells : { ...otherCells, hid };
    return { ...row, cells, mark: undefined, hasExportedAddress: false, exportedKey: undefined };
  });
}

/** Returns a candidate for a row. It is ignored if another row has been assigned the record. */
type Pass = (row: IdentifiedRow, store: StoreIndex) => StoredRow | undefined;

/**
 * The passes in which rows are assigned their records, most reliable first. A renamed listing thus
 * keeps its record even if another row now has its previous slug.
 */
const PASSES: Readonly<Record<SheetName, readonly Pass[]>> = {
  listings: [byExportedKey, byUniqueCell, byPreviousSlugOrMark],
  photos: [byExportedKey, byUniqueCell, byPreviousSlugOrMark],
  videos: [byExportedKey, byUniqueCell, byPreviousSlugOrMark],
  features: [byAllCells, byMark, byIcon],
  locations: [byExportedKey, byUniqueCell, byPreviousSlugOrMark],
  // The slug of an amenity is its id, so an amenity with another slug is another amenity.
  amenities: [byExportedKey, byUniqueCell],
};

function byExportedKey(row: IdentifiedRow, store: StoreIndex) {
  const isReliable = row.hasExportedAddress || row.cells.id !== undefined;
  return isReliable ? store.getByKey(row.exportedKey) : undefined;
}

/** If the row has a hidden id, its slug and `hid` may have been edited, so only its URL counts. */
function byUniqueCell({ cells }: IdentifiedRow, store: StoreIndex) {
  const address = url.safeParse(cells.url).data;
  const { id, hid, slug = address } = readKeys(cells);
  return store.find(id === undefined ? { hid, slug } : { slug: address });
}

function byPreviousSlugOrMark(row: IdentifiedRow, store: StoreIndex) {
  const { id, slug } = row.cells;
  const currentSlug = id === undefined ? store.currentSlugs?.get(`${slug}`) : undefined;
  return store.find({ slug: currentSlug }) ?? byMark(row, store);
}

function byMark({ mark }: IdentifiedRow, store: StoreIndex) {
  return store.getByKey(mark?.key);
}

function byAllCells({ cells }: IdentifiedRow, store: StoreIndex) {
  return store.findUnassigned((record) => displaysSameCells(cells, record));
}

function byIcon({ cells }: IdentifiedRow, store: StoreIndex) {
  return store.findUnassigned(({ icon_slug }) => icon_slug === cells.icon_slug);
}

type StoreIndex = ReturnType<typeof indexStoredRows>;

function indexStoredRows({ storedRows, currentSlugs }: Sheet, assigned: ReadonlySet<StoredRow>) {
  const byKey = new Map(storedRows.map((row) => [row.key, row]));
  const find = makeFinder(
    storedRows.map((row) => {
      const { hid, slug, url: address } = row.record;
      return { hid, slug: slug ?? address, row };
    }),
  );
  return {
    currentSlugs,
    getByKey: (key = '') => byKey.get(key),
    find: (keys: Parameters<typeof find>[0]) => find(keys)?.row,
    findUnassigned: (isMatch: (record: Patch) => boolean) =>
      storedRows.find((row) => !assigned.has(row) && isMatch(row.record)),
  };
}

function assignRecords(sheet: Sheet, rows: readonly IdentifiedRow[]): FoundRow[] {
  const records = new Map<IdentifiedRow, StoredRow>();
  const assigned = new Set<StoredRow>();
  const store = indexStoredRows(sheet, assigned);
  for (const findCandidate of PASSES[sheet.sheet]) {
    for (const row of rows) {
      const candidate = records.has(row) ? undefined : findCandidate(row, store);
      if (candidate === undefined || assigned.has(candidate)) continue;
      records.set(row, candidate);
      assigned.add(candidate);
    }
  }
  return rows.map((row) => ({
    ...row,
    sheet: sheet.sheet,
    stored: records.get(row),
    isAbsent: false,
  }));
}

function displaysSameCells(cells: Patch, record: Patch): boolean {
  return dataColumns('features').every(
    (column) =>
      getValue(cells, column) === undefined ||
      displayedText(column, cells) === displayedText(column, record),
  );
}

/** Returns the id of the stored record, or of the record that the row would add. */
export function getId({ sheet, stored, cells }: FoundRow): unknown {
  const record = stored?.record ?? deriveId(cells);
  return sheet === 'amenities' ? record.slug : record.id;
}
