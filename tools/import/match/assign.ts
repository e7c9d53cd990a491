/**
 * Assigns the rows of a sheet to stored records:
 *
 *     row of the workbook                    stored record
 *     casa-marea, as exported                casa-marea, by the hidden id or the mark
 *     casa-nova, in the row of casa-marea    casa-marea (renamed), by the hidden id
 *     casa-marea, typed into an empty row    casa-marea, by its slug
 *     casa-nova, in a copy of its row        a new record, because the original keeps the id
 */

import { url } from '../catalogue/listing-schemas.ts';
import { deriveId, type Fields, makeFinder, readKeys } from '../catalogue/records.ts';
import { displayedText } from '../read/cells.ts';
import { dataColumns, getValue, SHEETS, type SheetName } from '../read/columns.ts';
import { hashText, RowMark } from '../read/marks.ts';
import type { FileLocation, ImportProblem } from '../read/problem.ts';
import { THE_FILE } from '../read/problem.ts';
import type { SheetRow } from '../read/workbook.ts';
import type { StoredRow } from './stored-rows.ts';

/** A row of the workbook, or a row without cells for a stored record that its sheet does not name. */
export type AssignedRow = {
  sheet: SheetName;
  location: FileLocation;
  cells: Fields;
  /** The mark that the export wrote into the row; undefined for a new or copied row. */
  mark: RowMark | undefined;
  /** The stored record; undefined for a new record. */
  stored: StoredRow | undefined;
  /** Whether the sheet has no row for the stored record. Such a record stays unchanged. */
  isAbsent: boolean;
};

export type Sheet = {
  name: SheetName;
  rows: readonly SheetRow[];
  storedRows: readonly StoredRow[];
  /** Returns the key of the row whose record has this id. */
  makeKey: (id: unknown) => string | undefined;
  /** Current slugs of listings by previous slugs. */
  currentSlugs?: ReadonlyMap<string, string> | undefined;
};

type Report = { problems: ImportProblem[]; notes: string[] };

/**
 * Returns the rows of a sheet with their stored records, and a row without cells for each record
 * left over.
 */
export function assignRecords(sheet: Sheet, report: Report) {
  const candidates = separateCopies(
    sheet.name,
    sheet.rows.map((row) => identify(row, sheet)),
    report,
  );
  const records = runPasses(sheet, candidates);
  const assignedRecords = new Set(records.values());
  const rows = candidates.map((candidate): AssignedRow => {
    const { location, cells, mark } = candidate;
    const stored = records.get(candidate);
    return { sheet: sheet.name, location, cells, mark, stored, isAbsent: false };
  });
  const absentRows = sheet.storedRows
    .filter((stored) => !assignedRecords.has(stored))
    .map((stored): AssignedRow => {
      const location = THE_FILE;
      return { sheet: sheet.name, location, cells: {}, mark: undefined, stored, isAbsent: true };
    });
  return { rows, absentRows };
}

/** A row of the workbook before its stored record is known. */
type Candidate = {
  location: FileLocation;
  cells: Fields;
  mark: RowMark | undefined;
  /** Whether the row still has its exported slug, URL or icon. */
  hasExportedAddress: boolean;
  /** The key with which the row was exported. A copy of a row has the same one. */
  exportedRowKey: string | undefined;
};

function identify({ location, cells, markCell }: SheetRow, { name, makeKey }: Sheet): Candidate {
  const mark = RowMark.parse(markCell);
  const [address] = SHEETS[name].keys;
  const column = dataColumns(name).find((dataColumn) => dataColumn.name === address);
  const hasExportedAddress =
    column !== undefined && hashText(displayedText(column, cells)) === mark?.get(column.name);
  const { id } = cells;
  const exportedRowKey = hasExportedAddress || id === undefined ? mark?.key : makeKey(id);
  return { location, cells, mark, hasExportedAddress, exportedRowKey };
}

/**
 * Removes the id and the mark from copied rows, which thus become new records. If several rows have
 * the same exported key, the original is the row that still has its exported slug or URL.
 */
