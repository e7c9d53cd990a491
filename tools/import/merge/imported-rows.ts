/**
 * Formats the rows of an import for the table `imported_rows`. They are the base of this person's
 * next import.
 */

import type { importedRows } from '../../../src/storage/table.ts';
import type { Author } from '../catalogue/last-change.ts';
import type { Row } from '../match/history.ts';
import type { MatchedRecord } from '../match/match.ts';
import { dataColumns, getValue } from '../read/columns.ts';
import { formatListMark, formatMark, hashText } from '../read/marks.ts';
import { getHeroId, hasHeroColumn } from './values.ts';

/** The rows of one record in an import, in the form of row marks. */
export type ImportedRow = Omit<typeof importedRows.$inferInsert, 'operation'>;

/**
 * Returns the marks of the record's row and of its lists' rows. Returns `[]` if the file was not
 * exported.
 */
export function toImportedRow(
  { row, lists }: MatchedRecord,
  { who, exportKey }: Author,
): ImportedRow[] {
  if (exportKey === undefined) return [];
  const listMarks = lists.map(({ sheet, rows }) => ({
    ...formatListMark(
      sheet,
      rows.map(({ key, cells }) => ({ key, record: cells })),
    ),
    ...(hasHeroColumn(rows) && { hero: hashText(getHeroId(rows)) }),
  }));
  const marks = [
    formatRowMark(row, Object.assign(isAdded(row) ? {} : { export: exportKey }, ...listMarks)),
    ...lists.flatMap(({ rows }) => rows).map((entry) => formatRowMark(entry)),
  ];
  return [{ export_id: exportKey, who, record: row.recordKey, marks: marks.join('\n') }];
}

/** Whether the file adds the record, or has added it in an earlier import. */
function isAdded({ stored, history: { exported, previousImport } }: Row): boolean {
  if (exported !== undefined) return false;
  return previousImport === undefined ? stored === undefined : !previousImport.mark.get('export');
}

function formatRowMark({ sheet, key, cells }: Row, entries: Record<string, string> = {}): string {
  const columns = dataColumns(sheet).filter((column) => getValue(cells, column) !== undefined);
  return formatMark(columns, cells, { key, ...entries });
}

/**
 * Returns the mark of a listing that a JSON export has added. It has no columns, because cells are
 * not compared.
 */
export function toAddedRow(id: string, { who, exportKey }: Author): ImportedRow[] {
  if (exportKey === undefined) return [];
  const marks = formatMark([], {}, { key: hashText(id) });
  return [{ export_id: exportKey, who, record: `listings ${id}`, marks }];
}
