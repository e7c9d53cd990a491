/**
 * The history of a workbook's row: what its export contained, and what earlier imports of the same
 * export changed. It gives the base of the merge. E.g. `price_from`, after ana and ben have imported
 * their copies of one export:
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

/** A row as a person's last import of the export contained it. */
export type EarlierImport = { mark: RowMark; operation: Operation | undefined };

export type History = {
  /** The mark of the export, unless it belongs to another row. It may be of another database. */
  exported: RowMark | undefined;
  /** This person's last import. */
  previousImport: EarlierImport | undefined;
  importedByOthers: readonly EarlierImport[];
  /** This person's last import, then the export. The first mark that has a column counts. */
  base: readonly RowMark[];
};

/** A row with its history. */
export type Row = AssignedRow & {
  /** Identifies the row in its sheet, or in its list. */
  key: string;
  /** The key of its record in `imported_rows`: `listings 38e41363-…`, `amenities wifi`. */
  recordKey: string;
  history: History;
  /** Whether the record was removed from the store after the export or the last import. */
  isRemoved: boolean;
};

/** Returns the hash of a column in the base. */
export function getBaseHash({ base }: History, name: string): string | undefined {
  return base.map((mark) => mark.get(name)).find((hash) => hash !== undefined);
}

/** The keys of the entries in the base of a list; undefined if a row is not an entry. */
type BaseEntries = Pick<ReadonlySet<string>, 'has'> | undefined;

/** Returns a function that adds the history to a row. */
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
    const exportedKey = findExportedKey(row, key);
    // The marks of other rows arrive here when cells were sorted or filled down.
    const exported = mark?.key === exportedKey ? mark : undefined;
    const imports = earlierImports.get(`${recordKey} ${key}`) ?? [];
    const previousImport = imports.find(({ isSameAuthor }) => isSameAuthor);
    // If this person's last import removed the entry, the export is not its base any more.
    const wasRemoved = baseEntries !== undefined && !baseEntries.has(exportedKey ?? '');
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

/** Whether a row had a stored record when it was exported or last imported. */
function wasStored({ exported, base, importedByOthers }: History): boolean {
  return base.length > 0 || (exported === undefined && importedByOthers.length > 0);
}

/** Returns the key that the mark of a row must have. A new row without an id can have any mark. */
function findExportedKey({ sheet, cells, stored, mark }: AssignedRow, key: string) {
  const hasFixedKey = cells.id !== undefined || sheet === 'amenities';
  return stored?.key ?? (hasFixedKey ? key : mark?.key);
}

/** Groups the earlier imports of the export by record and row. */
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
