/**
 * Decides which listings `--prune` hides. It hides the public listings that the file does not name, but
 * retains those with a change that the file could not contain.
 *
 *     in the export   since then                                  outcome
 *     yes             unchanged, or changed by your own imports   hidden
 *     yes             changed by somebody else                    retained
 *     no              added by your own import of the export      retained
 *     no              added by somebody else                      retained
 *
 * All unnamed public listings are hidden if the file was not exported, or with `--overwrite`.
 */

import { type Author, isBySomebodyElse } from '../catalogue/last-change.ts';
import type { Catalogue } from '../catalogue/store.ts';
import { hashDatabase, RowMark } from '../read/marks.ts';

/** Returns the listings to hide, and a remark about each listing to retain. */
export function divideUnnamed(
  ids: readonly string[],
  exportId: string | undefined,
  catalogue: Catalogue,
  author: Author,
) {
  const hidden: string[] = [];
  const remarks: string[] = [];
  for (const id of ids) {
    const reason = findReasonToRetain(id, exportId, catalogue, author);
    if (reason === undefined) hidden.push(id);
    else
      remarks.push(`${catalogue.listings.get(id)?.slug} ${reason} and stays. --overwrite hides it`);
  }
  return { hidden, remarks };
}

function findReasonToRetain(
  id: string,
  exportId: string | undefined,
  catalogue: Catalogue,
  author: Author,
): string | undefined {
  const { change_seq, operation } = catalogue.listings.get(id) ?? {};
  const isNewer = Number(change_seq) > getNewestChange(exportId, catalogue);
  if (author.exportKey === undefined || !isNewer) return undefined;
  if (isBySomebodyElse(catalogue.operations.get(operation ?? ''), author)) {
    return 'has changed since the export';
  }
  return isAddedByOwnImport(id, catalogue, author)
    ? 'was added by your earlier import of this export'
    : undefined;
}

/** Returns the number of the newest change in an export, or 0 for an export of another database. */
function getNewestChange(exportId: string | undefined, catalogue: Catalogue): number {
  const [database, number] = exportId?.split('-') ?? [];
  return database === hashDatabase(catalogue) ? Number(number) : 0;
}

/** The mark of an added record does not name the export: see merge/imported-rows.ts. */
function isAddedByOwnImport(id: string, { importedRows }: Catalogue, author: Author): boolean {
  const row = importedRows.find(
    (candidate) => candidate.record === `listings ${id}` && !isBySomebodyElse(candidate, author),
  );
  const [mark = ''] = row?.marks.split('\n') ?? [];
  return row !== undefined && RowMark.parse(mark)?.get('export') === undefined;
}
