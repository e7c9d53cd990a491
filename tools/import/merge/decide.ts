/**
 * Decides about each value of a workbook, by a three-way comparison of the base (base.ts), the
 * workbook (*theirs*) and the store (*ours*):
 *
 *     base     theirs   ours     outcome
 *     289000   289000   289000   unchanged
 *     289000   275000   289000   apply       edited in the workbook
 *     289000   289000   298000   keep        changed in the store
 *     289000   275000   298000   conflict    changed in both
 *     ?        275000   298000   unknown     the mark of the row is lost
 *
 * A cell that repeats what another person has imported is not an edit either.
 */

import { formatCount } from '../../command-line/plurals.ts';
import { quote } from '../../command-line/printable.ts';
import { formatOperation, type Operation } from '../../database/operations.ts';
import { type Catalogue, findLastChange } from '../catalogue/store.ts';
import { getId } from '../match/assign.ts';
import { getBaseHash, type List, type Row } from '../match/history.ts';
import { displayedText, toCell } from '../read/cells.ts';
import {
  type Column,
  dataColumns,
  fieldPath,
  getValue,
  HERO,
  LISTS,
  type ListName,
} from '../read/columns.ts';
import { formatContent, hashDatabase, hashText, parseEntryHashes } from '../read/marks.ts';
import { type FileLocation, findCell, type ImportProblem, THE_FILE } from '../read/problem.ts';

/**
 * A part of the workbook that is compared with the store: a cell, the order of a list, its hero photo
 * or the removal of an entry.
 */
export type Value = {
  kind: 'cell' | 'order' | 'hero' | 'removal';
  owner: Row | List;
  column: Column;
  location: FileLocation;
  /** The hash of its text in the base; undefined if the owner has no base. */
  baseHash: string | undefined;
  /** Its edits in other people's imports of the same export. */
  editsOfOthers: readonly { hash: string; operation: Operation | undefined }[];
  /** Its text in the workbook. */
  theirs: string;
  /** Its text in the store; undefined for a new record. */
  ours: string | undefined;
  /** Both as the report quotes them. For a removal, `theirs` is the name of the entry. */
  quoted: { theirs: string; ours: string };
};

/** The table above has an example of each. */
export type Outcome = 'unchanged' | 'apply' | 'keep' | 'conflict' | 'unknown';

export function decide(value: Value, isExport: boolean): Outcome {
  const { owner, baseHash, theirs, ours } = value;
  if (theirs === ours) return 'unchanged';
  if (ours === undefined || !isExport) return 'apply';
  if (!isEdited(value)) return 'keep';
  if (hashText(ours) === baseHash) return 'apply';
  const isUnknown = baseHash === undefined && owner.history.importedByOthers.length === 0;
  return isUnknown ? 'unknown' : 'conflict';
}

/** Whether the workbook differs from its base, and from what others have imported. */
export function isEdited({ baseHash, editsOfOthers, theirs }: Value): boolean {
  const theirHash = hashText(theirs);
  return theirHash !== baseHash && !editsOfOthers.some(({ hash }) => hash === theirHash);
}

export function listRowValues(row: Row): Value[] {
  const { sheet, location, cells, stored } = row;
  return dataColumns(sheet).flatMap((column): Value[] => {
    const cell = getValue(cells, column);
    const record = stored?.record ?? {};
    // A quick exit for most cells.
    if (cell === undefined || cell === getValue(record, column)) return [];
    // The same location, which has been renamed in the workbook or in the store.
    const { location_id } = cells;
    const isSameLocation = location_id !== undefined && location_id === record.location_id;
    if (column.field === 'location' && isSameLocation) return [];
    return [
      {
        kind: 'cell',
        ...findHistory(row, column),
        location,
        theirs: displayedText(column, cells),
        ours: stored && displayedText(column, record),
        quoted: { theirs: quoteCell(column, cells), ours: quoteCell(column, record) },
      },
    ];
  });
}

/** Finds what the base and other people's imports contain of a column. */
function findHistory(owner: Row | List, column: Column) {
  const { history } = owner;
  const { name } = column;
  const editsOfOthers = history.importedByOthers.flatMap(({ mark, operation }) => {
    const hash = mark.get(name);
    const isEdit = hash !== undefined && hash !== history.exported?.get(name);
    return isEdit ? [{ hash, operation }] : [];
  });
  // A column that the export did not have was empty in it.
  const hash = getBaseHash(history, name) ?? hashText('');
  return { owner, column, baseHash: history.base.length > 0 ? hash : undefined, editsOfOthers };
}

export function listListValues(list: List): Value[] {
  const order = getOrder(list);
  const hero = hasHeroColumn(list.rows) ? [getHero(list)] : [];
  // Rows can only be missing from a list whose order has been edited.
  const removals = hashText(order.theirs) === order.baseHash ? [] : listRemovals(list);
  return [order, ...hero, ...removals];
}

function getOrder(list: List): Value {
  const { sheet, stored, rows, storedRows } = list;
  const joinKeys = (all: readonly Row[]) => all.map(({ key }) => key).join(' ');
  const [theirs, ours] = [formatCount(rows.length, 'row'), formatCount(storedRows.length, 'row')];
  return {
    kind: 'order',
    ...findHistory(list, makeListColumn(sheet)),
    location: (rows[0] ?? list).location,
    theirs: joinKeys(rows),
    ours: stored && joinKeys(storedRows),
    quoted: { theirs, ours: ours === theirs ? `${storedRows.length} other rows` : ours },
  };
}

