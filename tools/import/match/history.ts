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
import type { Catalogue } from '../catalogue/store.ts';
import type { ListName } from '../read/columns.ts';
import { hashDatabase, RowMark } from '../read/marks.ts';
import type { FoundRow } from './assign.ts';

export type MergeOptions = {
  /** The hash of the export's id; undefined for a workbook that was not exported. */
  exportKey: string | undefined;
  who: string;
  overwrite: boolean;
};

/** A row as a person's last import of the export contained it. */
type EarlierImport = { who: string; mark: RowMark; operation: Operation | undefined };

export type History = {
  /** The mark of the export, unless it belongs to another row. It may be of another database. */
  exported: RowMark | undefined;
  /** This person's last import, then the export. The first mark that has a column counts. */
  base: readonly RowMark[];
  importedByOthers: readonly EarlierImport[];
};

/** A row of the workbook, or of a stored record that the workbook does not name. */
export type Row = FoundRow & {
  /** Identifies the row in its sheet, or in its list. */
  key: string;
  /** The key of its record in `imported_rows`: `listings 38e41363-…`, `amenities wifi`. */
  recordKey: string;
  history: History;
  /** Whether the record was removed from the store after the export or the last import. */
  isRemoved: boolean;
  /** The lists of a listing whose sheets the workbook has. */
  lists: readonly List[];
};

/** A list of a listing, with the values that no row has: order, hero photo and removed entries. */
export type List = Pick<Row, 'location' | 'stored' | 'recordKey' | 'history'> & {
  sheet: ListName;
  /** The rows of the workbook, in the order in which a site shows them. */
  rows: readonly Row[];
  /** The rows of the stored entries, whether or not the workbook has them. */
  storedRows: readonly Row[];
};

/** Returns the hash of a column in the base. */
export function getBaseHash({ base }: History, name: string): string | undefined {
  return base.map((mark) => mark.get(name)).find((hash) => hash !== undefined);
}

/** Returns a function that adds the history to a row. */
export function makeRowBuilder(stored: Catalogue, { who, overwrite }: MergeOptions) {
  const database = hashDatabase(stored);
  const earlierImports = groupEarlierImports(stored);

  /** `baseEntries` are the keys of the entries in the base of the row's list. */
  function findHistory(
    row: FoundRow,
    key: string,
    recordKey: string,
    baseEntries: Pick<ReadonlySet<string>, 'has'> | undefined,
  ): History {
    const { mark } = row;
    const exportedKey = findExportedKey(row, key);
    // The marks of other rows arrive here when cells were sorted or filled down.
    const exported = mark?.key === exportedKey ? mark : undefined;
    const imports = earlierImports.get(`${recordKey} ${key}`) ?? [];
    const ownImport = imports.find((earlier) => earlier.who === who)?.mark;
    // If this person's last import removed the entry, the export is not its base any more.
    const wasRemoved = baseEntries !== undefined && !baseEntries.has(exportedKey ?? '');
    const isOfThisDatabase = exported?.get('database') === database;
    const base = [ownImport, isOfThisDatabase && !wasRemoved ? exported : undefined];
    return {
      exported,
      base: base.filter((candidate) => candidate !== undefined),
      importedByOthers: imports.filter((earlier) => earlier.who !== who),
    };
  }

  return (
    row: FoundRow,
    key: string,
    recordKey: string,
    baseEntries?: Pick<ReadonlySet<string>, 'has'>,
  ): Row => {
    const history = findHistory(row, key, recordKey, baseEntries);
    const isRemoved = row.stored === undefined && wasStored(history) && !overwrite;
    return { ...row, key, recordKey, history, isRemoved, lists: [] };
  };
}

/** Returns the key that the mark of a row must have. A new row without an id can have any mark. */
function findExportedKey({ sheet, cells, stored, mark }: FoundRow, key: string) {
  const hasFixedKey = cells.id !== undefined || sheet === 'amenities';
  return stored?.key ?? (hasFixedKey ? key : mark?.key);
}

/** Whether a row had a stored record when it was exported or last imported. */
function wasStored({ exported, base, importedByOthers }: History): boolean {
  return base.length > 0 || (exported === undefined && importedByOthers.length > 0);
}

/** Groups the earlier imports by record and row. */
function groupEarlierImports({ importedRows, operations }: Catalogue) {
  const imports = importedRows.flatMap(({ record, who, operation, marks }) =>
    marks.split('\n').flatMap((text): (EarlierImport & { row: string })[] => {
      const mark = RowMark.parse(text);
      if (mark === undefined) return [];
      const row = `${record} ${mark.key}`;
      return [{ row, who, mark, operation: operations.get(operation) }];
    }),
  );
  return Map.groupBy(imports, ({ row }) => row);
}
