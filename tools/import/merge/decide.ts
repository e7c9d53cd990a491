/**
 * Decides on the outcome of a workbook's value by a three-way comparison, as version control merges a
 * file. The base is this person's last import of the export, otherwise the export itself (see
 * match/history.ts):
 *
 *     base     others   file     store    outcome
 *     289000            289000   289000   unchanged
 *                       275000            apply       the record is new
 *     289000            289000            apply       the record was removed, and --overwrite adds it
 *     289000            275000   289000   apply       edited in the file
 *     289000            289000   298000   keep        changed only in the store
 *     289000   275000   275000   298000   keep        the file repeats what another person imported
 *     289000            275000   298000   conflict    edited in the file, and changed in the store
 *     289000   298000   275000   298000   conflict    as above, after an import by another person
 *     lost              275000   298000   unknown     without a base, the cell may be unedited
 *     lost     298000   275000   298000   conflict    without a base, after an import by another person
 *     no export         275000   298000   apply       the workbook was not exported
 */

/** Hashes of the text that a cell displays, or of another value: see values.ts. */
export type Hashes = {
  /** undefined if the row has no base. */
  base: string | undefined;
  /** The imported value of each other person, or undefined if that person did not edit it. */
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

/** Whether the file differs both from its base and from what other people have imported. */
export function isEdited({ base, others, file }: Hashes): boolean {
  return file !== base && !others.includes(file);
}
