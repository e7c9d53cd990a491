/** Reads the stored records, and completes the file with them. */

import type { Source } from '../../../src/properties/source.ts';
import { completePatch, finderOf } from './patch.ts';
import type { ImportProblem } from './problem.ts';
import { type Catalogue, readCatalogue, readListings } from './store.ts';
import type { ReadableFile, WholeFile } from './types.ts';

/** The records of a file, all whole. */
export type CompleteRecords = {
  file: WholeFile;
  isPatch: boolean;
  /** The problems of the file alone. */
  fileProblems: ImportProblem[];
  /** The problems of a patch after its merge. */
  mergeProblems: ImportProblem[];
};

export async function read(
  { file, problems: fileProblems, mustBeStored = false }: ReadableFile,
  database: D1Database,
): Promise<CompleteRecords & { stored: Catalogue }> {
  const stored = await readCatalogue(database);
  const { isPatch } = file;
  if (!file.isPatch) return { stored, file, isPatch, fileProblems, mergeProblems: [] };
  const find = finderOf(stored);
  const named = new Set(file.properties.flatMap(({ keys }) => find(keys).slice(0, 1)));
  const sources = new Map<string, Source>();
  for await (const { id, listing } of readListings(database, [...named])) sources.set(id, listing);
  const merged = completePatch(file, stored, find, sources, mustBeStored);
  return { stored, file: merged.file, isPatch, fileProblems, mergeProblems: merged.problems };
}
