/**
 * Decides about a value of a workbook by a three-way comparison, as version control merges a file. The
 * base is this person's last import of the export, otherwise the export (match/history.ts):
 *
 *     base     others   file     store    outcome
 *     289000            289000   289000   unchanged
 *                       275000            apply       the record is new
 *     289000            289000            apply       the record was removed, and --overwrite adds it
 *     289000            275000   289000   apply       edited in the file
 *     289000            289000   298000   keep        changed only in the store
 *     289000   275000   275000   298000   keep        the file repeats what another person imported
 *     289000            275000   298000   conflict    edited in the file, and changed in the store
 *     289000   298000   275000   298000   conflict    the same, and another person imported it
 *     lost              275000   298000   unknown     no base tells whether the file was edited
 *     lost     298000   275000   298000   conflict    no base, but another person imported the row
 *     no export         275000   298000   apply       an editor's own sheet has no base
 */

/** The hashes of a value, in the text that its cell displays. */
export type Hashes = {
  /** undefined if the row has no base. */
  base: string | undefined;
  /** An item for each other person who has imported the row: the value, or undefined if not edited. */
  others: readonly (string | undefined)[];
  file: string;
  /** undefined for a new record. */
  store: string | undefined;
};

export type Outcome = 'unchanged' | 'apply' | 'keep' | 'conflict' | 'unknown';

export function decide(hashes: Hashes, isExport: boolean): Outcome {
  const { base, others, file, store } = hashes;
  if (file === store) return 'unchanged';
  if (store === undefined || !isExport) return 'apply';
  if (!isEdited(hashes)) return 'keep';
  if (store === base) return 'apply';
  return base === undefined && others.length === 0 ? 'unknown' : 'conflict';
}

/** Whether the file differs from its base, and from what others have imported. */
export function isEdited({ base, others, file }: Hashes): boolean {
  return file !== base && !others.includes(file);
}
