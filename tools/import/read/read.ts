/** Reads the stored records, and completes the file with them. */

import type { Source } from '../../../src/properties/source.ts';
import { completePatch, finderOf } from './patch.ts';
import type { ImportProblem } from './problem.ts';
import { type Catalogue, readCatalogue, readListings } from './store.ts';
import type { ReadableFile, Removed, WholeFile } from './types.ts';

/** The records of a file, all whole. */
export type CompleteRecords = {
  file: WholeFile;
  isPatch: boolean;
  removed: Removed;
  /** The problems of the file alone. */
  fileProblems: ImportProblem[];
  /** The problems of a patch after its merge. */
  mergeProblems: ImportProblem[];
};

const NONE: Removed = { locations: [], amenities: [] };

export async function read(
  { file, problems: fileProblems, mustBeStored = false, removed = NONE }: ReadableFile,
  database: D1Database,
): Promise<CompleteRecords & { stored: Catalogue }> {
  const stored = await readCatalogue(database);
  const { isPatch } = file;
  if (!file.isPatch) return { stored, file, isPatch, removed, fileProblems, mergeProblems: [] };
  const find = finderOf(stored);
  const named = new Set(file.properties.flatMap(({ keys }) => find(keys).slice(0, 1)));
  const sources = new Map<string, Source>();
  for await (const { id, listing } of readListings(database, [...named])) sources.set(id, listing);
  const merged = completePatch(file, stored, find, sources, mustBeStored);
  const { file: whole, problems: mergeProblems } = merged;
  return { stored, file: whole, isPatch, removed, fileProblems, mergeProblems };
}