/** Lists the stored entries without a row, except those that were added after the export. */
function listRemovals(list: List): Value[] {
  const { sheet, location, history, storedRows } = list;
  const baseEntries = parseEntryHashes(getBaseHash(history, `${sheet}.rows`));
  return storedRows.flatMap(({ isAbsent, stored, key }): Value[] => {
    if (!isAbsent || stored === undefined || baseEntries?.has(key) === false) return [];
    return [
      {
        kind: 'removal',
        owner: list,
        column: makeListColumn(sheet),
        location,
        baseHash: baseEntries?.get(key),
        editsOfOthers: [],
        theirs: '',
        ours: formatContent(sheet, stored.record),
        quoted: { theirs: `without ${stored.label}`, ours: `with ${stored.label}` },
      },
    ];
  });
}

function getHero(list: List): Value {
  const { stored, rows, storedRows } = list;
  const heroRow = rows.find(isHero);
  const storedId = stored?.record.hero_photo_id;
  const storedUrl = storedRows.find((row) => getId(row) === storedId)?.stored?.record.url;
  return {
    kind: 'hero',
    ...findHistory(list, HERO),
    location: (heroRow ?? list).location,
    theirs: getHeroId(rows),
    ours: stored && `${storedId ?? ''}`,
    quoted: { theirs: `${heroRow?.cells.url ?? 'no photo'}`, ours: `${storedUrl ?? 'no photo'}` },
  };
}

function makeListColumn(sheet: ListName): Column {
  return { name: sheet, field: LISTS[sheet].field, kind: 'word' };
}

export function isHero({ cells }: Row): boolean {
  return cells[HERO.field] === true;
}

export function hasHeroColumn(rows: readonly Row[]): boolean {
  return rows.some(({ cells }) => HERO.field in cells);
}

/** Returns the id of the hero photo, or `''`. */
export function getHeroId(rows: readonly Row[]): string {
  const heroRow = rows.find(isHero);
  return heroRow === undefined ? '' : `${getId(heroRow)}`;
}

function quoteCell(column: Column, record: Row['cells']): string {
  const cell = toCell(column, record);
  return cell === null ? 'no value' : quote(cell);
}

/** e.g. `casa-marea price_from 298000 (289000 in your export)` */
export function describeKept({ owner, column, theirs, quoted }: Value): string {
  const isExported = owner.history.exported?.get(column.name) === hashText(theirs);
  const source = isExported ? 'your export' : 'an earlier import';
  return `${owner.stored?.label} ${column.name} ${quoted.ours} (${quoted.theirs} in ${source})`;
}

/** Tells the editor how to resolve a conflict. */
export const EXPORT_AGAIN =
  'Export the catalogue again and repeat the change there, or use --overwrite to replace what is stored.';

/** e.g. `has changed since your export: the store has 298000, your file has 275000. The record …` */
export function describeConflict(value: Value, stored: Catalogue): ImportProblem {
  const { kind, owner, column, location, editsOfOthers, ours = '', quoted } = value;
  const change =
    kind === 'removal'
      ? `is ${quoted.theirs}, an entry that has changed since your export`
      : `has changed since your export: the store has ${quoted.ours}, your file has ${quoted.theirs}`;
  // Only imports of the same export name the author of a single value.
  const edit = editsOfOthers.find(({ hash }) => hash === hashText(ours));
  const author = edit
    ? `The stored value was imported ${formatLastChange(edit.operation)}`
    : `The record was last changed ${formatLastChange(findLastChange(stored, owner.recordKey))}`;
  const message = `${change}. ${author}`;
  return { location, path: fieldPath(column), message, remedy: EXPORT_AGAIN };
}

/** Reports all cells without a base as one problem of the file. */
export function describeUnknown(values: readonly Value[], stored: Catalogue): ImportProblem[] {
  const [first] = values;
  if (first === undefined) return [];
  const { column, location, quoted } = first;
  const database = hashDatabase(stored);
  const isFromElsewhere = values.some(({ owner }) => {
    return (owner.history.exported?.get('database') ?? database) !== database;
  });
  const reason = isFromElsewhere
    ? 'was exported from another database, or before this one was restored'
    : 'has rows whose hidden cells are lost, so that an import cannot tell which cells you edited';
  const cell = findCell(location, fieldPath(column))?.cell ?? location.position;
  const verb = values.length === 1 ? 'differs' : 'differ';
  const difference = `${formatCount(values.length, 'cell')} ${verb} from the store, first ${cell}: ${column.name} ${quoted.ours} → ${quoted.theirs}`;
  const message = `${reason}. ${difference}`;
  return [{ location: THE_FILE, path: '', message, remedy: EXPORT_AGAIN }];
}

/** e.g. `2026-11-27 14:03 UTC by ana, import-listings catalogue.xlsx (7c1d2c0e-…)` */
export function formatLastChange(operation: Operation | undefined): string {
  if (operation === undefined) return 'by an unknown operation';
  return `${formatOperation(operation)} (${operation.id})`;
}