function separateCopies(
  sheet: SheetName,
  rows: readonly Candidate[],
  { notes, problems }: Report,
): Candidate[] {
  const originals = new Map<Candidate, Candidate>();
  for (const [exportedRowKey, group] of Map.groupBy(rows, (row) => row.exportedRowKey)) {
    const [unchanged, alsoUnchanged] = group.filter((row) => row.hasExportedAddress);
    const original = unchanged ?? group[0];
    if (exportedRowKey === undefined || original === undefined || group.length === 1) continue;
    for (const row of group) originals.set(row, original);
    // Two features can have the same icon.
    if (sheet === 'features' || (unchanged !== undefined && alsoUnchanged === undefined)) continue;
    const cells = group.map(({ location }) => location.position).join(', ');
    const [path] = SHEETS[sheet].keys;
    const message = `is ambiguous, because several rows have the same hidden id (${cells})`;
    const hint = `Clear the hidden cells of the copies, and give each copy its own ${path}.`;
    problems.push(...group.map(({ location }) => ({ location, path, message, hint })));
  }
  return rows.map((row) => {
    const original = originals.get(row) ?? row;
    if (original === row) return row;
    notes.push(
      `${row.location.position} is a copy of ${original.location.position}, and becomes a new record`,
    );
    const { id, hid, ...otherCells } = row.cells;
    const cells = hid === original.cells.hid ? otherCells : { ...otherCells, hid };
    return { ...row, cells, mark: undefined, hasExportedAddress: false, exportedRowKey: undefined };
  });
}

/** Suggests a stored record for a row. The suggestion is ignored if the record already has a row. */
type Pass = (row: Candidate, store: StoreIndex) => StoredRow | undefined;

/**
 * The passes that assign records to rows, most reliable first. Each pass tries all rows before the next
 * pass begins. Therefore a renamed listing keeps its record even if another row now has its old slug.
 */
const PASSES: Readonly<Record<SheetName, readonly Pass[]>> = {
  listings: [byExportedRowKey, byUniqueCell, byPreviousSlugOrMark],
  photos: [byExportedRowKey, byUniqueCell, byMark],
  videos: [byExportedRowKey, byUniqueCell, byMark],
  features: [byMark, byAllCells, byIcon],
  locations: [byExportedRowKey, byUniqueCell, byMark],
  // The slug of an amenity is its id, so a different slug means a different amenity.
  amenities: [byUniqueCell],
};

function byExportedRowKey(
  { hasExportedAddress, cells, exportedRowKey }: Candidate,
  store: StoreIndex,
) {
  const isReliable = hasExportedAddress || cells.id !== undefined;
  return isReliable ? store.getByKey(exportedRowKey) : undefined;
}

/** Uses only the URL if the row has a hidden id, because its slug and `hid` may be edits. */
function byUniqueCell({ cells }: Candidate, store: StoreIndex) {
  const address = url.safeParse(cells.url).data;
  const { id, hid, slug = address } = readKeys(cells);
  return store.find(id === undefined ? { hid, slug } : { slug: address });
}

function byPreviousSlugOrMark(row: Candidate, store: StoreIndex) {
  const { id, slug } = row.cells;
  const currentSlug = id === undefined ? store.currentSlugs?.get(`${slug}`) : undefined;
  return store.find({ slug: currentSlug }) ?? byMark(row, store);
}

function byMark({ mark }: Candidate, store: StoreIndex) {
  return store.getByKey(mark?.key);
}

/** Finds a feature that displays the same text. A feature with a mark is found only by its mark. */
function byAllCells({ mark, cells }: Candidate, store: StoreIndex) {
  if (mark !== undefined) return undefined;
  return store.findUnassigned((record) => displaysSameCells(cells, record));
}

function byIcon({ mark, cells }: Candidate, store: StoreIndex) {
  if (mark !== undefined) return undefined;
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
    findUnassigned: (isMatch: (record: Fields) => boolean) =>
      storedRows.find((row) => !assigned.has(row) && isMatch(row.record)),
  };
}

function runPasses(sheet: Sheet, rows: readonly Candidate[]): Map<Candidate, StoredRow> {
  const records = new Map<Candidate, StoredRow>();
  const assigned = new Set<StoredRow>();
  const store = indexStoredRows(sheet, assigned);
  for (const findRecord of PASSES[sheet.name]) {
    for (const row of rows) {
      const record = records.has(row) ? undefined : findRecord(row, store);
      if (record === undefined || assigned.has(record)) continue;
      records.set(row, record);
      assigned.add(record);
    }
  }
  return records;
}

function displaysSameCells(cells: Fields, record: Fields): boolean {
  return dataColumns('features').every(
    (column) =>
      getValue(cells, column) === undefined ||
      displayedText(column, cells) === displayedText(column, record),
  );
}

/** Returns the id of the row's stored record, or the id of the record that the row would add. */
export function getId({ sheet, stored, cells }: AssignedRow): unknown {
  const record = stored?.record ?? deriveId(cells);
  return sheet === 'amenities' ? record.slug : record.id;
}
