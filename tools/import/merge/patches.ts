/** Turns the applied values of a workbook into patches, which plan/complete-records.ts merges. */

import { property } from '../../../src/properties/openapi/property.ts';
import { mergeRecord, numberInOrder } from '../catalogue/patch.ts';
import { deriveId, type Fields, type Patch } from '../catalogue/records.ts';
import type { Row } from '../match/history.ts';
import type { List, MatchedRecord } from '../match/match.ts';
import { compareEntries } from '../match/stored-rows.ts';
import { getValue, LISTS, setValue } from '../read/columns.ts';
import type { InputRecord } from '../read/json.ts';
import type { Value } from './values.ts';

const FEATURE = property.shape.unique_features.element;

/** The applied values. Cells are grouped by row, and all other values by list. */
export type Changes = ReadonlyMap<Row | List, readonly Value[]>;

export function groupChanges(values: readonly Value[]): Changes {
  return Map.groupBy(values, (value) => (value.kind === 'cell' ? value.row : value.list));
}

/** Returns the patch of a record, including the changed lists of a listing. */
export function toRecordPatch(
  { row, location, lists }: MatchedRecord,
  changes: Changes,
): InputRecord {
  const patch = toPatch(row, changes);
  const changedLists = lists.flatMap((list) => {
    const listChanges = changes.get(list) ?? [];
    const hero = listChanges.find(({ kind }) => kind === 'hero');
    if (hero?.kind === 'hero') patch.hero_photo_id = hero.heroId || null;
    // The workbook's rows replace the list if their order is applied. Otherwise the stored rows stay.
    const isReplaced = listChanges.some(({ kind }) => kind !== 'hero');
    const rows = isReplaced ? list.rows.filter((entry) => !entry.isRemoved) : list.storedRows;
    if (!isReplaced && !rows.some((entry) => changes.has(entry))) return [];
    const { field } = LISTS[list.sheet];
    patch[field] = toListPatch(list, rows, changes);
    return [[field, rows.map((entry) => entry.location)] as const];
  });
  const entries = Object.fromEntries(changedLists);
  return { location: { ...location, entries }, value: patch, isAbsent: row.isAbsent };
}

/** Returns the applied cells of a row as a patch, which also names the record. */
function toPatch(row: Row, changes: Changes): Patch {
  const { stored, cells } = row;
  const { id, slug }: Fields = stored?.record ?? { id: cells.id };
  const patch: Patch = id !== undefined ? { id } : slug !== undefined ? { slug } : {};
  for (const value of changes.get(row) ?? []) {
    if (value.kind !== 'cell') continue;
    const { column } = value;
    const cell = getValue(cells, column);
    // A new record has nothing to clear. A translated text without any language becomes empty.
    if (stored === undefined && cell === null && column.locale === undefined) continue;
    if (column.field === 'location' && cells.location_id !== undefined) {
      patch.location_id = cells.location_id;
    } else setValue(patch, column, cell);
  }
  return patch;
}

function toListPatch({ sheet, storedRows }: List, rows: readonly Row[], changes: Changes): Patch[] {
  const { order } = LISTS[sheet];
  const entries = rows.map((row): Patch => {
    const patch = toPatch(row, changes);
    const record = row.stored?.record ?? {};
    if (sheet === 'features') return mergeRecord(record, patch, FEATURE);
    const number = rows === storedRows ? undefined : row.cells[order];
    // An editor can insert an entry between 1 and 2 by the number 1.5.
    return { ...patch, [order]: typeof number === 'number' ? Math.floor(number) : record[order] };
  });
  const sortKeys = entries.map(deriveId);
  const isInOrder = sortKeys.every(
    (key, index) => compareEntries(order, sortKeys[index - 1] ?? key, key) <= 0,
  );
  if (!isInOrder) numberInOrder(entries, order);
  return entries;
}
