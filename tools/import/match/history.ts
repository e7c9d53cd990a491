/**
 * Finds the history of a workbook's row: what its export contained, and what earlier imports of the
 * same export contained. The history determines the base of the merge. For example, ana and ben import
 * their copies of one export, in which `price_from` is 289000:
 *
 *     exported   imported by ana   imported by ben   base for ana   base for ben
 *     289000                                         289000         289000
 *     289000     275000                              275000         289000
 *     289000     275000            298000            275000         298000
 */

import type { Operation } from '../../database/operations.ts';
import { type Author, isBySomebodyElse } from '../catalogue/last-change.ts';
import type { Catalogue } from '../catalogue/store.ts';
import { hashDatabase, RowMark } from '../read/marks.ts';
import type { AssignedRow } from './assign.ts';

export type MergeOptions = Author & {
  /** Whether the file replaces what others have changed since its export. */
  overwrite: boolean;
};

/** A row in a person's last import of the same export. */
export type EarlierImport = { mark: RowMark; operation: Operation | undefined };

export type History = {
  /** The mark in the row, unless it belongs to another row. It may be from another database. */
  exported: RowMark | undefined;
  /** The row in this person's last import. */
  previousImport: EarlierImport | undefined;
  importedByOthers: readonly EarlierImport[];
  /**
   * This person's previous import, then the export if it is from this database. For each column,
   * the first mark that contains it is the base.
   */
  base: readonly RowMark[];
};

export type Row = AssignedRow & {
  /** Identifies the row in its sheet, or in its list. */
  key: string;
  /** The record's key in `imported_rows`: `listings 38e41363-…`, `amenities wifi`. */
  recordKey: string;
  history: History;
  /** Whether the record was in the store at the export or the last import, but is no longer. */
  isRemoved: boolean;
};

/** Returns the base's hash of a column, e.g. `price_from`. */
export function getBaseHash({ base }: History, name: string): string | undefined {
  return base.map((mark) => mark.get(name)).find((hash) => hash !== undefined);
}

/** The keys of a list's entries in the base; undefined for a row that is not an entry of a list. */
type BaseEntries = Pick<ReadonlySet<string>, 'has'> | undefined;

/** Returns a function that adds the key and the history to a row. */
export function makeRowBuilder(catalogue: Catalogue, { overwrite, ...author }: MergeOptions) {
  const database = hashDatabase(catalogue);
  const earlierImports = groupEarlierImports(catalogue, author);

  const findHistory = (
    row: AssignedRow,
    key: string,
    recordKey: string,
    baseEntries: BaseEntries,
  ): History => {
    const { mark } = row;
    const expectedKey = getExpectedKey(row, key);
    // Sorting or filling down some columns moves marks into other rows.
    const exported = mark?.key === expectedKey ? mark : undefined;
    const imports = earlierImports.get(`${recordKey} ${key}`) ?? [];
    const previousImport = imports.find(({ isSameAuthor }) => isSameAuthor);
    // If this person's last import removed the entry, the export is no longer its base.
    const wasRemoved = baseEntries !== undefined && !baseEntries.has(expectedKey ?? '');
    const isBase = exported?.get('database') === database && !wasRemoved;
    const base = [previousImport?.mark, isBase ? exported : undefined];
    return {
      exported,
      previousImport,
      importedByOthers: imports.filter(({ isSameAuthor }) => !isSameAuthor),
      base: base.filter((candidate) => candidate !== undefined),
    };
  };

  return (row: AssignedRow, key: string, recordKey: string, baseEntries?: BaseEntries): Row => {
    const history = findHistory(row, key, recordKey, baseEntries);
    const isRemoved = row.stored === undefined && wasStored(history) && !overwrite;
    return { ...row, key, recordKey, history, isRemoved };
  };
}

/**
 * Whether a row had a stored record when it was exported or last imported. Without a mark of its own,
 * a row that other people have imported was stored, too.
 */
function wasStored({ exported, base, importedByOthers }: History): boolean {
  return base.length > 0 || (exported === undefined && importedByOthers.length > 0);
}

/**
 * Returns the key that the mark of a row must have. The mark of a new row without an id may have
 * any key.
 */
function getExpectedKey({ sheet, cells, stored, mark }: AssignedRow, key: string) {
  const hasFixedKey = cells.id !== undefined || sheet === 'amenities';
  return stored?.key ?? (hasFixedKey ? key : mark?.key);
}

/** Groups the rows of earlier imports by record and row, e.g. `listings 38e41363-… 1f0c22ab`. */
function groupEarlierImports({ importedRows, operations }: Catalogue, author: Author) {
  const imports = importedRows.flatMap(({ export_id, who, record, operation, marks }) => {
    const isSameAuthor = !isBySomebodyElse({ export_id, who }, author);
    return marks.split('\n').flatMap((text) => {
      const mark = RowMark.parse(text);
      if (mark === undefined) return [];
      const row = `${record} ${mark.key}`;
      return [{ row, isSameAuthor, mark, operation: operations.get(operation) }];
    });
  });
  return Map.groupBy(imports, ({ row }) => row);
}
