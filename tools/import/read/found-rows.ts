/** Finds the stored record of each row of a sheet, its marks, and the copies of other rows. Pure. */

import type { Operation } from '../../database/operations.ts';
import { type Marks, parseMarks } from './marks.ts';
import type { Patch } from './records.ts';
import type { SheetRow } from './types.ts';

/** The stored record of a row. */
export type StoredRow = {
  /** The record as its row shows it. */
  record: Patch;
  /** Of the id. */
  hash: string;
  /** The slug of its listing, location or amenity. */
  name: string;
  lastChange: Operation | undefined;
};

export type FoundRow = SheetRow & {
  /** Undefined for a new record. */
  old: StoredRow | undefined;
  /** Of the row in its export. */
  exported: Marks | undefined;
  /** `exported`, if they count. */
  marks: Marks | undefined;
};

/**
 * Marks count only in the database of their export, and only for their own record. If several rows
 * have one record, the row that still has its stored `address` is the original, and `notes` names the
 * others as its copies.
 */
export function findRows(
  rows: readonly SheetRow[],
  { isOwnExport, notes }: { isOwnExport: boolean; notes: string[] },
  address: 'slug' | 'url' | 'icon_slug',
  find: (row: SheetRow, exported: Marks | undefined) => StoredRow | undefined,
): FoundRow[] {
  const found = rows.map((row): FoundRow => {
    const exported = parseMarks(row.asOf);
    const old = find(row, exported);
    const counts = isOwnExport && exported?.row === old?.hash;
    return { ...row, old, exported, marks: counts ? exported : undefined };
  });
  const byRecord = Map.groupBy(found, ({ old }) => old?.hash);
  const originals = new Map(
    [...byRecord].map(([hash, same]) => {
      // A new home may have the slug that the home with the id had before.
      const named = same.filter(({ value }) => value.id !== undefined);
      const rivals = named.length > 0 ? named : same;
      const own = rivals.filter(({ value, old }) => value[address] === old?.record[address]);
      // A feature has no id that two rows could repeat.
      const isClear = own.length === 1 || rivals.length === 1 || address === 'icon_slug';
      return [hash, isClear ? (own[0] ?? rivals[0]) : undefined];
    }),
  );
  return found.map((row) => {
    const original = originals.get(row.old?.hash);
    if (row.old === undefined || original === undefined || original === row) return row;
    // A copy is a new record, without the id and `hid` of the original.
    const { id, hid, ...others } = row.value;
    const value = hid === original.value.hid ? others : { ...others, hid };
    notes.push(
      `${row.name.place} is a copy of ${original.name.place}: a new record with its own id`,
    );
    return { ...row, value, old: undefined, marks: undefined, exported: undefined };
  });
}
