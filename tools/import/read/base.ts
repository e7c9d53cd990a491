/** What each row of a workbook has shown and said before. Pure. */

import type { Operation } from '../../database/operations.ts';
import type { ListName } from './columns.ts';
import type { FoundRow } from './find-records.ts';
import { hashDatabase, hasMarks, NO_MARKS, parseMarks } from './marks.ts';
import type { ImportProblem } from './problem.ts';
import type { Catalogue } from './store.ts';
import type { Marks } from './types.ts';

export type MergeOptions = {
  /** Undefined for a workbook that was not exported. */
  exportKey: string | undefined;
  who: string;
  overwrite: boolean;
};

/** What the last import of a person has recorded of a row. */
type Statement = { who: string; marks: Marks; operation: Operation | undefined };

export type Row = FoundRow & {
  /** Identifies the row in its sheet, or in its list. */
  key: string;
  /** What imports record the row by: `listings 38e41363-…`, `amenities wifi`. */
  record: string;
  /** What the export has shown in this row, of whatever database. */
  shown: Marks;
  /** What this person's last import of the export has said, else what the export has shown. */
  base: Marks;
  /** What other people's imports of the export have said. */
  others: readonly Statement[];
  /** Whether the record was removed from the store since it was exported or imported. */
  isRemoved: boolean;
  /** Of a listing, for each sheet that is there. */
  lists: readonly List[];
};

/** A list of a listing as a whole: the rows of its sheet, and those of the stored entries. */
export type List = Row & { sheet: ListName; rows: readonly Row[]; kept: readonly Row[] };

/**
 * Returns a function that adds to a row what it has shown and said. `entries` are the keys that its
 * list has had: its editor may have removed the row since it was shown.
 */
export function makeBase(
  stored: Catalogue,
  { who, overwrite }: MergeOptions,
  problems: ImportProblem[],
) {
  const database = hashDatabase(stored);
  const statements = groupStatements(stored);
  return (
    row: FoundRow,
    key: string,
    record: string,
    entries?: Pick<ReadonlySet<string>, 'has'>,
  ): Row => {
    const { sheet, value, marks } = row;
    const own = row.stored;
    // The marks of another row may have been sorted or filled down.
    const isKnown = value.id !== undefined || sheet === 'amenities';
    const ownKey = own?.key ?? (isKnown ? key : marks('key'));
    const shown = marks('key') === ownKey ? marks : NO_MARKS;
    if (hasMarks(shown) && value.id !== undefined && own && value.id !== own.record.id) {
      const sentence =
        'is a hidden id that was changed since the export: undo that, or clear the cell';
      problems.push({ record: row.name, path: 'id', value: value.id, sentence });
    }
    const all = statements.get(`${record} ${key}`) ?? [];
    const said = all.find((each) => each.who === who)?.marks ?? NO_MARKS;
    const others = all.filter((each) => each.who !== who);
    const isBase = shown('database') === database && (entries?.has(ownKey ?? '') ?? true);
    const base = isBase ? either(said, shown) : said;
    const wasThere = hasMarks(base) || (!hasMarks(shown) && others.length > 0);
    const isRemoved = own === undefined && wasThere && !overwrite;
    return { ...row, key, record, shown, base, others, isRemoved, lists: [] };
  };
}

/** Groups them by record and row. */
function groupStatements({ importedRows, operations }: Catalogue) {
  const statements = importedRows.flatMap(({ record, who, operation, marks: rows }) =>
    rows.split('\n').map((row): Statement & { row: string } => {
      const marks = parseMarks(row);
      return { row: `${record} ${marks('key')}`, who, marks, operation: operations.get(operation) };
    }),
  );
  return Map.groupBy(statements, ({ row }) => row);
}

export function either(first: Marks, second: Marks): Marks {
  return (name) => first(name) ?? second(name);
}
